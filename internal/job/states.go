package job

import (
	"fmt"
	"time"
)

// State is the state of a job.
type State int

// The states of a job. Executing is never stored: a job is executing while a node
// has a claim on it and the start time of the attempt has passed.
const (
	Available State = iota + 1
	Retryable
	Executing
	Completed
	Cancelled
	Discarded
)

var stateNames = map[State]string{
	Available: "available", Retryable: "retryable", Executing: "executing",
	Completed: "completed", Cancelled: "cancelled", Discarded: "discarded",
}

func (s State) String() string { return stateNames[s] }

// Final reports whether the job is completed, cancelled or discarded.
func (s State) Final() bool { return s >= Completed }

// pendingFilter is the name by which a filter selects every pending state.
const pendingFilter = "scheduled"

// StateFilters returns the names that StatesNamed knows.
func StateFilters() []string {
	names := []string{pendingFilter}
	for state := Available; state <= Discarded; state++ {
		names = append(names, state.String())
	}
	return names
}

// StatesNamed returns the states that a state filter selects, or nil for an
// unknown name. "scheduled" selects every pending state.
func StatesNamed(name string) []State {
	if name == pendingFilter {
		return []State{Available, Retryable}
	}
	for state, n := range stateNames {
		if n == name {
			return []State{state}
		}
	}
	return nil
}

// TransitionError reports a change of state that a job's state does not permit.
type TransitionError struct {
	Job      int64 // the job's number
	From, To State
}

func (e *TransitionError) Error() string {
	return fmt.Sprintf("job %d is %s and can't become %s", e.Job, e.From, e.To)
}

// permits reports whether a job in one state may change to another.
func permits(from, to State) bool {
	switch to {
	case Executing:
		return from == Available || from == Retryable
	case Completed, Retryable, Discarded:
		return from == Executing
	case Cancelled:
		return !from.Final()
	default:
		return false
	}
}

// Permits returns nil if the job may change to a state, else a
// [TransitionError].
func (j *Job) Permits(to State) error {
	if !permits(j.State, to) {
		return &TransitionError{j.Number, j.State, to}
	}
	return nil
}

// enter changes the job's state, or returns an error and changes nothing.
func (j *Job) enter(to State) error {
	err := j.Permits(to)
	if err == nil {
		j.State = to
	}
	return err
}

// EndedAt returns when the job became final; zero while it is not.
func (j *Job) EndedAt() time.Time {
	switch j.State {
	case Completed:
		return j.CompletedAt
	case Cancelled:
		return j.CancelledAt
	case Discarded:
		return j.DiscardedAt
	}
	return time.Time{}
}

// Begin marks the start of an attempt: available or retryable -> executing.
// Like the other transitions, it returns a [TransitionError] and changes nothing
// if the job's state does not permit it.
func (j *Job) Begin(at time.Time) error {
	err := j.enter(Executing)
	if err == nil {
		j.AttemptedAt = at
		j.Attempt++
	}
	return err
}

// Complete ends the job with success: executing -> completed.
func (j *Job) Complete(at time.Time) error {
	err := j.enter(Completed)
	if err == nil {
		j.CompletedAt = at
	}
	return err
}

// Retry schedules another attempt: executing -> retryable.
func (j *Job) Retry(at time.Time) error {
	err := j.enter(Retryable)
	if err == nil {
		j.DueAt = at
	}
	return err
}

// Discard ends the job without success: executing -> discarded.
func (j *Job) Discard(at time.Time) error {
	err := j.enter(Discarded)
	if err == nil {
		j.DiscardedAt = at
	}
	return err
}

// Cancel ends the job at its owner's request: any state but a final one -> cancelled.
func (j *Job) Cancel(at time.Time) error {
	err := j.enter(Cancelled)
	if err == nil {
		j.CancelledAt = at
	}
	return err
}
