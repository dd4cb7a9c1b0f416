package dispatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// most returns the largest number of firings in any window of a length.
func most(fired []firing, per time.Duration) int {
	n := 0
	for i := range fired {
		k := 0
		for _, f := range fired {
			if since := f.at.Sub(fired[i].at); since >= 0 && since < per {
				k++
			}
		}
		n = max(n, k)
	}
	return n
}

func TestLimits_RateHoldsInEveryWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.limit("a", limit.Limit{Calls: 5, Per: time.Second})
		due := b.queue.Now().Add(time.Second)
		for i := range int64(50) {
			b.queue.addLimited([]string{"a"}, ref(i+1, 1, 1, due.Add(time.Duration(i))))
		}
		free := ref(1000, 1, 1, due)
		b.queue.add(free)
		pause.For(t.Context(), 13*time.Second)
		fired := b.firings()
		if len(fired) != 51 {
			t.Fatalf("%d of 51 fired", len(fired))
		}
		var limited []firing
		for _, f := range fired {
			if f.ref.Number == free.Number {
				if late := f.at.Sub(due); late > 0 {
					t.Errorf("the job without a limit was %v late", late)
				}
				continue
			}
			limited = append(limited, f)
		}
		if got := most(limited, time.Second); got > 5 {
			t.Errorf("%d starts in a second, the limit is 5", got)
		}
		slices.SortFunc(limited, func(a, b firing) int { return a.at.Compare(b.at) })
		if took := limited[49].at.Sub(due); took > 9500*time.Millisecond {
			t.Errorf("50 starts, 5 a second, took %v", took)
		}
		for i, f := range limited {
			if block := (f.ref.Number - 1) / 5; int(block) != i/5 {
				t.Errorf("start %d was item %d; the earliest due is to be first", i, f.ref.Number)
			}
		}
	})
}

func TestLimits_ParallelHoldsAndIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 300*time.Millisecond) })
		b.queue.limit("a", limit.Limit{Parallel: 3})
		now := b.queue.Now()
		for i := range int64(30) {
			b.queue.addLimited([]string{"a"}, ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 4*time.Second)
		if fired := b.firings(); len(fired) != 30 || b.most != 3 {
			t.Errorf("%d of 30 fired, up to %d at once, the limit is 3", len(fired), b.most)
		}
	})
}

func TestLimits_KeysAreTakenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		inside, mostInside := map[string]int{}, map[string]int{}
		b := start(t, 1000, func(ctx context.Context, r store.QueueKey) {
			keys := []string{"a", "b"}
			if r.Number > 20 {
				keys = keys[:1]
			}
			mu.Lock()
			for _, key := range keys {
				inside[key]++
				mostInside[key] = max(mostInside[key], inside[key])
			}
			mu.Unlock()
			pause.For(ctx, 100*time.Millisecond)
			mu.Lock()
			for _, key := range keys {
				inside[key]--
			}
			mu.Unlock()
		})
		b.queue.limit("a", limit.Limit{Parallel: 4})
		b.queue.limit("b", limit.Limit{Parallel: 1})
		now := b.queue.Now()
		for i := range int64(40) {
			keys := []string{"a", "b"}
			if i >= 20 {
				keys = keys[:1]
			}
			b.queue.addLimited(keys, ref(i+1, 1, 1, now.Add(time.Duration(i))))
		}
		pause.For(t.Context(), 1500*time.Millisecond) // those that need both take two seconds
		alone := 0
		for _, f := range b.firings() {
			if f.ref.Number > 20 {
				alone++
			}
		}
		if alone < 15 {
			t.Errorf("%d of 20 that need only one key have started beside those that wait for the other", alone)
		}
		pause.For(t.Context(), 4*time.Second)
		if n := len(b.firings()); n != 40 {
			t.Errorf("%d of 40 fired", n)
		}
		if mostInside["a"] > 4 || mostInside["b"] > 1 {
			t.Errorf("up to %v at once, the limits are 4 and 1", mostInside)
		}
	})
}

func TestLimits_ChangeTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.limit("a", limit.Limit{Paused: true})
		now := b.queue.Now()
		for i := range int64(5) {
			b.queue.addLimited([]string{"a"}, ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 3*time.Second)
		if n := len(b.firings()); n != 0 {
			t.Fatalf("%d fired while paused", n)
		}
		lifted := b.queue.Now()
		b.Notice(b.queue.limit("a", limit.Limit{}))
		pause.For(t.Context(), 100*time.Millisecond)
		if n := len(b.firings()); n != 5 {
			t.Errorf("%d of 5 fired within 100 ms", n)
		}
		for _, f := range b.firings() {
			if f.at.Before(lifted) {
				t.Errorf("item %d fired before the limit was lifted", f.ref.Number)
			}
		}
	})
}

