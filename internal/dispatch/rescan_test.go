package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// Notices of other nodes make this one read the queue where their items are due, not
// from its beginning, where dead rows may lie. It loses none of them.
func TestRescan_AfterNoticesBeginsWhereItemsAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 100, nil)
		b.queue.with(func() { b.queue.nodes = []int64{1, 2} })
		pause.For(t.Context(), 3*time.Second) // a heartbeat
		before, scans := 0, 0
		b.queue.with(func() { before = b.queue.scans })
		const n = 200 // half of them are assigned to the other node, which claims nothing
		for i := range int64(n) {
			due := b.queue.Now().Add(time.Duration(i%3) * 40 * time.Millisecond)
			b.queue.add(ref(i+1, 1+i%3, uint32(i%2), due))
			b.Notice(store.Notice{EarliestElsewhere: due})
			pause.For(t.Context(), 10*time.Millisecond)
		}
		b.queue.with(func() { scans = b.queue.scans - before })
		pause.For(t.Context(), 200*time.Millisecond)
		fired := b.firings()
		if len(fired) != n {
			t.Errorf("%d of %d fired", len(fired), n)
		}
		for _, f := range fired {
			if late := f.at.Sub(f.ref.Due); late > claimHeadStart+headStartStep+20*time.Millisecond {
				t.Errorf("item %d was %v late", f.ref.Number, late)
			}
		}
		// The first notice finds the queue empty, so the cursor is still at the beginning.
		if most := 2 + int(n*10*time.Millisecond/recheck); scans > most {
			t.Errorf("%d scans from the beginning in %v, want at most %d", scans, n*10*time.Millisecond, most)
		}
	})
}
