package cli

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

func TestGCPercent_FallsAsTheHeapGrows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 200}, {10 << 20, 200}, {64 << 20, 200}, {128 << 20, 100}, {160 << 20, 80}, {256 << 20, 50}, {4 << 30, 50}, {1 << 63, 50}} {
		if got := gcPercentFor(c.live); got != c.want {
			t.Errorf("with %d bytes alive the heap may grow by %d %%, not %d", c.live, got, c.want)
		}
	}
}

func TestHeapPacer_SetsOnlyWhatChanges(t *testing.T) {
	t.Parallel()
	var live uint64
	var set []int
	p := &heapPacer{live: func() uint64 { return live }, set: func(percent int) int { set = append(set, percent); return 0 }}
	for _, live = range []uint64{1 << 20, 2 << 20, 128 << 20, 1 << 30, 2 << 30, 1 << 20} {
		p.adjust()
	}
	if want := []int{200, 100, 50, 200}; !slices.Equal(set, want) {
		t.Errorf("it sets %v, not %v", set, want)
	}
}

func TestHeapPacer_RunsAfterEachCollection(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	p := &heapPacer{live: func() uint64 {
		select {
		case asked <- struct{}{}:
		default:
		}
		return 0
	}, set: func(int) int { return 0 }}
	p.watch()
	for i := range 2 {
		runtime.GC()
		select {
		case <-asked:
		case <-time.After(pace.Guard(time.Minute)):
			t.Fatalf("after collection %d it did not run", i+1)
		}
	}
	if liveHeap() == 0 {
		t.Error("after a collection nothing lives")
	}
}