// An attempt that awaits its completion is none of the dispatcher's.
func TestLimits_EndOfAnAwaitingAttemptIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.limit("a", limit.Limit{Parallel: 1})
		awaiting := func(n int) {
			b.queue.mu.Lock()
			defer b.queue.mu.Unlock()
			b.queue.limits.states["a"].InFlight += n
		}
		awaiting(1)
		b.queue.addLimited([]string{"a"}, ref(1, 1, 1, b.queue.Now()))
		for i := range 10 { // at different times between two reads of what to plan
			pause.For(t.Context(), 3*time.Second+time.Duration(i)*100*time.Millisecond)
			if n := len(b.firings()); n != i {
				t.Fatalf("%d fired while an attempt was under way, want %d", n, i)
			}
			awaiting(-1)
			b.LimitsFreed(1, []string{"unknown", "a"})
			pause.For(t.Context(), 100*time.Millisecond)
			if n := len(b.firings()); n != i+1 {
				t.Fatalf("%d fired within 100 ms after the attempt, want %d", n, i+1)
			}
			awaiting(1)
			b.queue.addLimited([]string{"a"}, ref(int64(i+2), 1, 1, b.queue.Now()))
		}
	})
}

// TestLimits_EndOfAnAwaitingAttemptIsUsedAtOnceByOtherNodes ends an attempt at a node
// that does not know that an order waits for it.
func TestLimits_EndOfAnAwaitingAttemptIsUsedAtOnceByOtherNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1000, nil)
		b.queue.set(func() { b.queue.nodes = []int64{b.Node, b.Node + 1} })
		b.queue.limit("a", limit.Limit{Parallel: 1})
		pause.For(t.Context(), 3*time.Second) // past the next heartbeat
		item, notify, before := ref(1, 1, 1, b.queue.Now()), b.queue.notify, 0
		b.queue.set(func() { b.queue.notify = func(store.Notice) {} })
		b.queue.addLimited([]string{"a"}, item)
		if err := b.queue.LimitHold(t.Context(), []store.HeldItem{{QueueKey: item, Keys: []string{"a"}, Named: 1}}); err != nil {
			t.Fatal(err)
		}
		b.queue.set(func() {
			b.queue.limits.wakes["a"] = b.queue.limits.wakes["a"].Add(time.Hour) // planned by the other node
			b.queue.notify, before = notify, b.queue.limits.passes
		})
		b.LimitsFreed(1, []string{"a", "host:unknown"})
		pause.For(t.Context(), 250*time.Millisecond)
		if n := len(b.firings()); n != 1 {
			t.Errorf("%d fired within 250 ms after the attempt, want 1", n)
		}
		b.queue.set(func() {
			if n := b.queue.limits.passes - before; n > 3 {
				t.Errorf("%d passes", n)
			}
		})
	})
}

// Items that had to wait for slots longer than their limits allow wait for their
// limits again.
func TestLimits_LateStartsAreGrantedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, func(ctx context.Context, r store.QueueKey) {
			if r.Number > 100 {
				pause.For(ctx, 5*time.Second)
			}
		})
		b.queue.limit("a", limit.Limit{Calls: 2, Per: time.Second})
		now := b.queue.Now()
		b.queue.add(ref(101, 2, 2, now), ref(102, 2, 2, now))
		pause.For(t.Context(), 50*time.Millisecond)
		for i := range int64(6) {
			b.queue.addLimited([]string{"a"}, ref(i+1, 1, 1, now.Add(100*time.Millisecond)))
		}
		pause.For(t.Context(), 20*time.Second)
		var limited []firing
		for _, f := range b.firings() {
			if f.ref.Number <= 100 {
				limited = append(limited, f)
			}
		}
		if len(limited) != 6 {
			t.Fatalf("%d of 6 fired", len(limited))
		}
		if got := most(limited, time.Second); got > 2 {
			t.Errorf("%d starts in a second, the limit is 2", got)
		}
	})
}

func TestLimits_WaitingCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 100, nil)
		b.queue.limit("a", limit.Limit{Calls: 1, Per: time.Hour})
		now := b.queue.Now()
		for i := range int64(3000) {
			b.queue.addLimited([]string{"a"}, ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 20*time.Second)
		if n := len(b.firings()); n != 1 {
			t.Errorf("%d fired with 1 an hour", n)
		}
		b.queue.mu.Lock()
		before := b.queue.limits.passes
		b.queue.mu.Unlock()
		if waiting := b.Waiting(store.KindJob); waiting != 0 || b.InUse(store.KindJob) != 0 {
			t.Errorf("%d wait in memory, %d slots are in use", waiting, b.InUse(store.KindJob))
		}
		pause.For(t.Context(), 20*time.Second)
		b.queue.mu.Lock()
		passes := b.queue.limits.passes - before
		b.queue.mu.Unlock()
		if passes > 1 {
			t.Errorf("%d passes in 20 s in which none could start", passes)
		}
	})
}
