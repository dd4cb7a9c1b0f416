package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// A backlog of due items that exceeds the memory for waiting items must not
// delay other accounts' items behind it in the queue.
func TestBacklog_DelaysNoOtherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const backlog, others = 3000, 30
		room := func(d *Dispatcher) { d.maxWaiting = 300 }
		b := start(t, 20, func(ctx context.Context, _ store.QueueKey) { pause.For(ctx, 100*time.Millisecond) }, room)
		now := b.queue.Now()
		due := now.Add(time.Second)
		for number := range int64(backlog) {
			b.queue.add(ref(number+1, 1, 1, due))
		}
		for i := range int64(others) {
			b.queue.add(ref(backlog+i+1, 2, 1, due.Add(time.Duration(i)*100*time.Millisecond)))
		}
		pause.For(t.Context(), time.Minute)
		fired := b.firings()
		if len(fired) != backlog+others {
			t.Fatalf("%d of %d fired", len(fired), backlog+others)
		}
		for _, f := range fired {
			if late := f.at.Sub(f.ref.Due); f.ref.Account == 2 && late > 200*time.Millisecond {
				t.Errorf("item %d of the other account fired %v late", f.ref.Number, late)
			}
		}
		// 15 of 20 at once, each 100 ms: the backlog isn't held up either.
		last := fired[len(fired)-1].at.Sub(due)
		if most := 1.2 * backlog / 15 / 10; last.Seconds() > most {
			t.Errorf("all were fired after %v, want at most %.1f s", last, most)
		}
	})
}

// The backlog of a receiver that hangs must not keep the same account's other
// items in the store.
func TestBacklog_OfAHangingReceiverDelaysNoOtherReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := func(d *Dispatcher) { d.maxWaiting = 100 }
		b := start(t, 20, func(ctx context.Context, r store.QueueKey) {
			if r.Lane == 1 {
				hang(ctx, r)
			}
		}, room)
		t.Cleanup(b.stop)
		due := b.queue.Now()
		for number := range int64(1000) {
			b.queue.add(ref(number+1, 1, 1, due))
		}
		for i := range int64(200) {
			b.queue.add(ref(2000+i, 1, 2, due.Add(time.Duration(i)*20*time.Millisecond)))
		}
		pause.For(t.Context(), 10*time.Second)
		fired := 0
		for _, f := range b.firings() {
			if f.ref.Lane != 2 {
				continue
			}
			fired++
			if late := f.at.Sub(f.ref.Due); late > 200*time.Millisecond {
				t.Errorf("item %d fired %v late", f.ref.Number, late)
			}
		}
		if fired != 200 {
			t.Errorf("%d of 200 items for the receiver that responds were fired", fired)
		}
	})
}

// A scan from the queue's beginning must not restart before it has passed a
// backlog that takes long to read.
func TestScan_PassesABacklogThatTakesLongToRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d *Dispatcher) {
			d.maxWaiting = 3 * peekLimit
			d.Queue.(*fakeQueue).reading = time.Second
		}
		b := start(t, 20, func(ctx context.Context, r store.QueueKey) {
			if r.Account == 1 {
				hang(ctx, r)
			}
		}, slow)
		due := b.queue.Now()
		for number := range int64(15 * peekLimit) { // longer than the pause between two such reads
			b.queue.add(ref(number+1, 1, 1, due))
		}
		other := ref(100_000, 2, 1, due.Add(time.Microsecond))
		b.queue.add(other)
		pause.For(t.Context(), 40*time.Second)
		for _, f := range b.firings() {
			if f.ref.Account == 2 {
				return
			}
		}
		t.Error("the other account's item was not fired within 40 s, though it takes 16 s to come to it")
	})
}
