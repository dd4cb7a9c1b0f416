package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// awaitAll stores what new jobs wait for, once all of a call are stored.
func (t *tx) awaitAll(jobs []store.NewJob, results []store.Inserted) error {
	for i := range jobs {
		if awaited := store.AwaitedBy(i, jobs, results); awaited != nil {
			if err := records.AwaitJobs(t, jobs[i].Job.Owner.Number, results[i].Job.Number, jobs[i].Await.Batch, awaited); err != nil {
				return err
			}
		}
	}
	return nil
}

// WaitApply implements store.WaitQueue.
func (s *Store) WaitApply(ctx context.Context, step store.WaitStep) (considered int, err error) {
	err = s.write(ctx, func(t *tx) error {
		if step.Begin != nil {
			step.Begin()
		}
		r, err := records.ReadRelease(t, step)
		if err != nil {
			return err
		}
		considered = r.Considered()
		if err := r.Note(t); err != nil {
			return err
		}
		var done []int64
		for _, number := range r.Jobs() {
			if step.Postpone > 0 {
				break
			}
			waits, err := t.releaseOne(&step, r.Of(number))
			if err != nil {
				return err
			}
			if !waits {
				done = append(done, number)
			}
		}
		return t.Run(r.End(done, t.now)...)
	})
	return considered, err
}

// releaseOne decides about a job that waits, and reports whether it still does.
func (t *tx) releaseOne(step *store.WaitStep, r *store.Released) (waits bool, err error) {
	m, err := t.snapshot(`j.number = ?`, r.Job)
	if err != nil || m.Job == nil || m.Job.Owner.Number != step.Account || m.Job.ScheduleID != uuid.Nil {
		return false, err
	}
	if !store.Waits(m.Job) {
		return false, nil
	}
	c := step.Decide(r, m)
	if c == nil {
		return r.Open, nil
	}
	return false, t.applyTo(m, c)
}

// noteEnd stores the end of a job for which others wait.
func (t *tx) noteEnd(j *job.Job) error {
	t.released = true
	return t.exec(`INSERT INTO job_ends (account, job, state, ended_at) VALUES (?, ?, ?, ?)`, j.Owner.Number, j.Number, j.State,
		store.EndedAt(j))
}
