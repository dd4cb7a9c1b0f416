package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// maxAttempts is how many attempts and reruns the details of a job list.
	maxAttempts = 100
	// lookFailures is how many final runs are read to count failures in a row.
	lookFailures = 1000
)

// JobDetails is what is derived from a job's records.
type JobDetails struct {
	Job      *job.Job
	Attempts []job.AttemptSummary // the latest, oldest first
	// NextAttemptAt is zero while the job is executing and when it is final.
	NextAttemptAt   time.Time
	WaitingFor      []string
	Reruns          []int64 // newest first
	Points          *Points // nil for a one-off job
	Pending, Failed int     // deliveries
}

// Points are the points of a schedule's grid that a run stands for.
type Points struct {
	Count    int64
	From, To time.Time
}

// JobDetails returns the details of one of the owner's jobs.
func (s *Service) JobDetails(ctx context.Context, owner job.Owner, id job.Ref) (*JobDetails, error) {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	trail, err := s.Store.JobTrail(ctx, owner, j.Number, maxAttempts)
	if err != nil {
		return nil, err
	}
	attempts := job.Attempts(trail.Logs)
	if n := len(attempts); n > maxAttempts {
		attempts = attempts[n-maxAttempts:]
	}
	waitingFor, err := s.LimitsHolding(ctx, owner, j)
	if err != nil {
		return nil, err
	}
	return &JobDetails{
		Job: j, Attempts: attempts, NextAttemptAt: nextAttempt(j), WaitingFor: waitingFor,
		Reruns: trail.Reruns, Points: pointsOf(j), Pending: trail.Pending, Failed: trail.Failed,
	}, nil
}

// nextAttempt returns when the next attempt of a job is due; zero while it is
// executing and when it is final.
func nextAttempt(j *job.Job) time.Time {
	switch j.State {
	case job.Available, job.Retryable:
		due, _ := store.OwnDue(j.DueAt)
		return due
	}
	return time.Time{}
}

// pointsOf returns the points that a run stands for; nil for a one-off job.
func pointsOf(j *job.Job) *Points {
	if j.ScheduleID == uuid.Nil {
		return nil
	}
	return &Points{Count: 1, From: j.ScheduledAt, To: j.ScheduledAt}
}

// ScheduleDetails is what is derived from a schedule's records.
type ScheduleDetails struct {
	Schedule *job.Schedule
	// Next holds the next due times, at most previewed; none if it is disabled.
	Next          []time.Time
	LastRun       *job.Job // the latest final run; nil if there is none
	FailuresInRow int      // at most lookFailures
	// RunsLeft is how many runs remain; nil if their number is not limited.
	RunsLeft *int64
}

// ScheduleDetails returns the details of one of the owner's schedules.
func (s *Service) ScheduleDetails(ctx context.Context, owner job.Owner, id uuid.UUID) (*ScheduleDetails, error) {
	found, err := s.Store.ScheduleGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	latest, states, err := s.Store.RunsEnded(ctx, owner, id, lookFailures)
	if err != nil {
		return nil, err
	}
	d := &ScheduleDetails{Schedule: found, LastRun: latest, FailuresInRow: failuresInRow(states), RunsLeft: runsLeft(found)}
	if !found.Live() {
		return d, nil
	}
	run, err := s.Store.RunUnfinished(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	d.Next = nextRuns(found, run, s.Store.Now())
	return d, nil
}

// failuresInRow counts the discarded runs before the first completed one. Cancelled
// runs don't count.
func failuresInRow(states []job.State) int {
	n := 0
	for _, state := range states {
		if state == job.Completed {
			break
		}
		if state == job.Discarded {
			n++
		}
	}
	return n
}

// runsLeft returns how many runs of a schedule remain; nil if their number is not
// limited.
func runsLeft(*job.Schedule) *int64 { return nil }

// nextRuns returns the next due times of an enabled schedule: that of its pending
// run, and the points of its grid that follow.
func nextRuns(s *job.Schedule, run *job.Job, now time.Time) []time.Time {
	spec := job.ReadSpec(s.Args)
	frequency, err := spec.Frequency()
	if err != nil || frequency == nil {
		return nil
	}
	grid := schedule.Through(frequency, s.FirstDue)
	var next []time.Time
	after := now
	if run != nil {
		if after = run.ScheduledAt; run.State == job.Available {
			next = append(next, after)
		}
		after = schedule.Later(after, now)
	}
	for len(next) < previewed {
		at := grid.Next(s.FirstDue, after)
		if at.IsZero() {
			break
		}
		if at.Before(s.FirstDue) {
			at = s.FirstDue
		}
		next = append(next, at)
		after = at
	}
	return next
}
