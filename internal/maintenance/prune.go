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
	batch func(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error)
	next  store.PruneCursor
	more  bool
	anew  time.Time
	// single is how many records remain to be removed one at a time, since removing them
	// together has failed. failed is how many of these have failed in a row, stuck which
	// were logged.
	single, failed int
	stuck          map[store.PruneCursor]bool
}

// maxStuck is how many records that can't be removed are logged.
const maxStuck = 100

// prunings returns the kinds of records that are pruned. Each has a loop of its own, so
// that one that fails or takes long does not keep others from being removed.
func (w *Worker) prunings() []*pruning {
	return []*pruning{
		{kind: "job", batch: func(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
			return w.Store.JobPrune(ctx, w.counted(before), after, limit)
		}},
		{kind: "log", batch: w.Store.LogPrune},
		{kind: "audit", batch: func(ctx context.Context, before time.Time, _ store.PruneCursor, limit int) (store.Pruned, error) {
			n, err := w.Store.AuditPrune(ctx, before, limit)
			return store.Pruned{Removed: n, Examined: n, More: n > 0}, err
		}},
		{kind: "workflow_run", batch: func(ctx context.Context, before time.Time, _ store.PruneCursor, limit int) (store.Pruned, error) {
			n, more, err := w.Store.RunPrune(ctx, before, limit)
			return store.Pruned{Removed: n, Examined: n, More: more}, err
		}},
	}
}

// prune removes one batch of records that are older than the retention, and returns
// the pause until the next.
func (w *Worker) prune(ctx context.Context, p *pruning) time.Duration {
	now := w.Store.Now()
	if !p.more && !now.Before(p.anew) {
		p.next, p.anew = store.PruneCursor{}, now
	}
	rest := min(max(w.Retention/10, minPruneRest), maxPruneRest)
	limit := pruneBatch
	if p.single > 0 {
		limit = 1
	}
	batch, err := p.batch(ctx, now.Add(-w.Retention), p.next, limit)
	if err != nil && ctx.Err() != nil {
		return rest
	}
	if err != nil && (limit > 1 || batch.Next == p.next) {
		if p.single = pruneBatch; limit > 1 {
			return prunePause // perhaps only one of them can't be removed
		}
		w.Log.Error("removing old records failed; retrying", "kind", p.kind, "error", err)
		return rest
	}
	w.Metrics.Pruned(p.kind, batch.Removed)
	p.next, p.more = batch.Next, batch.More
	if err != nil {
		return w.pass(p, err, rest)
	}
	p.single, p.failed = max(0, p.single-1), 0
	p.anew = p.anew.Add(time.Duration(batch.Examined-batch.Removed) * perKept)
	if p.more {
		return prunePause
	}
	return rest
}

// pass goes on behind a record that can't be removed; the next round tries it again. If
// many in a row can't, the store may be the cause, so the pauses grow up to rest.
func (w *Worker) pass(p *pruning, err error, rest time.Duration) time.Duration {
	if p.stuck == nil {
		p.stuck = map[store.PruneCursor]bool{}
	}
	if !p.stuck[p.next] && len(p.stuck) < maxStuck {
		p.stuck[p.next] = true
		w.Log.Error("an old record can't be removed; going on with the others", "kind", p.kind, "error", err)
	}
	p.anew = p.anew.Add(perKept)
	p.failed = min(p.failed+1, 20)
	return min(prunePause<<p.failed, rest)
}
