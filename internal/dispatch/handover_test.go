package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// What has been claimed must be fired when its time has come, while the rest of
// its batch is still being stored.
func TestARunDoesNotWaitForTheRestOfItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writing = 500 * time.Millisecond // for loadLimit runs
		slow := func(d *Dispatcher) { d.Queue.(*fakeQueue).claiming = writing }
		b := start(t, 1000, func(context.Context, store.QueueKey) {}, slow)
		due := b.queue.Now().Add(time.Second)
		for number := range int64(claimLimit) {
			b.queue.add(ref(1+number, 1, 1, due))
		}
		pause.For(t.Context(), 10*time.Second)
		fired := b.firings()
		if len(fired) != claimLimit {
			t.Fatalf("%d of %d fired", len(fired), claimLimit)
		}
		if first := fired[0].at.Sub(due); first >= writing {
			t.Errorf("the first run was fired %v late; its claim took %v and began before it was due", first, writing)
		}
		if last := fired[claimLimit-1].at.Sub(due); last < writing {
			t.Errorf("the batch was stored %v after it was due; that is one write, so nothing was to be waited for", last)
		}
	})
}
