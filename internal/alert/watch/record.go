package watch

import (
	"context"
	"slices"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// Recorded is what a Recorder records the outcomes of.
type Recorded interface {
	QueueFinish(ctx context.Context, items []store.Finish) ([]bool, error)
	JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error)
	CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error)
}

// Recorder stores the outcomes of jobs and of messages about them for the tracker, in the
// transaction that ends them. Every way in which a job ends goes through its methods.
type Recorder struct {
	Watcher *Watcher
	Store   Recorded
}

// QueueFinish ends queue items; see store.Queue.
func (r *Recorder) QueueFinish(ctx context.Context, items []store.Finish) ([]bool, error) {
	var watched map[int64]bool
	for i := range items {
		f := &items[i]
		message, watches := f.Delivery != nil && f.Delivery.Outcome != nil, r.Watcher.Watches(f.Account)
		if !message && (f.Decide == nil || !watches) {
			continue
		}
		if watched == nil {
			watched = map[int64]bool{}
			items = slices.Clone(items) // the caller may try again with its own
			f = &items[i]
		}
		switch {
		case !watches: // the alert was deleted
			end := *f.Delivery
			end.Outcome = nil
			f.Delivery = &end
		case f.Decide != nil:
			f.Decide = record(f.Decide)
		}
		if watches {
			watched[f.Account] = true
		}
	}
	held, err := r.Store.QueueFinish(ctx, items)
	if err == nil {
		for account := range watched {
			r.Watcher.Recorded(account)
		}
	}
	return held, err
}

// JobChange changes a job; see store.Jobs.
func (r *Recorder) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	if !r.Watcher.Watches(owner.Number) {
		return r.Store.JobChange(ctx, owner, id, decide)
	}
	j, err := r.Store.JobChange(ctx, owner, id, record(decide))
	if err == nil {
		r.Watcher.Recorded(owner.Number)
	}
	return j, err
}

// CompletionChange changes the job of a completion; see store.Completions.
func (r *Recorder) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	if !r.Watcher.Watches(c.Owner.Number) {
		return r.Store.CompletionChange(ctx, c, decide)
	}
	j, err := r.Store.CompletionChange(ctx, c, record(decide))
	if err == nil {
		r.Watcher.Recorded(c.Owner.Number)
	}
	return j, err
}

// record adds the outcomes to a decision's changes.
func record(decide store.Decide) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		c := decide(m)
		if c != nil {
			// A defect here must not keep the outcome of the job from being stored.
			_ = fault.Guard(func() error {
				alert.Record(c)
				return nil
			})
		}
		return c
	}
}
