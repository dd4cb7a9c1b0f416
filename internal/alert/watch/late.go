package watch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// peekItems is how many overdue queue items a node looks at in a second. With
	// more, it goes on in the next second.
	peekItems = 1000
	// loadItems is how many jobs are read at once; each may have a megabyte.
	loadItems = 16
)

// lateScan is a walk through the overdue queue items, over and over.
type lateScan struct {
	after    store.QueueKey // where it goes on
	revision int64          // of the known accounts when it began
	// done is how far each account's items have been looked at for the last time:
	// they were later than all of its alerts ask for.
	done map[int64]store.QueueKey
}

// lateRuns tells the tracker of runs that may be late. A store without overdue
// items answers from the first page of its queue.
func (w *Watcher) lateRuns(ctx context.Context) error {
	known := w.known.Load()
	if !known.late {
		return nil
	}
	s, now := &w.scan, w.Store.Now()
	if s.done == nil || s.revision != known.revision {
		*s = lateScan{revision: known.revision, done: map[int64]store.QueueKey{}}
	}
	items, err := w.Store.QueuePeek(ctx, s.after, now.Add(-time.Second), peekItems)
	if err != nil {
		return err
	}
	full := len(items) == peekItems
	var candidates []store.QueueKey
	for _, item := range items {
		late := known.accounts[item.Account]
		if item.Kind == store.KindJob && late.Max > 0 && !item.Due.After(now.Add(-late.Min)) && before(s.done[item.Account], item) {
			candidates = append(candidates, item)
		}
	}
	for len(candidates) > 0 {
		n := min(loadItems, len(candidates))
		if err := w.lateItems(ctx, candidates[:n]); err != nil {
			return err
		}
		for _, item := range candidates[:n] {
			if !item.Due.After(now.Add(-known.accounts[item.Account].Max)) {
				s.done[item.Account] = item
			}
		}
		candidates = candidates[n:]
	}
	s.after = store.QueueKey{}
	if full {
		s.after = items[len(items)-1]
	} else if len(items) == 0 {
		clear(s.done)
	}
	return nil
}

// before reports whether a sorts before b.
func before(a, b store.QueueKey) bool {
	if !a.Due.Equal(b.Due) {
		return a.Due.Before(b.Due)
	}
	return a.Number < b.Number
}

// lateItems reads the jobs of queue items and passes those that have never been
// attempted to the tracker, by account.
func (w *Watcher) lateItems(ctx context.Context, items []store.QueueKey) error {
	loaded, err := w.Store.QueueLoad(ctx, items)
	if err != nil {
		return err
	}
	var order []int64
	runs := map[int64][]alert.LateRun{}
	for _, item := range loaded {
		if item == nil || item.Claim != nil || item.Job.State != job.Available {
			continue
		}
		if runs[item.Account] == nil {
			order = append(order, item.Account)
		}
		runs[item.Account] = append(runs[item.Account], alert.LateRun{
			QueueKey: item.QueueKey, Schedule: item.Job.ScheduleID, Tags: job.LabelsOf(item.Job.Args).Tags,
			Detail: alert.DetailOf(item.Job),
		})
	}
	for _, account := range order {
		if _, err := w.decide(ctx, account, runs[account]); err != nil {
			return err
		}
	}
	return nil
}
