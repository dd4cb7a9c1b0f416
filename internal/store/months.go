package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// ScheduleKey names a schedule of an account.
type ScheduleKey struct {
	Account  int64
	Schedule uuid.UUID
}

// ScheduleMonth counts the runs of a schedule that were due in a month.
type ScheduleMonth struct {
	ScheduleKey
	Month int64 // months since the year 0, in UTC
	// Through is the number of the last run that was counted when the row was written.
	// Runs of a schedule become final in the order of their numbers.
	Through int64
	Counts  []byte // as package stats writes them; less than 1 KiB
}

// EndedRun is a final run of a schedule.
type EndedRun struct {
	Number                                               int64
	State                                                job.State
	InsertedAt, ScheduledAt, DueAt, AttemptedAt, EndedAt time.Time
	Skipped                                              int64 // see job.Job
	// Requests is how many logs of requests were found, and FirstAt the time of the
	// first; both are zero if they were not read, or were pruned.
	Requests int
	FirstAt  time.Time
	Skips    []rawjson.Value // the payloads of its logs of skipped points
}

// RunMonths is what is counted of a schedule's runs, and the final runs that are not.
type RunMonths struct {
	ScheduleKey
	Created time.Time        // of the schedule
	Through int64            // the highest Through of Months
	Months  []*ScheduleMonth // oldest first
	Runs    []EndedRun       // in the order of their numbers
	More    bool             // there may be more final runs
}

// EndedSchedules are the schedules of jobs that have become final.
type EndedSchedules struct {
	Keys []ScheduleKey // each once
	Next PruneCursor   // behind the last of the jobs
	More bool          // there may be more such jobs
}

// MonthsChange replaces the counts of months of a schedule.
type MonthsChange struct {
	ScheduleKey
	Through int64 // as it was read
	Months  []*ScheduleMonth
}

// Months stores what monthly reports count. Runs are counted from their jobs and logs
// some time after their end, so that their end costs nothing more.
type Months interface {
	// MonthsEnded returns the schedules of up to limit jobs behind a cursor that became final
	// before a time. It may miss jobs whose end was stored late.
	MonthsEnded(ctx context.Context, after PruneCursor, before time.Time, limit int) (EndedSchedules, error)
	// MonthsRead reads the months of schedules with up to limit runs each that are not
	// counted. It leaves out schedules that don't exist.
	MonthsRead(ctx context.Context, keys []ScheduleKey, limit int) ([]RunMonths, error)
	// MonthsOf is MonthsRead of one schedule, for a client. It returns a NotFound fault if
	// there is no such schedule.
	MonthsOf(ctx context.Context, key ScheduleKey, limit int) (*RunMonths, error)
	// MonthsWrite stores changes. It skips those of schedules that don't exist, or of which
	// runs were counted since they were read.
	MonthsWrite(ctx context.Context, changes []MonthsChange) error
	// MonthsCursor returns the cursor that MonthsCursorPut has stored; the zero cursor before.
	MonthsCursor(ctx context.Context) (PruneCursor, error)
	// MonthsCursorPut stores a cursor, unless a later one is stored.
	MonthsCursorPut(ctx context.Context, cursor PruneCursor) error
	// MonthsPrune deletes up to limit rows of months before a given one, and returns how
	// many it deleted.
	MonthsPrune(ctx context.Context, before int64, limit int) (int, error)
	// MonthsPage returns up to limit rows of an account behind a schedule's month, in order
	// of both.
	MonthsPage(ctx context.Context, account int64, after uuid.UUID, month int64, limit int) ([]*ScheduleMonth, error)
	// MonthsCopy stores rows as they are, unless they exist.
	MonthsCopy(ctx context.Context, months []*ScheduleMonth) error
}
