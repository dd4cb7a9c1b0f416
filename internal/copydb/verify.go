package copydb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// queue is the name of the comparison besides the sections: the queue items in
// order of due time.
const queue = "runs"

// secretMargin is how long a secret must still be valid to be compared. Stores
// don't return expired ones, and their clocks may differ.
const secretMargin = time.Hour

// compare reads both stores and returns the counts of their records, or an error
// that names the sections in which they differ.
func compare(ctx context.Context, from, to Store, progress func(Progress)) ([]Count, error) {
	secretsUntil := from.Now().Add(secretMargin)
	var source, target []total
	var sourceErr, targetErr error
	var reading sync.WaitGroup
	reading.Go(func() { source, sourceErr = totals(ctx, from, secretsUntil, func(Progress) {}) })
	reading.Go(func() { target, targetErr = totals(ctx, to, secretsUntil, progress) })
	reading.Wait()
	if err := errors.Join(sourceErr, targetErr); err != nil {
		return nil, interrupted(ctx, fmt.Errorf("comparing the copy with its source: %w", err))
	}
	var counts []Count
	var differences []string
	for i, s := range source {
		switch t := target[i]; {
		case s.records != t.records:
			differences = append(differences, fmt.Sprintf("%s (%d in the source, %d in the copy)", s.name, s.records, t.records))
		case s.sum != t.sum:
			differences = append(differences, fmt.Sprintf("%s (%d in both, but not the same)", s.name, s.records))
		}
		if s.name != queue {
			counts = append(counts, Count{s.name, s.records})
		}
	}
	if len(differences) > 0 {
		return nil, fmt.Errorf("the copy differs from its source in %s; most likely one of them was in use meanwhile. "+
			"Make the target an empty database and copy again; the source is as it was", strings.Join(differences, ", "))
	}
	return counts, nil
}

// total is the count and checksum of a section of a store.
type total struct {
	name    string
	records int64
	sum     [32]byte
}

// totals reads a whole store. The result includes empty sections.
func totals(ctx context.Context, s Store, secretsUntil time.Time, progress func(Progress)) ([]total, error) {
	counts := make([]int64, len(sections)+1)
	sums := make([]*checksum, len(sections)+1)
	for i := range sums {
		sums[i] = newChecksum()
	}
	add := func(i int, name string, value any) error {
		sums[i].add(value)
		counts[i]++
		if counts[i]%maxPage == 0 {
			progress(Progress{Section: name, Checking: true, Records: counts[i]})
		}
		return ctx.Err()
	}
	err := walk(ctx, s, place{}, func(at place, r record) error {
		return add(at.section, sections[at.section].name, essence(r.value, secretsUntil))
	})
	if err == nil {
		err = walkQueue(ctx, s, func(r store.QueueKey) error { return add(len(sections), queue, r) })
	}
	all := make([]total, len(sums))
	for i := range sums {
		all[i] = total{queue, counts[i], sums[i].sum()}
		if i < len(sections) {
			all[i].name = sections[i].name
		}
	}
	return all, err
}

// essence returns a record without the parts that may differ between stores.
func essence(value any, secretsUntil time.Time) any {
	switch v := value.(type) {
	case *store.Account:
		a := *v
		a.Secrets = nil
		for _, s := range v.Secrets {
			if s.ExpiresAt.IsZero() || s.ExpiresAt.After(secretsUntil) {
				a.Secrets = append(a.Secrets, s)
			}
		}
		slices.SortFunc(a.Secrets, func(x, y store.Secret) int { return strings.Compare(x.Value, y.Value) })
		return &a
	case *job.Job:
		if j := *v; j.State.Final() {
			j.Attempt = 0 // it is of no use any more, and not kept
			return &j
		}
	}
	return value
}

// walkQueue visits all queue items, without their lanes, which are recomputed by
// the copy, and without what stores keep as the revision of a delivery.
func walkQueue(ctx context.Context, s Store, visit func(store.QueueKey) error) error {
	after := store.QueueKey{}
	for {
		page, err := s.QueuePeek(ctx, after, time.Time{}, maxPage)
		if err != nil {
			return fmt.Errorf("reading the queue: %w", err)
		}
		for _, r := range page {
			after = r
			r.Lane = 0
			if r.Kind == store.KindDelivery {
				r.Revision = 0
			}
			if err := visit(r); err != nil {
				return err
			}
		}
		if len(page) == 0 {
			return nil
		}
	}
}
