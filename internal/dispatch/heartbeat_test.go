package dispatch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// set changes the fake queue.
func (q *fakeQueue) set(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
}

func TestFire_WaitsWhileTheLeaseIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		r := ref(1, 1, 1, b.queue.Now().Add(50*time.Millisecond))
		b.queue.add(r)
		b.Notice(store.Notice{Items: []store.QueueKey{r}})
		synctest.Wait()
		b.queue.set(func() { b.queue.leaseLapsed, b.queue.failing = true, true })
		pause.For(t.Context(), 3*time.Second)
		if fired := b.firings(); len(fired) != 0 {
			t.Fatalf("fired %+v without a lease", fired)
		}
		b.queue.set(func() { b.queue.leaseLapsed, b.queue.failing = false, false })
		pause.For(t.Context(), 2*time.Second)
		if fired := b.firings(); len(fired) != 1 {
			t.Errorf("fired %+v after the next heartbeat, want the item", fired)
		}
	})
}

func TestHeartbeat_ReregistersAfterExpiryAndFiresNoOldClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		r := ref(1, 1, 1, b.queue.Now().Add(50*time.Millisecond))
		b.queue.add(r)
		b.Notice(store.Notice{Items: []store.QueueKey{r}})
		synctest.Wait()
		b.queue.set(func() {
			b.queue.expired = map[int64]bool{b.Node: true}
			b.queue.leaseLapsed = true
			delete(b.queue.items, r.ItemID) // another node has reclaimed it
		})
		pause.For(t.Context(), 5*time.Second)
		if fired := b.firings(); len(fired) != 0 {
			t.Errorf("fired %+v of the expired lease", fired)
		}
		next := ref(2, 1, 1, b.queue.Now())
		b.queue.add(next)
		b.Notice(store.Notice{Items: []store.QueueKey{next}})
		pause.For(t.Context(), 50*time.Millisecond)
		if fired := b.firings(); len(fired) != 1 || fired[0].ref.Number != 2 {
			t.Errorf("fired %+v with the new lease, want item 2", fired)
		}
		for _, f := range b.firings() {
			if f.node == b.Node {
				t.Errorf("fired %+v with the expired lease", f)
			}
		}
	})
}

func TestConfirm_WithNotificationsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.queue.set(func() { b.queue.notificationsDown = true })
		pause.For(t.Context(), 3*time.Second) // past the next heartbeat
		due := b.queue.Now().Add(50 * time.Millisecond)
		kept, cancelled := ref(1, 1, 1, due), ref(2, 1, 1, due)
		b.queue.add(kept, cancelled)
		b.Notice(store.Notice{Items: []store.QueueKey{kept, cancelled}})
		synctest.Wait()
		b.queue.remove(cancelled.ItemID)
		pause.For(t.Context(), time.Second)
		if fired := b.firings(); len(fired) != 1 || fired[0].ref.Number != 1 {
			t.Errorf("fired %+v, want item 1 only", fired)
		}
	})
}

// While the store is away, and for a while after, other nodes' notices don't
// arrive either. So a failed heartbeat requires claims to be confirmed.
func TestConfirm_AfterAFailedHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.queue.set(func() { b.queue.heartbeatFails = true })
		pause.For(t.Context(), 3*time.Second) // past the next heartbeat
		due := b.queue.Now().Add(50 * time.Millisecond)
		kept, cancelled := ref(1, 1, 1, due), ref(2, 1, 1, due)
		b.queue.add(kept, cancelled)
		b.Notice(store.Notice{Items: []store.QueueKey{kept, cancelled}})
		synctest.Wait()
		b.queue.remove(cancelled.ItemID)
		pause.For(t.Context(), 100*time.Millisecond)
		if fired := b.firings(); len(fired) != 1 || fired[0].ref.Number != 1 {
			t.Errorf("fired %+v, want item 1 only", fired)
		}
	})
}

func TestNotice_CancelledByAnotherNodeAbortsAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, hang)
		pause.For(t.Context(), 10*time.Millisecond)
		started, held := ref(1, 1, 1, b.queue.Now()), ref(2, 1, 1, b.queue.Now().Add(80*time.Millisecond))
		b.queue.add(started, held)
		b.Notice(store.Notice{Items: []store.QueueKey{started, held}})
		pause.For(t.Context(), 20*time.Millisecond)
		b.queue.remove(started.ItemID)
		b.queue.remove(held.ItemID)
		b.Notice(store.Notice{Cancelled: []store.Cancelled{{Number: 1}, {Number: 2}, {Number: 3}}})
		pause.For(t.Context(), time.Second)
		fired := b.firings()
		if len(fired) != 1 || fired[0].ref.Number != 1 || !errors.Is(fired[0].cause, execute.ErrCancelled) {
			t.Errorf("fired %+v, want item 1 only, cancelled", fired)
		}
		if held := b.InUse(store.KindJob); held != 0 {
			t.Errorf("%d slots are held", held)
		}
	})
}

