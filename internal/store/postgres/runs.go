package postgres

import (
	"context"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// RunApply implements store.Runs. It locks the runs before everything else, as the ends of
// jobs do.
func (s *Store) RunApply(ctx context.Context, w *store.RunWrite) (results []store.Inserted, err error) {
	err = s.write(ctx, func(t *tx) error {
		results = nil
		m, err := records.ReadRuns(t, w)
		if err != nil {
			return err
		}
		c, err := w.Decide(m)
		if err != nil {
			return err
		}
		if c == nil {
			return t.commit()
		}
		jobs := make([]store.NewJob, len(c.Jobs))
		for k, i := range c.Jobs {
			jobs[k] = w.Jobs[i]
		}
		if len(jobs) > 0 {
			created := newCreation(jobs)
			created.whole, created.bounded = true, true
			if err := created.store(t); err != nil {
				return err
			}
			if created.settle(); len(created.open) > 0 {
				return errRetry
			}
			results = created.all()
		}
		if err := w.Accept(results); err != nil {
			return err
		}
		last := records.StoreRuns(w.Account, c)
		return duplicate(t.commit(ofRecords(last)...), last)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// endRuns returns the queries that note the ends of jobs with the runs that they belong to.
func (w *writes) endRuns() []query { return ofRecords(records.EndRuns(w.runEnds)) }
