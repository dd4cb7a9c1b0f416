package dispatch

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestPrewarm_ReportsEachReceiverOnceAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type prewarmed struct {
			ahead time.Duration
			n     int
		}
		var mu sync.Mutex
		heard := map[uint32][]prewarmed{}
		b := start(t, 40, nil, func(d *Dispatcher) {
			d.Prewarm = func(item *store.QueueItem, n int) {
				mu.Lock()
				defer mu.Unlock()
				heard[item.Lane] = append(heard[item.Lane], prewarmed{item.Due.Sub(d.Queue.Now()), n})
			}
		})
		now := b.queue.Now()
		for i := range int64(100) {
			b.queue.add(ref(i+1, 1, 1, now.Add(5*time.Second)),
				ref(i+101, 1, 2, now.Add(5*time.Second+time.Duration(i)*20*time.Millisecond)))
		}
		b.queue.add(ref(1000, 1, 3, now.Add(10*time.Second)))
		pause.For(t.Context(), 15*time.Second)
		if fired := b.firings(); len(fired) != 201 {
			t.Errorf("%d of 201 items were fired", len(fired))
		}
		mu.Lock()
		defer mu.Unlock()
		for lane, want := range map[uint32]int{1: 40, 3: 1} {
			if got := heard[lane]; len(got) != 1 || got[0].n != want || got[0].ahead < prewarmAhead-prewarmPause ||
				got[0].ahead > prewarmAhead {
				t.Errorf("receiver %d was prewarmed %+v, want once, for %d at once, about a second ahead", lane, got, want)
			}
		}
		for _, got := range heard[2] {
			if got.n > 1 {
				t.Errorf("of items that are 20 ms apart, %d counted as concurrent", got.n)
			}
		}
		if len(heard[2]) == 0 {
			t.Error("receiver 2 was not prewarmed")
		}
	})
}

// An idle node reads the queue about twice a second, for the scan and for prewarm, and
// opens connections for what is stored meanwhile as early as else.
func TestPrewarm_OfAnIdleNodeReadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead time.Duration
		var mu sync.Mutex
		b := start(t, 40, nil, func(d *Dispatcher) {
			d.Prewarm = func(item *store.QueueItem, _ int) {
				mu.Lock()
				defer mu.Unlock()
				ahead = item.Due.Sub(d.Queue.Now())
			}
		})
		pause.For(t.Context(), 10*time.Second)
		before := 0
		b.queue.with(func() { before = b.queue.peeks })
		const idle = 30 * time.Second
		pause.For(t.Context(), idle)
		b.queue.with(func() {
			if got, most := b.queue.peeks-before, 2*int(idle/recheck)+2; got > most {
				t.Errorf("the queue was read %d times in %v, want at most %d", got, idle, most)
			}
		})
		pause.For(t.Context(), prewarmPause/2) // between two looks
		stored := ref(1, 1, 1, b.queue.Now().Add(prewarmAhead))
		b.queue.add(stored)
		b.Notice(store.Notice{Items: []store.QueueKey{stored}})
		pause.For(t.Context(), 2*prewarmAhead)
		mu.Lock()
		defer mu.Unlock()
		if ahead < prewarmAhead-2*prewarmPause {
			t.Errorf("the receiver was prewarmed %v ahead", ahead)
		}
	})
}
