package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// fillBatch is how many jobs are put into a store with one call.
	fillBatch = 1000
	// fillBytes is about how many bytes one call has at most.
	fillBytes = 4 << 20
	// fillers prepare jobs, so that one does while another one's are stored.
	fillers = 2
)

// insert puts planned jobs into a store as the service itself would; owner says
// whose each is.
func insert(ctx context.Context, s records, jobs func(i int) planned, n int, owner func(i int) job.Owner, done *atomic.Int64) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	failed := make([]error, fillers)
	batch := fillBatch
	if first := jobs(0); first.body > 0 {
		batch = max(1, min(batch, fillBytes/first.body))
	}
	for f := range fillers {
		wait.Go(func() {
			for ctx.Err() == nil && failed[f] == nil {
				from := int(next.Add(int64(batch))) - batch
				if from >= n {
					return
				}
				failed[f] = insertBatch(ctx, s, jobs, from, min(from+batch, n), owner)
				done.Add(int64(min(from+batch, n) - from))
			}
		})
	}
	wait.Wait()
	return errors.Join(append(failed, ctx.Err())...)
}

func insertBatch(ctx context.Context, s records, jobs func(i int) planned, from, to int, owner func(i int) job.Owner) error {
	batch := make([]store.NewJob, 0, to-from)
	now := s.Now()
	for i := from; i < to; i++ {
		p := jobs(i)
		draft, err := job.Read(p.appendCreate(nil), job.ReadOptions{Now: now})
		if err != nil {
			return fmt.Errorf("preparing a job: %w", err)
		}
		batch = append(batch, store.NewJob{Lane: job.Lane(draft.Spec.URL), Job: &job.Job{
			ID: job.NewID(now), Owner: owner(i), InsertedAt: now, State: job.Available,
			ScheduledAt: draft.ScheduledAt, DueAt: draft.DueAt, Args: draft.Args,
		}})
	}
	if _, err := s.JobInsertMany(ctx, batch); err != nil {
		return fmt.Errorf("storing jobs: %w", err)
	}
	return nil
}

// fillPace sees how many jobs a second go into a store, with a few of n that
// are due in an hour.
func (t *trial) fillPace(ctx context.Context, s records, owner job.Owner, n int) (float64, error) {
	jobs := t.later(min(n, 4*fillBatch))
	began := time.Now()
	err := insert(ctx, s, func(i int) planned { return jobs[i] }, len(jobs), func(int) job.Owner { return owner }, new(atomic.Int64))
	return float64(len(jobs)) / time.Since(began).Seconds(), err
}
