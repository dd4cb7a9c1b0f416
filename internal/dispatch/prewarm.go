package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// warmAhead is how long before runs are due their receivers are told of,
	// so that connections to them are open in time; warmPause is how often.
	warmAhead = time.Second
	warmPause = 250 * time.Millisecond
	// warmPage is how many runs are read at once, warmPages how many times.
	warmPage, warmPages = 1024, 16
	// warmLanesEach is how many receivers of one account are told of at once.
	warmLanesEach = 1024
	// atOnce is how close together runs are due that are under way at once.
	atOnce = 10 * time.Millisecond
)

// coming is what is due soon for one receiver.
type coming struct {
	first store.QueueKey
	most  int       // due at once
	since time.Time // of those that are counted now
	count int
}

// lookAhead tells of what is due soon until ctx ends. What it misses is fired
// all the same; its connections are opened then.
func (d *Dispatcher) prewarm(ctx context.Context) {
	ticker := time.NewTicker(warmPause)
	defer ticker.Stop()
	var cursor store.QueueKey
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if d.Waiting(store.KindJob) >= peekLimit {
			continue // there is enough to do now
		}
		now := d.Queue.Now()
		if d.isCareful(now) {
			continue // what is read here is not noted
		}
		if cursor.Due.Before(now) || cursor.Due.Sub(now) > warmAhead {
			cursor = store.QueueKey{Due: now}
		}
		lanes, next, err := d.readAhead(ctx, cursor, now.Add(warmAhead))
		if err != nil {
			continue // the loop complains of the same
		}
		cursor = next
		d.prewarmLanes(ctx, lanes)
	}
}

// readAhead reads what is due until then, behind a place in the queue.
func (d *Dispatcher) readAhead(ctx context.Context, from store.QueueKey, until time.Time) (map[laneID]*coming, store.QueueKey, error) {
	d.mu.Lock()
	nodes, self := d.lease.nodes, d.lease.node
	d.mu.Unlock()
	lanes, ofAccount := map[laneID]*coming{}, map[int64]int{}
	for range warmPages {
		refs, err := d.Queue.QueuePeek(ctx, from, until, warmPage)
		if err != nil {
			return nil, from, err
		}
		for _, ref := range refs {
			if ref.Due.After(until) {
				return lanes, from, nil
			}
			from = ref
			if d.share(ref, nodes, self) != 0 {
				continue
			}
			if lanes[laneOf(ref)] == nil {
				if ofAccount[ref.Account] == warmLanesEach {
					continue
				}
				ofAccount[ref.Account]++
			}
			count(lanes, ref)
		}
		if len(refs) < warmPage {
			break
		}
	}
	return lanes, from, nil
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

// warmLanes reads one run for each receiver, which tells where it is.
func (d *Dispatcher) prewarmLanes(ctx context.Context, lanes map[laneID]*coming) {
	refs := make([]store.QueueKey, 0, len(lanes))
	for _, c := range lanes {
		refs = append(refs, c.first)
	}
	for len(refs) > 0 {
		batch := refs[:min(len(refs), loadLimit)]
		refs = refs[len(batch):]
		// One that can't be read costs the others of its batch no more than an
		// open connection.
		_ = fault.Guard(func() error {
			runs, err := d.Queue.QueueLoad(ctx, batch)
			for i, run := range runs {
				if run != nil {
					lane := laneOf(batch[i])
					d.Prewarm(run, min(lanes[lane].most, d.pools[lane.kind].total))
				}
			}
			return err
		})
	}
}
