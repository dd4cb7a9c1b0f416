package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// asides records what a dispatcher sets aside.
type asides struct {
	mu      sync.Mutex
	numbers []int64
	stopped []bool
	fails   error
}

func (a *asides) with(d *Dispatcher) {
	queue := d.Queue.(*fakeQueue)
	d.SetAside = func(_ context.Context, ref store.QueueKey, _ string, stop bool) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.fails != nil {
			return a.fails
		}
		a.numbers, a.stopped = append(a.numbers, ref.Number), append(a.stopped, stop)
		queue.remove(ref.ItemID)
		return nil
	}
}

// An item whose claim the store refuses is found in its batch, and the others
// are claimed.
func TestClaim_SetsAsideAnItemThatFailsItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asides
		b := start(t, 1000, nil, a.with)
		b.queue.set(func() { b.queue.poison = map[int64]error{7: errors.New("too large")} })
		now := b.queue.Now()
		for i := range int64(100) {
			b.queue.add(ref(i+1, 1+i%3, 1, now))
		}
		pause.For(t.Context(), 100*time.Millisecond)
		if fired := b.firings(); len(fired) != 99 {
			t.Errorf("%d of the 99 others fired at once", len(fired))
		}
		pause.For(t.Context(), 10*time.Second)
		if !slices.Equal(a.numbers, []int64{7}) || a.stopped[0] {
			t.Errorf("set aside %v, want item 7, with its schedule going on", a.numbers)
		}
		if held := b.InUse(store.KindJob); held != 0 {
			t.Errorf("%d slots are held", held)
		}
	})
}

func TestClaim_SetsAsideAnItemWhosePreparationPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asides
		b := start(t, 1000, nil, a.with, func(d *Dispatcher) {
			prepare := d.Prepare
			d.Prepare = func(item *store.QueueItem, now time.Time) Attempt {
				if item.Number == 7 {
					panic("no such template")
				}
				return prepare(item, now)
			}
		})
		now := b.queue.Now()
		for i := range int64(20) {
			b.queue.add(ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 10*time.Second)
		if fired := b.firings(); len(fired) != 19 || !slices.Equal(a.numbers, []int64{7}) {
			t.Errorf("%d others fired, set aside %v; want 19 and item 7", len(fired), a.numbers)
		}
	})
}

// An item that can't be set aside either is moved far ahead, so that it is not
// claimed over and over.
func TestSetAside_MovesAnItemThatCanNotBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := asides{fails: errors.New("not that either")}
		b := start(t, 10, nil, a.with)
		b.queue.set(func() { b.queue.poison = map[int64]error{1: errors.New("too large")} })
		now := b.queue.Now()
		b.queue.add(ref(1, 1, 1, now))
		pause.For(t.Context(), 10*time.Second)
		b.queue.mu.Lock()
		defer b.queue.mu.Unlock()
		if due := b.queue.items[store.ItemID{Number: 1}].Due; !due.After(now.Add(parkedTill)) {
			t.Errorf("the item is still due at %v", due)
		}
	})
}

// Nothing is set aside in an outage, however long it lasts.
func TestClaim_SetsNothingAsideInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asides
		b := start(t, 10, nil, a.with)
		b.queue.set(func() { b.queue.poison = map[int64]error{1: errDown} })
		b.queue.add(ref(1, 1, 1, b.queue.Now()))
		pause.For(t.Context(), time.Minute)
		b.queue.set(func() { b.queue.poison = nil })
		pause.For(t.Context(), time.Second)
		if fired := b.firings(); len(fired) != 1 || len(a.numbers) != 0 {
			t.Errorf("fired %+v, set aside %v", fired, a.numbers)
		}
	})
}

func TestFire_APanicEndsOneAttemptOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics atomic.Int64
		b := start(t, 4, func(_ context.Context, r store.QueueKey) {
			if r.Number == 3 {
				panic("unexpected response")
			}
		}, func(d *Dispatcher) { d.ObservePanic = func() { panics.Add(1) } })
		now := b.queue.Now()
		for i := range int64(20) {
			b.queue.add(ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), time.Second)
		if fired := b.firings(); len(fired) != 20 || panics.Load() != 1 || b.InUse(store.KindJob) != 0 {
			t.Errorf("%d fired, %d panics, %d slots held; want 20, 1 and 0", len(fired), panics.Load(), b.InUse(store.KindJob))
		}
	})
}

func TestSuspect_NotesPreparationsOnlyAfterACrash(t *testing.T) {
	for _, unclean := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 100, nil)
			b.queue.set(func() { b.queue.unclean = unclean })
			if err := b.Suspect(t.Context()); err != nil {
				t.Fatal(err)
			}
			now := b.queue.Now()
			for i := range int64(50) {
				b.queue.add(ref(i+1, 1, 1, now), ref(i+101, 1, 1, now.Add(carefulFor+5*time.Second)))
			}
			pause.For(t.Context(), time.Second)
			noted := 0
			b.queue.set(func() {
				for _, n := range b.queue.noted {
					noted += n
				}
			})
			if want := map[bool]int{false: 0, true: 50}[unclean]; noted != want {
				t.Errorf("%d items were noted, want %d", noted, want)
			}
			pause.For(t.Context(), 20*time.Second)
			if fired := len(b.firings()); fired != 100 || len(b.queue.notes) != 0 {
				t.Errorf("%d of 100 fired, %d notes are left", fired, len(b.queue.notes))
			}
			b.stop()
		})
	}
}

