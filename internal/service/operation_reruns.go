package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// prepareReruns makes the new jobs of a step, before its transaction: final jobs no
// longer change.
func (b *operationBatch) prepareReruns(ctx context.Context, numbers []int64) error {
	s, w := b.service, b.work
	caps, err := s.caps(ctx, w.Operation.Owner)
	if err != nil {
		return err
	}
	jobs, err := s.Store.JobGetMany(ctx, w.Operation.Owner, refs(numbers))
	if err != nil {
		return err
	}
	for i, j := range jobs {
		if j == nil || !j.State.Final() {
			continue
		}
		again, err := s.rerunOf(w, j, w.timing(i))
		if err != nil {
			b.jobs[i].invalid = true
			continue
		}
		again.Caps = caps
		b.jobs[i].rerun = again
	}
	return nil
}

// rerunOf returns the new job that an operation makes of a job. Timing is nil if it
// is due now.
func (s *Service) rerunOf(w *OperationWork, j *job.Job, timing *job.Timing) (*store.NewJob, error) {
	now := s.Store.Now()
	body := job.Merge(job.Again(j), w.change.Fields)
	if timing != nil {
		body = timing.In(body)
	}
	draft, err := job.Read(body, job.ReadOptions{Now: now, CheckHost: s.CheckHost})
	if err != nil {
		return nil, err
	}
	if timing != nil {
		draft.ScheduledAt, draft.DueAt = timing.At, schedule.Later(timing.At, now) // not from this step on, but from the call
	}
	n := newJob(w.Operation.Owner, draft, now, w.Operation.Hops)
	return &n, nil
}

// rerun creates a job that makes a final job's request again.
func (b *operationBatch) rerun(j *operationJob, m *store.Snapshot) (*store.Changes, job.Skip) {
	switch {
	case !m.Job.State.Final():
		return nil, job.SkipUnfinished
	case j.invalid:
		return nil, job.SkipInvalid
	case j.rerun == nil:
		return nil, job.SkipUnfinished // it became final after it was read
	}
	return &store.Changes{Next: j.rerun}, ""
}
