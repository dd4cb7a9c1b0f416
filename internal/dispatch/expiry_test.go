package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestLimits_HeldItemIsFiredAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var due time.Time
		b := start(t, 100, nil, func(d *Dispatcher) {
			d.Deadline = func(item *store.QueueItem) time.Time {
				if item.Number == 2 {
					panic("a job that can't be read")
				}
				return due.Add(5 * time.Second)
			}
		})
		due = b.queue.Now().Add(time.Second)
		b.queue.limit("a", limit.Limit{Paused: true})
		b.queue.addLimited([]string{"a"}, ref(1, 1, 1, due), ref(2, 1, 1, due))
		pause.For(t.Context(), 5900*time.Millisecond)
		if fired := b.firings(); len(fired) != 0 {
			t.Fatalf("%v fired before the deadline", fired)
		}
		pause.For(t.Context(), 1200*time.Millisecond)
		fired := b.firings()
		if len(fired) != 1 || fired[0].ref.Number != 1 {
			t.Fatalf("fired after the deadline: %v, want item 1", fired)
		}
	})
}
