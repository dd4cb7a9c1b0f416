package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// blocking names blocked accounts to a dispatcher.
type blocking struct{ queue *fakeQueue }

func (b blocking) AccountsBlocked(context.Context) ([]int64, error) {
	b.queue.mu.Lock()
	defer b.queue.mu.Unlock()
	return b.queue.blocked, nil
}

func withBlocking(d *Dispatcher) { d.Blocked = blocking{d.Queue.(*fakeQueue)} }

func TestBlocked_InterruptsAttemptsAndFreesSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, func(ctx context.Context, r store.QueueKey) {
			if r.Account == 1 {
				hang(ctx, r)
			}
		}, withBlocking)
		now := b.queue.Now()
		for i := range int64(30) {
			b.queue.add(ref(i+1, 1, uint32(i), now))
		}
		b.queue.add(ref(100, 2, 1, now.Add(3*time.Second)))
		pause.For(t.Context(), time.Second)
		if held := b.InUse(store.KindJob); held != 8 {
			t.Fatalf("%d slots are held, want 8", held)
		}
		b.queue.set(func() { b.queue.blocked = []int64{1} })
		pause.For(t.Context(), time.Second)
		if held, waiting := b.InUse(store.KindJob), b.Waiting(store.KindJob); held != 0 || waiting != 0 {
			t.Errorf("a second after the account was blocked %d slots are held, %d items wait", held, waiting)
		}
		before := b.firings()
		for _, f := range before {
			if !errors.Is(f.cause, execute.ErrInterrupted) {
				t.Errorf("item %d ended with %v", f.ref.Number, f.cause)
			}
		}
		pause.For(t.Context(), time.Minute)
		if fired := b.firings(); len(fired) != len(before)+1 {
			t.Errorf("%d items were fired while the account was blocked, want one of the other account", len(fired)-len(before))
		}
		b.queue.set(func() { b.queue.blocked = nil })
		pause.For(t.Context(), 5*time.Second)
		if fired := b.firings(); len(fired) != len(before)+1+8 {
			t.Errorf("%d more items were fired after the account was no longer blocked, want 8", len(fired)-len(before)-1)
		}
	})
}

func TestBlocked_ReleasesHeldClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		b.queue.add(ref(1, 1, 1, b.queue.Now().Add(90*time.Millisecond)))
		pause.For(t.Context(), 20*time.Millisecond)
		b.SetBlocked([]int64{1})
		if len(b.queue.released) != 1 {
			t.Errorf("%d claims were released, want 1", len(b.queue.released))
		}
		pause.For(t.Context(), time.Second)
		if fired := b.firings(); len(fired) != 0 || b.InUse(store.KindJob) != 0 {
			t.Errorf("fired %+v, %d slots are held", fired, b.InUse(store.KindJob))
		}
	})
}

// Many due items of a blocked account are read once, not over and over.
func TestBlocked_ParksDueItemsAndUnparksThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil, withBlocking)
		b.queue.set(func() { b.queue.blocked = []int64{1} })
		now := b.queue.Now()
		for i := range int64(10 * peekLimit) {
			b.queue.add(ref(i+1, 1, 1, now))
		}
		pause.For(t.Context(), 30*time.Second)
		due := 0
		b.queue.set(func() {
			for _, item := range b.queue.items {
				if item.Due.Before(b.queue.parkedFrom(now)) {
					due++
				}
			}
		})
		if due != 0 {
			t.Errorf("%d items of the blocked account are not parked", due)
		}
		b.queue.set(func() { b.queue.peeks = 0 })
		pause.For(t.Context(), 10*time.Second)
		var peeks int
		b.queue.set(func() { peeks = b.queue.peeks })
		if peeks > 15 {
			t.Errorf("the queue was read %d times in 10 s, want about once a second", peeks)
		}
		b.queue.set(func() { b.queue.blocked = nil })
		pause.For(t.Context(), 10*time.Second)
		if fired := b.firings(); len(fired) != 10*peekLimit {
			t.Errorf("%d of %d items were fired when the account was no longer blocked", len(fired), 10*peekLimit)
		}
	})
}

func (q *fakeQueue) parkedFrom(now time.Time) time.Time { return now.Add(parkedFrom) }