// Suspects are prepared one at a time, with nothing else being prepared. A
// suspect that was claimed is none any more.
func TestSuspect_IsPreparedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		preparing, together := 0, 0
		b := start(t, 100, nil, func(d *Dispatcher) {
			prepare := d.Prepare
			d.Prepare = func(item *store.QueueItem, now time.Time) Attempt {
				mu.Lock()
				preparing++
				if item.Number <= 3 && preparing > 1 {
					together++
				}
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				if item.Number <= 3 && preparing > 1 {
					together++
				}
				preparing--
				mu.Unlock()
				return prepare(item, now)
			}
		})
		now := b.queue.Now()
		b.queue.set(func() {
			for i := range int64(3) {
				b.queue.suspects = append(b.queue.suspects, store.Suspect{QueueKey: ref(i+1, 1, 1, now), Crashes: 1})
			}
		})
		if err := b.Suspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range int64(60) {
			b.queue.add(ref(i+1, 1+i%4, 1, now))
		}
		pause.For(t.Context(), 5*time.Second)
		if fired := len(b.firings()); fired != 60 {
			t.Errorf("%d of 60 fired", fired)
		}
		if together != 0 || slices.Max(b.queue.noted) < 2 || len(b.queue.suspects) != 0 {
			t.Errorf("suspects were prepared beside others %d times, noted %v, %d suspects are left", together, b.queue.noted,
				len(b.queue.suspects))
		}
		var alone []int64
		for _, ref := range b.queue.notedAlone {
			alone = append(alone, ref.Number)
		}
		if slices.Sort(alone); !slices.Equal(alone, []int64{1, 2, 3}) {
			t.Errorf("noted as prepared alone are %v, want the suspects only", alone)
		}
	})
}

func TestSuspect_IsSetAsideAfterThreeCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asides
		b := start(t, 100, nil, a.with)
		now := b.queue.Now()
		for i := range int64(3) {
			b.queue.add(ref(i+1, 1, 1, now))
			b.queue.suspects = append(b.queue.suspects, store.Suspect{QueueKey: ref(i+1, 1, 1, now), Crashes: int(i) + 1})
		}
		if err := b.Suspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		pause.For(t.Context(), 2*time.Second)
		if fired := b.firings(); len(fired) != 2 || !slices.Equal(a.numbers, []int64{3}) || !a.stopped[0] {
			t.Errorf("fired %+v, set aside %v; want 1 and 2 fired, and 3 set aside with its schedule", fired, a.numbers)
		}
	})
}

// Large items wait for the budget without delaying an account whose items are
// small.
func TestBudget_BoundsMemoryAndDelaysNoSmallItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most int64
		b := start(t, 1000, func(ctx context.Context, r store.QueueKey) {
			if r.Account == 1 {
				pause.For(ctx, time.Second)
			}
		}, func(d *Dispatcher) {
			shared := &budget{limit: 64 << 20}
			for _, p := range d.pools {
				p.lanes.budget = shared
			}
			prepare := d.Prepare
			d.Prepare = func(item *store.QueueItem, now time.Time) Attempt {
				size := int64(1000)
				if item.Account == 1 {
					size = 4 << 20
				}
				return &sizedAttempt{prepare(item, now).(*fakeAttempt), size}
			}
		})
		now := b.queue.Now()
		for i := range int64(200) {
			b.queue.add(ref(i+1, 1, uint32(i), now))
		}
		for i := range int64(200) {
			r := ref(1000+i, 2, 1, now.Add(time.Second+time.Duration(i)*50*time.Millisecond))
			b.queue.add(r)
		}
		for range 2400 { // an account of large runs has a rate, too
			pause.For(t.Context(), 50*time.Millisecond)
			b.items.mu.Lock()
			bytes := int64(0)
			for _, e := range b.items.known {
				if e.phase >= phaseHeld {
					bytes += e.size
				}
			}
			b.items.mu.Unlock()
			most = max(most, bytes)
		}
		fired := b.firings()
		if len(fired) != 400 {
			t.Errorf("%d of 400 fired", len(fired))
		}
		for _, f := range fired {
			if late := f.at.Sub(f.ref.Due); f.ref.Account == 2 && late > 100*time.Millisecond {
				t.Errorf("small item %d fired %v late", f.ref.Number, late)
			}
		}
		if most > 96<<20 {
			t.Errorf("%d MiB were held at once with a budget of 64 MiB", most>>20)
		}
		t.Logf("at most %d MiB", most>>20)
		d := b.Dispatcher
		b.stop()
		d.collect(now)
		if used := d.pools[0].lanes.budget.used; used != 0 {
			t.Errorf("%d bytes are still charged at the end", used)
		}
	})
}

type sizedAttempt struct {
	*fakeAttempt
	size int64
}

func (a *sizedAttempt) Size() int64 { return a.size }
