package attempt

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
)

// Jobs is what SetAside needs of the store.
type Jobs interface {
	AccountOf(ctx context.Context, number int64) (*identity.Account, error)
	JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error)
}

// SetAside ends a job that can't be attempted; see [lifecycle.SetAside]. It
// returns nil if the job is gone, and an error for a delivery.
func (r *Runner) SetAside(ctx context.Context, ref store.QueueKey, reason string, stop bool) error {
	if ref.Kind != store.KindJob {
		return errors.New("only jobs can be set aside by their records")
	}
	return fault.Guard(func() error {
		account, err := r.Jobs.AccountOf(ctx, ref.Account)
		if err != nil {
			return fmt.Errorf("reading account %d: %w", ref.Account, err)
		}
		_, err = r.Jobs.JobChange(ctx, account.Owner, job.Ref{Number: ref.Number}, lifecycle.SetAside(reason, stop))
		if fault.CodeOf(err) == fault.NotFound {
			return nil
		}
		return err
	})
}

// guarded calls do and turns a panic into a failure of this attempt.
func (r *Runner) guarded(what string, number int64, do func() job.Outcome) (outcome job.Outcome) {
	if err := fault.Guard(func() error { outcome = do(); return nil }); err != nil {
		r.panicked(what, number, err)
		outcome = job.Outcome{Failure: &job.Failure{Kind: job.KindInternal, Message: "the service failed during this attempt; see its log"}}
	}
	return outcome
}

// decided wraps decide. If decide panics, the job is set aside, because its
// outcome could never be stored.
func (r *Runner) decided(item *store.QueueItem, decide store.Decide) store.Decide {
	return func(m *store.Snapshot) (c *store.Changes) {
		err := fault.Guard(func() error { c = decide(m); return nil })
		if err != nil {
			r.panicked("job", item.Number, err)
			c = lifecycle.SetAside("the service failed while it recorded the outcome of the attempt; the job was set aside", true)(
				&store.Snapshot{Now: m.Now, Job: item.Job, Schedule: m.Schedule})
			if c == nil {
				c = &store.Changes{} // the job is final; only its queue item goes
			}
		}
		return c
	}
}

func (r *Runner) panicked(what string, number int64, err error) {
	r.Metrics.Panicked()
	r.Log.Error("attempt panicked; other attempts are not affected", what, number, "error", err)
}
