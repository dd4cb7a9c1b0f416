package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// maxAttempts is how many attempts and reruns the details of a job list.
	maxAttempts = 100
	// lookFailures is how many final runs are read to count failures in a row.
	lookFailures = 1000
	// maxSkips is how many logs about skipped points are read of a run, which has a
	// few at most.
	maxSkips = 100
)

// JobDetails is what is derived from a job's records.
type JobDetails struct {
	Job      *job.Job
	Attempts []job.AttemptSummary // the latest, oldest first
	// NextAttemptAt is zero while the job is executing or waits for others, and when it is
	// final.
	NextAttemptAt   time.Time
	WaitingFor      []string
	Reruns          []int64          // newest first
	Children        []int64          // that a run with a group became
	Points          *schedule.Points // of the schedule's grid that a run stands for; nil for a one-off job
	Completion      *job.Completion  // nil if no attempt has one
	Pending, Failed int              // deliveries
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
	waitingFor, err := s.WaitingFor(ctx, owner, j)
	if err != nil {
		return nil, err
	}
	children, err := s.childrenOf(ctx, owner, j)
	if err != nil {
		return nil, err
	}
	points, err := s.pointsOf(ctx, owner, j)
	if err != nil {
		return nil, err
	}
	var completion *job.Completion
	if spec := job.ReadSpec(j.Args); spec.Completion.Within > 0 {
		if completion, err = s.Completion(ctx, owner, j.Number); err != nil {
			return nil, err
		}
	}
	return &JobDetails{
		Job: j, Attempts: attempts, NextAttemptAt: NextAttempt(j), WaitingFor: waitingFor, Completion: completion,
		Reruns: trail.Reruns, Children: children, Points: points, Pending: trail.Pending, Failed: trail.Failed,
	}, nil
}

// pointsOf returns the points that a run stands for; nil for a one-off job.
func (s *Service) pointsOf(ctx context.Context, owner job.Owner, j *job.Job) (*schedule.Points, error) {
	if j.ScheduleID == uuid.Nil {
		return nil, nil
	}
	of, err := s.Store.ScheduleGet(ctx, owner, j.ScheduleID)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	skipped, err := s.Store.LogList(ctx, owner, job.LogQuery{
		ListQuery: job.ListQuery{Limit: maxSkips}, Job: &job.Ref{Number: j.Number}, Event: job.EventSkipped,
	})
	if err != nil {
		return nil, err
	}
	return lifecycle.PointsOf(j, of, skipped), nil
}

// NextAttempt returns when the next attempt of a job is due; zero while it is
// executing or waits for others, and when it is final.
func NextAttempt(j *job.Job) time.Time {
	switch j.State {
	case job.Available, job.Retryable:
		if due, _ := store.OwnDue(j.DueAt); !store.Waits(j) {
			return due
		}
	}
	return time.Time{}
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
	Mute     *job.Mute // nil if it is not muted
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
	d := &ScheduleDetails{Schedule: found, LastRun: latest, FailuresInRow: failuresInRow(states)}
	run, err := s.Store.RunUnfinished(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	muted, err := s.Store.MuteList(ctx, owner.Number, []uuid.UUID{id})
	if err != nil {
		return nil, err
	}
	if len(muted) > 0 {
		d.Mute = muted[0]
	}
	d.RunsLeft = lifecycle.RunsLeft(found, run)
	d.Next = lifecycle.Upcoming(found, run, s.Store.Now(), previewed)
	return d, nil
}

// NextRuns returns when the next run of each of the owner's schedules is due; zero if
// it is disabled or has no further runs.
func (s *Service) NextRuns(ctx context.Context, owner job.Owner, schedules []*job.Schedule) ([]time.Time, error) {
	next := make([]time.Time, len(schedules))
	ids := make([]uuid.UUID, len(schedules))
	for i, one := range schedules {
		ids[i] = one.ID
	}
	runs, err := s.Store.ScheduleRuns(ctx, owner, ids, 1)
	if err != nil {
		return nil, err
	}
	for i, one := range schedules {
		unfinished, err := s.unfinished(ctx, owner, one, runs[one.ID])
		if err != nil {
			return nil, err
		}
		if due := lifecycle.Upcoming(one, unfinished, s.Store.Now(), 1); len(due) > 0 {
			next[i] = due[0]
		}
	}
	return next, nil
}

// unfinished returns what lifecycle.Upcoming needs of a schedule's unfinished run, nil
// if there is none. latest is its latest run.
func (s *Service) unfinished(ctx context.Context, owner job.Owner, of *job.Schedule, latest []job.RunSummary) (*job.Job, error) {
	if !of.Live() || len(latest) == 0 || latest[0].State.Final() {
		return nil, nil
	}
	if run := latest[0]; run.State == job.Available || job.ReadSpec(of.Args).MaxRuns == 0 {
		return &job.Job{Number: run.Number, State: run.State, ScheduledAt: run.ScheduledAt}, nil
	}
	ctx, release := admission.Hold(ctx) // only its count of runs is kept
	defer release()
	return s.Store.RunUnfinished(ctx, owner, of.ID)
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
