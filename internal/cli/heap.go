package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent lets the heap grow to three times what lives on it: a few dozen
	// megabytes more for a fifteenth of the CPU. GOGC in the environment wins.
	gcPercent = 200
	// gcGrowth is how many bytes the heap may grow by before the garbage
	// collector runs, but always by half: a large heap at gcPercent would take
	// hundreds of megabytes for garbage.
	gcGrowth     = 128 << 20
	gcPercentMin = 50
)

// gcPercentFor returns by how many percent a heap may grow on which so many
// bytes live.
func gcPercentFor(live uint64) int {
	percent := gcGrowth * 100 / max(live, 1)
	return int(min(max(percent, gcPercentMin), gcPercent))
}

// heapPacer sets how much the heap may grow, after each run of the garbage
// collector.
type heapPacer struct {
	percent int
	live    func() uint64
	set     func(percent int) int
}

// paceHeap keeps garbage in bounds from now on.
func paceHeap() {
	p := &heapPacer{live: liveHeap, set: debug.SetGCPercent}
	p.adjust()
	p.watch()
}

func (p *heapPacer) adjust() {
	if percent := gcPercentFor(p.live()); percent != p.percent {
		p.percent = percent
		p.set(percent)
	}
}

// collected is what is unreachable as soon as it is made. It has a pointer, so
// that it is not allocated together with others that live on.
type collected struct{ _ *byte }

// watch adjusts after the next run of the garbage collector, and so on. The
// runtime's own goroutine for finalizers does it.
func (p *heapPacer) watch() {
	runtime.SetFinalizer(&collected{}, func(*collected) {
		p.adjust()
		p.watch()
	})
}

// liveHeap returns how many bytes lived when the garbage collector last ran.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return math.MaxUint64 // unknown: rather too often
	}
	return sample[0].Value.Uint64()
}
