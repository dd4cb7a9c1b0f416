package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// RetryReport sends the report of a run's failure again, which has failed, and returns the
// run. It returns a NotFound fault if no report has failed, and a Conflict fault if it is
// being sent.
func (s *Service) RetryReport(ctx context.Context, owner job.Owner, id string) (*workflow.Run, error) {
	if err := access.Allow(ctx, "service.RetryReport"); err != nil {
		return nil, err
	}
	if err := checkHops(ctx); err != nil {
		return nil, err
	}
	run, err := s.Run(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if run.State != workflow.Failed || run.Failure == uuid.Nil {
		return nil, fault.New(fault.NotFound, "workflow run "+id+" has no failure that was reported")
	}
	report, err := s.Store.JobGet(ctx, owner, job.Ref{UUID: run.Failure})
	if err != nil {
		return nil, err
	}
	switch report.State {
	case job.Discarded, job.Cancelled:
	case job.Completed:
		return nil, fault.New(fault.NotFound, "the failure function of workflow run "+id+" has succeeded")
	default:
		return nil, reportUnderWay(id)
	}
	jobs, err := s.readAgain(ctx, report)
	if err != nil {
		return nil, err
	}
	w := &store.RunWrite{Account: owner.Number, Runs: []string{id}}
	w.Decide = func(m *store.RunSnapshot) (*store.RunChanges, error) {
		now := m.Runs[id]
		if now == nil {
			return nil, workflow.NoRun(id)
		}
		if now.Failure != report.ID {
			return nil, reportUnderWay(id)
		}
		now.Failure = w.Jobs[0].Job.ID
		return &store.RunChanges{Jobs: []int{0}, Changed: []*workflow.Run{now}}, nil
	}
	_, err = s.applyRuns(ctx, jobs, w)
	return run, err
}

func reportUnderWay(id string) error {
	return fault.New(fault.Conflict, "the failure of workflow run "+id+" is being reported; try again if that fails")
}

// readAgain checks a job that is like a final one.
func (s *Service) readAgain(ctx context.Context, j *job.Job) (*Batch, error) {
	now := s.Store.Now()
	r := s.reading(ctx, j.Owner)
	draft, err := job.ReadRerun(j, rawjson.Value(`{}`), r.options(now, nil))
	if err := r.result(err); err != nil {
		return nil, err
	}
	n := newJob(j.Owner, draft, now, originOf(ctx))
	n.Job.RerunOf = j.Number
	b := &Batch{jobs: []store.NewJob{n.NewJob}}
	return b, s.admitRunJobs(ctx, j.Owner, b)
}
