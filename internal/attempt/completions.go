package attempt

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// Completions is what ends attempts whose targets are silent.
type Completions interface {
	CompletionGet(ctx context.Context, token job.TokenHash) (*store.Awaited, error)
	CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error)
	CompletionsOverdue(ctx context.Context, limit int) ([]job.TokenHash, error)
}

const (
	// overdueEvery is the pause between two reads of the attempts that are overdue.
	overdueEvery = 250 * time.Millisecond
	// overdueLimit is how many are read at once, overdueAtOnce how many are ended at
	// a time.
	overdueLimit  = 256
	overdueAtOnce = 8
)

// WatchCompletions ends attempts whose targets did not complete them in time, until
// ctx ends. Every node does so; only one of them ends each attempt.
func (r *Runner) WatchCompletions(ctx context.Context) {
	stuck := 0
	for ctx.Err() == nil {
		var more bool
		stuck, more = r.EndOverdue(ctx, stuck)
		if !more {
			pause.For(ctx, overdueEvery)
		}
	}
}

// EndOverdue ends a batch of overdue attempts. stuck is how many of the earliest
// ones could not be ended; it returns their number now, and whether there may be
// more that can.
func (r *Runner) EndOverdue(ctx context.Context, stuck int) (still int, more bool) {
	tokens, err := r.Completions.CompletionsOverdue(store.Routine(ctx), overdueLimit+stuck)
	if err != nil {
		r.logLimited("reading attempts that await their completion failed; retrying", err)
		return stuck, false
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, overdueAtOnce)
	for _, token := range tokens {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := fault.Guard(func() error { return r.endOverdue(ctx, token) }); err != nil {
				r.logLimited("ending an attempt whose target did not complete it failed; retrying", err)
				mu.Lock()
				defer mu.Unlock()
				still++
			}
		})
	}
	group.Wait()
	return still, len(tokens) == overdueLimit+stuck && still < len(tokens)
}

// endOverdue ends one attempt. A job whose end can't be stored is set aside.
func (r *Runner) endOverdue(ctx context.Context, token job.TokenHash) error {
	a, err := r.Completions.CompletionGet(ctx, token)
	if fault.CodeOf(err) == fault.NotFound {
		return nil // it was removed just now
	}
	if err != nil {
		return err
	}
	p := lifecycle.NewAbandonment(a, r.Random())
	err = fault.Guard(func() error {
		_, err := r.Completions.CompletionChange(ctx, a.Completion, p.Decide)
		return err
	})
	switch code := fault.CodeOf(err); {
	case code == fault.NotFound:
		return nil
	case refused(err):
		r.Log.Error("the end of an attempt can't be stored; set aside", "job", a.Job.Number, "error", bounded(err))
		r.Metrics.SetAside()
		_, err = r.Jobs.JobChange(ctx, a.Completion.Owner, job.Ref{Number: a.Completion.Job},
			lifecycle.SetAside("the end of an attempt that was not completed could not be stored; the job was set aside", false))
		return err
	case err != nil || !p.Ended:
		return err
	}
	r.Metrics.Completed("abandoned")
	r.stored(a.Completion.Owner.Number)
	if r.LimitsFreed != nil {
		keys, _ := store.LimitsNeeded(a.Job)
		r.LimitsFreed(a.Job.Owner.Number, keys)
	}
	if p.State.Final() {
		r.Metrics.Finished(p.State.String())
	}
	if r.Stats != nil {
		r.Stats.Observe(a.Completion.Owner.Number, false, a.Lateness(), r.Queue.Now().Sub(a.Completion.StartedAt))
	}
	return nil
}
