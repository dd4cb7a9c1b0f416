package dispatch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// reads returns how often items were loaded.
func (q *fakeQueue) reads() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.loads
}

// A transaction that has an item locked lets its claim pass over it.
func TestContended_ItemsFireSoonAfterTheyAreUnlocked(t *testing.T) {
	for _, locked := range []time.Duration{2 * time.Millisecond, 30 * time.Millisecond, 333 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 10, nil)
			pause.For(t.Context(), 10*time.Millisecond)
			now := b.queue.Now()
			b.queue.with(func() { b.queue.locked = map[int64]time.Time{1: now.Add(locked)} })
			b.queue.add(ref(1, 1, 1, now), ref(2, 2, 2, now))
			b.Notice(store.Notice{Items: []store.QueueKey{ref(1, 1, 1, now), ref(2, 2, 2, now)}})
			pause.For(t.Context(), locked+contendedPause+contendedAgain)
			synctest.Wait()
			fired := b.firings()
			if len(fired) != 2 || fired[0].ref.Number != 2 || !fired[0].at.Equal(now) {
				t.Fatalf("locked for %v: fired %+v, want 2 at once, then 1", locked, fired)
			}
			if loads := b.queue.reads(); loads > 2+2*int(locked/contendedAgain+1) {
				t.Errorf("locked for %v: %d loads", locked, loads)
			}
			pause.For(t.Context(), time.Second)
			if used := b.InUse(store.KindJob); used != 0 {
				t.Errorf("%d slots are still held", used)
			}
		})
	}
}

// What another node has claimed is looked at once more, and then left to it.
func TestContended_ItemsOfOthersAreLeftToThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 10, nil)
		due := b.queue.Now().Add(20 * time.Millisecond)
		b.queue.with(func() { b.queue.claiming = 5 * time.Millisecond })
		b.queue.add(ref(1, 1, 1, due))
		pause.For(t.Context(), 2*time.Millisecond)
		b.queue.mu.Lock()
		b.queue.items[store.ItemID{Number: 1}].Claim = &store.ClaimInfo{Node: 2, Attempt: 1, StartAt: due}
		b.queue.mu.Unlock()
		pause.For(t.Context(), 5*time.Second)
		if fired := b.firings(); len(fired) != 0 || b.queue.reads() > 2 || b.InUse(store.KindJob) != 0 {
			t.Errorf("fired %+v, %d loads, %d slots are held", fired, b.queue.reads(), b.InUse(store.KindJob))
		}
	})
}

// A claim without an answer may have been committed. Unless it is released, nobody
// fires the item.
func TestClaim_WithoutAnAnswerIsReleased(t *testing.T) {
	for name, lost := range map[string]error{"the store is away": nil, "it refuses the claims": errors.New("refused")} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 10, nil)
			due := b.queue.Now().Add(20 * time.Millisecond)
			b.queue.with(func() { b.queue.claimLost, b.queue.lostWith = 1, lost })
			b.queue.add(ref(1, 1, 1, due), ref(2, 1, 1, due))
			pause.For(t.Context(), 5*time.Second)
			if fired := b.firings(); len(fired) != 2 {
				t.Errorf("%s: fired %+v, want both", name, fired)
			}
			b.queue.with(func() {
				if len(b.queue.released) != 2 {
					t.Errorf("%s: %d claims were released, want 2", name, len(b.queue.released))
				}
			})
		})
	}
}
