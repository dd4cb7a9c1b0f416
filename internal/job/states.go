package job

import (
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

// Begin marks the start of an attempt: available or retryable -> executing.
func (j *Job) Begin(at time.Time) bool {
	if j.State != Available && j.State != Retryable {
		return false
	}
	j.State, j.AttemptedAt = Executing, at
	j.Attempt++
	return true
}

// Complete ends the job with success: executing -> completed.
func (j *Job) Complete(at time.Time) bool {
	if j.State != Executing {
		return false
	}
	j.State, j.CompletedAt = Completed, at
	return true
}

// Retry schedules another attempt: executing -> retryable.
func (j *Job) Retry(at time.Time) bool {
	if j.State != Executing {
		return false
	}
	j.State, j.DueAt = Retryable, at
	return true
}

// Discard ends the job without success: executing -> discarded.
func (j *Job) Discard(at time.Time) bool {
	if j.State != Executing {
		return false
	}
	j.State, j.DiscardedAt = Discarded, at
	return true
}

// Cancel ends the job at its owner's request: any state but a final one -> cancelled.
func (j *Job) Cancel(at time.Time) bool {
	if j.State.Final() {
		return false
	}
	j.State, j.CancelledAt = Cancelled, at
	return true
}
