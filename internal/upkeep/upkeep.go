package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// Config of a Keeper.
type Config struct {
	Store     store.Store
	Metrics   *metrics.Metrics
	Log       *slog.Logger
	Retention time.Duration // 0: everything is kept for ever
}

// Keeper does the chores.
type Keeper struct{ Config }

const (
	pruneBatch = 200
	// prunePause lies between two batches; between two rounds lies a tenth of
	// the retention, within these bounds.
	prunePause   = 20 * time.Millisecond
	minPruneRest = time.Second
	maxPruneRest = time.Minute
	// countRest lies between two counts at the least, and is this many times
	// as long as a count took, so that counting never costs more than 1 %.
	countRest   = 15 * time.Second
	countFactor = 100
	// sweepRest lies between two rounds of what has expired or was deleted.
	sweepRest = 2 * time.Second
	// settles is how long after its end an account's records are looked for:
	// by then nothing is under way any more that could store another.
	settles = time.Hour
	// statsKept is how long statistics are kept, in minutes.
	statsKept = 7 * 24 * 60
)

// Run does the chores until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var chores sync.WaitGroup
	chores.Go(func() { k.every(ctx, k.count) })
	chores.Go(func() { k.every(ctx, k.sweep) })
	k.every(ctx, k.prune)
	chores.Wait()
}

// every calls a step and rests as long as it says, until ctx ends.
func (k *Keeper) every(ctx context.Context, step func(context.Context) time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(step(ctx))
	}
}

// prune removes one batch of old records and tells how long to rest.
func (k *Keeper) prune(ctx context.Context) time.Duration {
	if k.Retention == 0 {
		return maxPruneRest
	}
	rest := min(max(k.Retention/10, minPruneRest), maxPruneRest)
	found, err := k.PruneStep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		k.Log.Error("removing old records failed; trying again", "error", err)
		return rest
	case found:
		return prunePause
	default:
		return rest
	}
}

// PruneStep removes up to a batch, of fewer when they are large, of jobs that
// became final, of logs that were written, and of entries of the audit log,
// longer ago than the retention. It reports whether there
// may be more.
func (k *Keeper) PruneStep(ctx context.Context) (found bool, err error) {
	before := k.Store.Now().Add(-k.Retention)
	jobs, err := k.Store.JobPrune(ctx, before, pruneBatch)
	if err != nil {
		return false, err
	}
	logs, err := k.Store.LogPrune(ctx, before, pruneBatch)
	if err != nil {
		return false, err
	}
	audits, err := k.Store.AuditPrune(ctx, before, pruneBatch)
	if err != nil {
		return false, err
	}
	k.Metrics.Pruned("job", jobs)
	k.Metrics.Pruned("log", logs)
	k.Metrics.Pruned("audit", audits)
	return jobs > 0 || logs > 0 || audits > 0, nil
}

// sweep removes one batch of what has expired or was deleted and tells how long
// to rest.
func (k *Keeper) sweep(ctx context.Context) time.Duration {
	found, err := k.SweepStep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		k.Log.Error("removing what was deleted failed; trying again", "error", err)
		return sweepRest
	case found:
		return prunePause
	default:
		return sweepRest
	}
}

// SweepStep removes up to a batch of a deleted account's records, of expired
// sessions and of old statistics. It reports whether there may be more.
func (k *Keeper) SweepStep(ctx context.Context) (found bool, err error) {
	now := k.Store.Now()
	purged, err := k.Store.AccountPurge(ctx, now.Add(-settles), pruneBatch)
	if err != nil {
		return false, err
	}
	sessions, err := k.Store.SessionPrune(ctx, now, pruneBatch)
	if err != nil {
		return false, err
	}
	stats, err := k.Store.StatsPrune(ctx, now.Unix()/60-statsKept, pruneBatch)
	return purged > 0 || sessions >= pruneBatch || stats == pruneBatch, err
}

// count measures what is stored and tells how long to rest.
func (k *Keeper) count(ctx context.Context) time.Duration {
	start := time.Now()
	if err := k.CountStep(ctx); err != nil && ctx.Err() == nil {
		k.Log.Warn("counting what is stored failed", "error", err)
	}
	return max(countRest, countFactor*time.Since(start))
}

// CountStep counts jobs by state and due runs by kind, for the metrics.
func (k *Keeper) CountStep(ctx context.Context) error {
	jobs, err := k.Store.JobCounts(ctx)
	if err != nil {
		return err
	}
	for _, state := range []job.State{job.Available, job.Retryable, job.Executing, job.Completed, job.Cancelled, job.Discarded} {
		k.Metrics.Stored(state.String(), jobs[state])
	}
	runs, err := k.Store.RunCounts(ctx)
	if err != nil {
		return err
	}
	k.Metrics.Due("job", runs[store.KindJob])
	k.Metrics.Due("delivery", runs[store.KindDelivery])
	return nil
}
