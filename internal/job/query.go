package job

import (
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Ref refers to a job by its number or, if that is zero, by its UUID.
type Ref struct {
	Number int64
	UUID   uuid.UUID
}

// ParseRef parses a job's integer id or UUID.
func ParseRef(text string) (Ref, bool) {
	if id, ok := ParseID(text); ok && id != uuid.Nil {
		return Ref{UUID: id}, true
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 || strconv.FormatInt(number, 10) != text {
		return Ref{}, false
	}
	return Ref{Number: number}, true
}

// Order is a field to sort by.
type Order struct {
	Field string // "" for the default: most recently created first
	Desc  bool
}

// ListQuery selects part of a list. Nulls sort last, ties newest first.
type ListQuery struct {
	Limit  int
	Offset int
	Order  Order
	// After is the last record of the page before, in the default order: a
	// number for jobs, an ID for schedules and logs. Zero for the first page.
	After   int64
	AfterID uuid.UUID
	// Bytes is the page's budget in bytes; 0, or more than PageBytes, means
	// PageBytes. The record that exceeds it is the last one read; see Fit.
	Bytes int
}

// heavyOffset is the offset above which a read counts as heavy.
const heavyOffset = 5_000

// Heavy reports whether the cost of a list grows with the number of its owner's
// records: it is sorted, or skips many records.
func (q ListQuery) Heavy() bool { return q.Order.Field != "" || q.Offset > heavyOffset }

// Heavy reports whether the cost of a list grows with the number of its owner's
// records. There is an index for each filter, but none for several.
func (q Query) Heavy() bool { return q.ListQuery.Heavy() || q.Combined() }

// ScheduleQuery selects schedules.
type ScheduleQuery struct {
	ListQuery
	Tags []string // the schedule has all of them
}

// Heavy reports whether the cost of a list grows with the number of its owner's
// records.
func (q ScheduleQuery) Heavy() bool { return q.ListQuery.Heavy() || len(q.Tags) > 1 }

// LogQuery selects logs.
type LogQuery struct {
	ListQuery
	Job   *Ref   // nil: any
	Event string // "": any
	// Since (inclusive) and Until (exclusive) bound InsertedAt. Zero: any.
	Since, Until time.Time
	// Oldest reverses the default order, and with it After and AfterID.
	Oldest bool
}

// Heavy reports whether the cost of a list grows with the number of its owner's
// records. The common events have no index.
func (q LogQuery) Heavy() bool {
	return q.ListQuery.Heavy() || q.Job == nil && (q.Event == EventRequest || q.Event == EventResponse)
}

// LogPlace is a position among the logs of a schedule's runs: after the log ID
// of the run, or after all of its logs if ID is uuid.Nil.
type LogPlace struct {
	Run int64 // the job's number
	ID  uuid.UUID
}

// LogWalk is part of the logs of a schedule's runs.
type LogWalk struct {
	Logs []*Log
	// Next is the position to continue after; nil if all runs have been read.
	Next *LogPlace
	// Reached is when the last run read was stored; zero if all have been read.
	Reached time.Time
}

// Stop cuts a walk's logs down to the limit and byte budget of q. If it cuts any
// or the limit is reached, it sets Next to the last log.
func (w *LogWalk) Stop(q ListQuery) {
	var cut bool
	w.Logs, cut = Fit(w.Logs, q.Limit, q.Budget(), LogSize)
	if n := len(w.Logs); n > 0 && (cut || n == q.Limit) {
		w.Next = &LogPlace{Run: w.Logs[n-1].Job, ID: w.Logs[n-1].ID}
	}
}

// RunSummary holds the fields of a job that a point of a plot needs.
type RunSummary struct {
	Number      int64
	State       State
	ScheduledAt time.Time
	DueAt       time.Time
	// StartedAt is when the first attempt started; zero if there was none, or if
	// its log was deleted.
	StartedAt   time.Time
	AttemptedAt time.Time
	EndedAt     time.Time // zero while pending
}

// DueJobs are the pending jobs that are due before a time.
type DueJobs struct {
	Jobs  []*Job // the earliest, in order of due time
	Count int    // of all that were found
	// Partly is set if not all jobs could be read: there may be more.
	Partly bool
}
