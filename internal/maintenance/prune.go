package maintenance

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// pruning removes the old records of a kind, in rounds. A round examines each of them
// once. When it is over, it goes on with records that have become old since, until the
// next round begins at anew.
type pruning struct {
	kind  string
	batch func(ctx context.Context, before time.Time, after store.PruneMark, limit int) (store.Pruned, error)
	next  store.PruneMark
	more  bool
	anew  time.Time
}

// prunings returns the kinds of records that are pruned. Each has a loop of its own, so
// that one that fails or takes long does not keep others from being removed.
func (w *Worker) prunings() []*pruning {
	return []*pruning{
		{kind: "job", batch: w.Store.JobPrune},
		{kind: "log", batch: w.Store.LogPrune},
		{kind: "audit", batch: func(ctx context.Context, before time.Time, _ store.PruneMark, limit int) (store.Pruned, error) {
			n, err := w.Store.AuditPrune(ctx, before, limit)
			return store.Pruned{Removed: n, Examined: n, More: n > 0}, err
		}},
	}
}

// prune removes one batch of records that are older than the retention, and returns
// the pause until the next.
func (w *Worker) prune(ctx context.Context, p *pruning) time.Duration {
	now := w.Store.Now()
	if !p.more && !now.Before(p.anew) {
		p.next, p.anew = store.PruneMark{}, now
	}
	rest := min(max(w.Retention/10, minPruneRest), maxPruneRest)
	batch, err := p.batch(ctx, now.Add(-w.Retention), p.next, pruneBatch)
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Error("removing old records failed; retrying", "kind", p.kind, "error", err)
		}
		return rest
	}
	w.Metrics.Pruned(p.kind, batch.Removed)
	p.next, p.more = batch.Next, batch.More
	p.anew = p.anew.Add(time.Duration(batch.Examined-batch.Removed) * perKept)
	if p.more {
		return prunePause
	}
	return rest
}
