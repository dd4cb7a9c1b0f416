package sqlite

import (
	"context"
	"maps"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// RunApply implements store.Runs.
func (s *Store) RunApply(ctx context.Context, w *store.RunWrite) (results []store.Inserted, err error) {
	if err := s.hasSpace(); err != nil {
		return nil, err
	}
	values := argsOf(w.Jobs)
	err = s.writeSized(ctx, w.Size+sizeOf(w.Jobs), func(t *tx) (err error) {
		results = nil
		m, err := records.ReadRuns(t, w)
		if err != nil {
			return err
		}
		c, err := w.Decide(m)
		if err != nil || c == nil {
			return err
		}
		refs, used := len(t.refs), maps.Clone(t.used)
		release := sqlitex.Save(t.conn)
		defer func() {
			if release(&err); err != nil {
				t.refs, t.used = t.refs[:refs], used
			}
		}()
		var jobs []store.NewJob
		var args []storedArgs
		for _, i := range c.Jobs {
			jobs, args = append(jobs, w.Jobs[i]), append(args, values[i])
		}
		results = make([]store.Inserted, len(jobs))
		if err := t.insertAll(jobs, args, results, store.MaxHeld); err != nil {
			return err
		}
		if err := w.Accept(results); err != nil {
			return err
		}
		return t.Run(records.StoreRuns(w.Account, c)...)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// endRun notes the end of a job with the run that it belongs to.
func (t *tx) endRun(c *store.Changes) error {
	end, ok := store.RunEndOf(c)
	if !ok {
		return nil
	}
	return t.Run(records.EndRuns([]store.RunEnd{end})...)
}