// TestNotice_CancelledWhileClaimingReleasesTheClaim has another node end a claim while
// this one stores a claim of the job, which outlives that change.
func TestNotice_CancelledWhileClaimingReleasesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		pause.For(t.Context(), 10*time.Millisecond)
		b.queue.set(func() { b.queue.claiming = 20 * time.Millisecond })
		item := ref(1, 1, 1, b.queue.Now().Add(80*time.Millisecond))
		b.queue.add(item)
		b.Notice(store.Notice{Items: []store.QueueKey{item}})
		pause.For(t.Context(), 10*time.Millisecond) // its claim is under way
		b.Notice(store.Notice{Cancelled: []store.Cancelled{{Number: 1}}})
		pause.For(t.Context(), time.Minute)
		if len(b.queue.released) != 1 || b.queue.released[0].Number != 1 {
			t.Errorf("released %+v, want the claim of item 1", b.queue.released)
		}
		if fired := b.firings(); len(fired) != 1 {
			t.Errorf("the item was fired %d times, want once", len(fired))
		}
	})
}

func TestShare_TakesOwnItemsAtOnceAndOthersAfterTheHeadStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.set(func() { b.queue.nodes = []int64{b.Node, b.Node + 1, b.Node + 2} })
		pause.For(t.Context(), 3*time.Second) // past the next heartbeat
		due := b.queue.Now().Add(5 * time.Second)
		for n := range int64(300) {
			b.queue.add(ref(n*shareBlock+1, 1, 1, due))
		}
		pause.For(t.Context(), 5*time.Second+claimHeadStart/2)
		own := len(b.firings())
		if own < 70 || own > 130 {
			t.Errorf("%d of 300 items were taken at once, want about a third", own)
		}
		pause.For(t.Context(), 200*time.Millisecond)
		if all := len(b.firings()); all != 300 {
			t.Errorf("%d of 300 items were fired, want all: the other nodes claimed none", all)
		}
	})
}

func TestShare_KeepsTogetherWhatIsDueAndCreatedTogether(t *testing.T) {
	d, nodes := &Dispatcher{}, lease{node: 1, nodes: []int64{1, 2, 3, 4}}
	begin := time.Unix(1_800_000_000, 0)
	batches, own := 0, 0
	for second := range 100 { // 100 items a second
		for i := range 100 {
			at := begin.Add(time.Duration(second)*time.Second + time.Duration(i)*10*time.Millisecond)
			if mine := d.share(ref(int64(100*second+i), 1, 1, at), nodes) == 0; mine {
				own++
				if i == 0 || d.share(ref(int64(100*second+i-1), 1, 1, at.Add(-10*time.Millisecond)), nodes) != 0 {
					batches++
				}
			}
		}
	}
	if own < 2200 || own > 2800 {
		t.Errorf("%d of 10,000 items are this node's, want about a quarter", own)
	}
	if own/batches < 7 {
		t.Errorf("%d items in %d batches, want about ten in each", own, batches)
	}
	herd := 0
	for n := range int64(10_000) {
		if d.share(ref(n, 1, 1, begin), nodes) == 0 {
			herd++
		}
	}
	if herd < 2000 || herd > 3000 {
		t.Errorf("%d of a herd of 10,000 items are this node's, want about a quarter", herd)
	}
}

func TestScan_LeavesToOtherNodesWhatThisOneStoredForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.set(func() { b.queue.nodes = []int64{b.Node, b.Node + 1} })
		pause.For(t.Context(), 3*time.Second) // past the next heartbeat
		due := b.queue.Now().Add(5 * time.Second)
		var items []store.QueueKey
		for n := range int64(200) {
			items = append(items, ref(n*shareBlock+1, 1, 1, due))
		}
		b.queue.add(items...)
		b.Notice(store.Notice{Items: items})
		pause.For(t.Context(), 5*time.Second+claimHeadStart/2)
		if own := len(b.firings()); own < 70 || own > 130 {
			t.Errorf("%d of 200 items were fired in time, want about half: the others are another node's", own)
		}
		pause.For(t.Context(), 300*time.Millisecond)
		if all := len(b.firings()); all != 200 {
			t.Errorf("%d of 200 items were fired, want all: the other node claimed none", all)
		}
	})
}

func TestNotice_LeavesItemsToTheNodeThatStoredThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.queue.set(func() { b.queue.nodes = []int64{b.Node, b.Node + 1} })
		pause.For(t.Context(), 2500*time.Millisecond)
		now := b.queue.Now()
		for n := range int64(20) {
			b.queue.add(ref(n+1, 1, 1, now))
		}
		b.Notice(store.Notice{EarliestElsewhere: now})
		synctest.Wait()
		if fired := b.firings(); len(fired) != 0 {
			t.Errorf("%d items were taken from the node that has just stored them", len(fired))
		}
		pause.For(t.Context(), 200*time.Millisecond)
		if fired := b.firings(); len(fired) != 20 {
			t.Errorf("%d of 20 items that were left were fired", len(fired))
		}
	})
}
