package rehearse

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Limits of a rehearsal.
const (
	MaxSchedules = 1000
	MaxRuns      = 1_000_000
	// MaxSpan is the longest time that can be rehearsed.
	MaxSpan = job.MaxAhead
	// MaxOutages is how many outages one rehearsal may have.
	MaxOutages = 100

	maxFirst   = 20
	maxBusiest = 20
	maxClock   = 50 // changes of the clock for a schedule; there are 2 to 4 a year
	// workPerRun bounds what is not counted as a run, such as retries and expired runs.
	workPerRun = 8
)

// Outage is a time in which the service is down.
type Outage struct {
	At  time.Time
	For time.Duration
}

func (o Outage) end() time.Time { return o.At.Add(o.For) }

// Entry is a schedule to rehearse.
type Entry struct {
	Schedule *job.Schedule
	// Run is its unfinished run; nil if it has none.
	Run *job.Job
	// Started is when the attempt of Run that is under way started; zero if there is
	// none.
	Started time.Time
	// New is set if the schedule is not stored.
	New bool
}

// Advance makes the entry that of a rehearsal that begins later than the moment of which
// it is the state. Runs that are due before are taken as made, undisturbed; they change
// nothing else, max_runs included.
func (e *Entry) Advance(from time.Time) {
	if !e.Schedule.Live() || e.Run == nil || !e.Run.ScheduledAt.Before(from) && e.Started.IsZero() {
		return
	}
	grid, _ := e.Schedule.Grid()
	if grid == nil {
		return
	}
	runs := e.Run.Runs
	e.Run, e.Started = nil, time.Time{}
	if due := grid.Next(time.Time{}, schedule.Later(e.Schedule.Since, from.Add(-1))); !due.IsZero() {
		e.Run = lifecycle.NextRun(e.Schedule, due, from)
		e.Run.Runs = runs
	}
}

// Plan is what is rehearsed.
type Plan struct {
	Entries  []Entry
	From, To time.Time // To is not included
	Outages  []Outage
	// Fail is the share of attempts that fail, by key, from 0 to 1.
	Fail map[string]float64
	// Duration is how long attempts take, by key; no time for others. A timeout does
	// not end them.
	Duration map[string]time.Duration
	// Limits are the account's limits for receivers, by key.
	Limits map[string]limit.Limit
	// Runs is the most runs; 0 for MaxRuns.
	Runs int
	// Random in [0, 1) lengthens the waits before retries.
	Random float64
	// Each is called for each run when it starts; it may be nil.
	Each func(Start)
	// Final is called for each run that has become final, with the index of its entry; it
	// may be nil. It makes a rehearsal several times slower.
	Final func(entry int, run *job.Job)

	// oneByOne makes every run take the long way, for tests.
	oneByOne bool
}

// Start is the start of a run.
type Start struct {
	Entry   int // its index
	Due, At time.Time
}

// Result is what the schedules do.
type Result struct {
	From, To  time.Time
	Cut       *Cut // nil if the result is complete
	Schedules []Outcome
	Busiest   []Minute // the minutes in which most runs start, most first
	Findings  []Finding
	Runs      int64 // of all schedules
}

// Cut says why a result ends early. It is complete for all schedules up to At.
type Cut struct {
	At     time.Time
	Reason string
}

// The reasons why results are cut.
const (
	CutRuns      = "runs"      // there are more than MaxRuns
	CutWork      = "work"      // retries and expired runs would take too long
	CutSchedules = "schedules" // there are more than MaxSchedules
)

// Outcome is what one schedule does.
type Outcome struct {
	Key      *string
	ID       string // "" if it is not stored
	Name     *string
	Disabled bool  // as it is stored
	Runs     int64 // that started
	Failed   int64 // of these, discarded
	Expired  int64 // runs that never started because it was too late
	Late     int64 // runs that started after they were due, not because of a limit
	Skipped  int64 // points without a run of their own
	First    []time.Time
	Clock    []ClockChange
	Overlaps int64 // points that were skipped because a run was under way
	Limited  Limited
	Ends     *Ends // nil if it goes on

	byLimit int64 // points that were skipped because of a limit
}

// ClockChange is a change of the clock that concerns a schedule.
type ClockChange struct {
	At   time.Time
	Kind string // "gap" or "double"
}

// Limited has the attempts that limits delay.
type Limited struct {
	Count   int64 // attempts
	Longest time.Duration
}

// Ends is the end of a schedule.
type Ends struct {
	At     time.Time
	Reason job.End
}

// Minute is a minute in which runs start.
type Minute struct {
	At   time.Time
	Runs int64
}

// Finding is something that a person would want to know or change.
type Finding struct {
	Code    string
	Key     *string
	ID      string // of the stored schedule that it is about; "" for none
	Name    *string
	At      time.Time // zero if it is about no time
	Message string    // a sentence, and the fix
}

// SetRun makes a run, as the store returns it, the entry's unfinished run; nil for none.
func (e *Entry) SetRun(run *job.Job) {
	e.Run, e.Started = nil, time.Time{}
	if run == nil {
		return
	}
	kept := *run
	kept.Args, kept.Name, kept.Description = e.Schedule.Args, nil, nil
	if own, held := store.OwnDue(kept.DueAt); held {
		kept.DueAt = own
	}
	if kept.State == job.Executing { // which is never stored: an attempt of it is claimed
		e.Started = kept.AttemptedAt
		if kept.Attempt--; kept.Attempt > 0 {
			kept.State = job.Retryable
		} else {
			kept.State = job.Available
		}
	}
	e.Run = &kept
}

// FirstDue returns when the entry is due first; zero if it is not.
func (e *Entry) FirstDue() time.Time {
	if e.Run == nil || !e.Schedule.Live() {
		return time.Time{}
	}
	return e.Run.DueAt
}

// NewEntry returns the entry of a schedule that a draft creates with a key at a time. Its
// id depends on the key, and with it the shift by jitter: that of a stored schedule is
// another.
func NewEntry(key string, draft *job.Draft, now time.Time) Entry {
	d := *draft
	if d.Spec.Jitter > 0 {
		sum := sha256.Sum256([]byte(key))
		d.ScheduleID = uuid.UUID(sum[:16])
		grid := *d.Grid
		grid.Shift = schedule.ShiftOf(d.ScheduleID, d.Spec.Jitter)
		if due := grid.First(d.Grid.Begin); !due.IsZero() {
			d.ScheduledAt, d.DueAt = due, schedule.Later(due, now)
		}
	}
	s := Slim(&job.Schedule{ID: d.ScheduleID, Key: &key, InsertedAt: now, FirstDue: d.Grid.Begin, Args: d.Args})
	run := lifecycle.NextRun(s, d.ScheduledAt, now)
	return Entry{Schedule: s, Run: run, New: true}
}
