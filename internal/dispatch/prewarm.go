package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// prewarmAhead is how long before items are due connections to their receivers
	// are opened; prewarmPause is how often the queue is read for it.
	prewarmAhead = time.Second
	prewarmPause = 250 * time.Millisecond
	// prewarmPage is how many keys one read returns at most, prewarmPages how many
	// reads follow each other.
	prewarmPage, prewarmPages = 1024, 16
	// prewarmLanesEach is how many receivers of one account are prewarmed per
	// read.
	prewarmLanesEach = 1024
	// atOnce is the interval within which items count as concurrent.
	atOnce = 10 * time.Millisecond
)

// coming is what is due soon for one receiver.
type coming struct {
	first store.QueueKey
	most  int       // highest count so far
	since time.Time // start of the interval that count covers
	count int
}

// prewarm calls Prewarm for what is due soon, until ctx ends. What it misses is
// fired all the same; its connections are opened then.
func (d *Dispatcher) prewarm(ctx context.Context) {
	ticker := time.NewTicker(prewarmPause)
	defer ticker.Stop()
	var cursor store.QueueKey
	var quiet time.Time // until then nothing is to be read, unless something is stored
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if d.Waiting(store.KindJob) >= peekLimit {
			continue // the node is busy with what is due
		}
		now := d.Queue.Now()
		if d.suspects.isCareful(now) {
			continue // reading here would leave no note for a crash
		}
		if !d.stored.Swap(false) && now.Before(quiet) && !d.items.nodes().notificationsDown {
			continue
		}
		if cursor.Due.Before(now) || cursor.Due.Sub(now) > prewarmAhead {
			cursor = store.QueueKey{Due: now}
		}
		lanes, next, first, err := d.readAhead(ctx, cursor, now.Add(prewarmAhead))
		if err != nil {
			quiet = time.Time{}
			continue // the loop logs the same failure
		}
		cursor, quiet = next, now.Add(recheck) // notices can get lost
		if !first.IsZero() {
			quiet = earlier(quiet, first.Add(-prewarmAhead))
		}
		d.prewarmLanes(ctx, lanes)
	}
}

// readAhead reads the keys that are due until then, starting after a key. It returns how
// far it has read and when the first key after that is due; zero for not known.
func (d *Dispatcher) readAhead(ctx context.Context, from store.QueueKey,
	until time.Time) (map[laneID]*coming, store.QueueKey, time.Time, error) {
	lease := d.items.nodes()
	lanes, ofAccount := map[laneID]*coming{}, map[int64]int{}
	for range prewarmPages {
		refs, err := d.Queue.QueuePeek(ctx, from, until, prewarmPage)
		if err != nil {
			return nil, from, time.Time{}, err
		}
		for _, ref := range refs {
			if ref.Due.After(until) {
				return lanes, from, ref.Due, nil
			}
			from = ref
			if d.share(ref, lease) != 0 {
				continue
			}
			if lanes[laneOf(ref)] == nil {
				if ofAccount[ref.Account] == prewarmLanesEach {
					continue
				}
				ofAccount[ref.Account]++
			}
			count(lanes, ref)
		}
		if len(refs) < prewarmPage {
			break
		}
	}
	return lanes, from, time.Time{}, nil
}

func count(lanes map[laneID]*coming, ref store.QueueKey) {
	c := lanes[laneOf(ref)]
	if c == nil {
		c = &coming{first: ref}
		lanes[laneOf(ref)] = c
	}
	if ref.Due.Sub(c.since) > atOnce {
		c.since, c.count = ref.Due, 0
	}
	c.count++
	c.most = max(c.most, c.count)
}

// prewarmLanes loads one item per receiver, for its URL, and calls Prewarm.
func (d *Dispatcher) prewarmLanes(ctx context.Context, lanes map[laneID]*coming) {
	refs := make([]store.QueueKey, 0, len(lanes))
	for _, c := range lanes {
		refs = append(refs, c.first)
	}
	for len(refs) > 0 {
		batch := refs[:min(len(refs), loadLimit)]
		refs = refs[len(batch):]
		// If one item can't be loaded, the others of its batch only lose their
		// prewarmed connections.
		_ = fault.Guard(func() error {
			items, err := d.Queue.QueueLoad(ctx, batch)
			for i, item := range items {
				if item != nil {
					lane := laneOf(batch[i])
					d.Prewarm(item, min(lanes[lane].most, d.pools[lane.kind].total))
				}
			}
			return err
		})
	}
}
