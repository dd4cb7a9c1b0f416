package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// prepare computes the changes that read and check requests, outside of the
// transaction.
func (b *operationBatch) prepare(ctx context.Context, numbers []int64) error {
	var caps store.Caps
	o := b.work.Operation
	switch o.Action {
	case job.RescheduleJobs:
	case job.RerunJobs:
		var err error
		if caps, _, err = b.service.admitSchedules(ctx, o.Owner); err != nil {
			return err
		}
	default:
		return nil
	}
	jobs, err := b.service.Store.JobGetMany(ctx, o.Owner, refs(numbers))
	if err != nil {
		return err
	}
	for i, j := range jobs {
		if j == nil {
			continue
		}
		err := fault.Guard(func() error {
			switch {
			case o.Action == job.RescheduleJobs && j.State == job.Available:
				b.edit(i, j)
			case o.Action == job.RerunJobs && j.State.Final():
				b.again(i, j, caps)
			}
			return nil
		})
		if err != nil {
			b.jobs[i].broken = true
			b.refused = errors.Join(b.refused, fmt.Errorf("preparing the change of job %d: %w", j.Number, err))
		}
	}
	return b.reading.result(nil)
}

// edit computes the edit of a job at index i of the step.
func (b *operationBatch) edit(i int, j *job.Job) {
	w := b.work
	edit, err := job.ReadJobEdit(j, w.change.Patch(w.due(i)), b.reading.options(w.Operation.InsertedAt, nil))
	b.jobs[i].edit, b.jobs[i].invalid = edit, err != nil
}

// again makes the new job that repeats the job at index i of the step.
func (b *operationBatch) again(i int, j *job.Job, caps store.Caps) {
	w, s := b.work, b.service
	draft, err := job.ReadRerun(j, w.change.Patch(w.due(i)), b.reading.options(w.Operation.InsertedAt, nil))
	if err != nil {
		b.jobs[i].invalid = true
		return
	}
	now := s.Store.Now()
	if w.change.Spread == 0 && w.change.Start.IsZero() {
		draft.ScheduledAt = now
	}
	draft.DueAt = schedule.Later(draft.ScheduledAt, now) // times count from the call, and no job is due in the past
	n := newJob(w.Operation.Owner, draft, now, origin{hops: w.Operation.Hops, by: w.Operation.By}).NewJob
	n.Caps, n.Job.RerunOf = caps, j.Number
	b.jobs[i].rerun = &n
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
