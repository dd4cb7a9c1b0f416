package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// sink is a queue that grants every claim and keeps nothing.
type sink struct{ Queue }

func (sink) Now() time.Time { return time.Now() }

func (sink) QueuePeek(context.Context, store.QueueKey, time.Time, int) ([]store.QueueKey, error) {
	return nil, nil
}

func (sink) QueueLoad(_ context.Context, refs []store.QueueKey) ([]*store.QueueItem, error) {
	items := make([]*store.QueueItem, len(refs))
	for i, ref := range refs {
		items[i] = &store.QueueItem{QueueKey: ref}
	}
	return items, nil
}

func (sink) QueueClaim(_ context.Context, _ int64, claims []store.Claim) ([]bool, error) {
	got := make([]bool, len(claims))
	for i := range got {
		got[i] = true
	}
	return got, nil
}

func (sink) NodeHeartbeat(context.Context, int64) (store.Heartbeat, error) {
	return store.Heartbeat{Nodes: []int64{1}}, nil
}
func (sink) QueueHeld(_ context.Context, _ int64, claims []store.Claim) ([]store.ClaimStatus, error) {
	return slices.Repeat([]store.ClaimStatus{store.Held}, len(claims)), nil
}
func (sink) NodeHoldsLease(int64) bool                                { return true }
func (sink) NodeStop(context.Context, int64) error                    { return nil }
func (sink) QueueRelease(context.Context, int64, []store.Claim) error { return nil }

// firedAttempt ends at once.
type firedAttempt struct {
	ref  store.QueueKey
	done func()
}

func (a firedAttempt) Claim() store.Claim { return store.Claim{QueueKey: a.ref, StartAt: a.ref.Due} }
func (a firedAttempt) Size() int64        { return 1000 }

func (a firedAttempt) TooLate(time.Time) bool { return false }

func (a firedAttempt) Restart(time.Time) {}

func (a firedAttempt) Fire(_ context.Context, _ int64, _ time.Time, _ func() bool, requestDone func(int64)) {
	requestDone(0)
	a.done()
}

// BenchmarkDispatch measures what the dispatcher does for each item, from the
// notice to the outcome.
func BenchmarkDispatch(b *testing.B) {
	var fired sync.WaitGroup
	d := New(Config{
		Queue: sink{}, Node: 1, Concurrency: 1000, Log: slog.New(slog.DiscardHandler),
		Prepare: func(item *store.QueueItem, _ time.Time) Attempt { return firedAttempt{item.QueueKey, fired.Done} },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { _ = d.Run(ctx, time.Second) })
	const burst = 500
	number := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		refs := make([]store.QueueKey, burst)
		for i := range refs {
			number++
			refs[i] = ref(number, number%10, uint32(number%50), time.Now())
		}
		fired.Add(burst)
		d.Notice(store.Notice{Items: refs})
		fired.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*burst), "ns/item")
	cancel()
	run.Wait()
}
