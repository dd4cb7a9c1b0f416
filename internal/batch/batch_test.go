package batch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// gated is an operation that waits for its gate to open and doubles its items.
type gated struct {
	gate  chan struct{}
	mu    sync.Mutex
	sizes []int
	err   error
}

func (g *gated) do(_ context.Context, in []int) ([]int, error) {
	<-g.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sizes = append(g.sizes, len(in))
	out := make([]int, len(in))
	for i, n := range in {
		out[i] = 2 * n
	}
	return out, g.err
}

func TestDo_ItemsArrivingDuringAnOperationFormTheNextBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{})}
		b := New(Config[int, int]{Max: 100, Waiting: 100, Do: g.do})
		var wg sync.WaitGroup
		for i := range 41 {
			wg.Go(func() {
				if got, err := b.Do(t.Context(), i); err != nil || got != 2*i {
					t.Errorf("Do(%d) = %d, %v", i, got, err)
				}
			})
			if i == 0 {
				synctest.Wait() // the first one's operation is under way
			}
		}
		synctest.Wait()
		close(g.gate)
		wg.Wait()
		b.Close()
		if len(g.sizes) != 2 || g.sizes[0] != 1 || g.sizes[1] != 40 {
			t.Errorf("batches of %v, want 1 and 40", g.sizes)
		}
	})
}

func TestDo_ReturnsErrFullAndDoWhenRoomWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{})}
		b := New(Config[int, int]{Max: 1, Waiting: 2, Do: g.do})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() { _, _ = b.Do(t.Context(), i) })
			synctest.Wait()
		}
		if _, err := b.Do(t.Context(), 9); !errors.Is(err, ErrFull) {
			t.Errorf("Do on a full batcher: %v, want ErrFull", err)
		}
		wg.Go(func() {
			if got, err := b.DoWhenRoom(t.Context(), 9, nil); err != nil || got != 18 {
				t.Errorf("DoWhenRoom = %d, %v", got, err)
			}
		})
		synctest.Wait()
		close(g.gate)
		wg.Wait()
		b.Close()
	})
}

func TestDoWhenRoom_EndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{})}
		b := New(Config[int, int]{Max: 1, Waiting: 1, Do: g.do})
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() { _, _ = b.Do(t.Context(), i) })
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 2 { // while it waits, and before it does
			wg.Go(func() {
				if _, err := b.DoWhenRoom(ctx, 9, func() { t.Error("the item has a place") }); !errors.Is(err, context.Canceled) {
					t.Errorf("DoWhenRoom = %v", err)
				}
			})
			synctest.Wait()
			cancel()
			synctest.Wait()
		}
		close(g.gate)
		wg.Wait()
		b.Close()
		if len(g.sizes) != 2 {
			t.Errorf("%d items were processed, want 2", len(g.sizes))
		}
	})
}

func TestDo_ReturnsTheOperationsError(t *testing.T) {
	g := &gated{gate: make(chan struct{}), err: errors.New("broken")}
	close(g.gate)
	b := New(Config[int, int]{Max: 10, Waiting: 10, Do: g.do})
	defer b.Close()
	if _, err := b.Do(t.Context(), 1); !errors.Is(err, g.err) {
		t.Errorf("got %v, want %v", err, g.err)
	}
}

func TestClose_ProcessesWaitingItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{})}
		b := New(Config[int, int]{Max: 1, Waiting: 10, Do: g.do})
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if _, err := b.Do(t.Context(), i); err != nil {
					t.Errorf("Do: %v", err)
				}
			})
		}
		synctest.Wait()
		wg.Go(b.Close)
		synctest.Wait()
		if _, err := b.Do(t.Context(), 9); !errors.Is(err, ErrClosed) {
			t.Errorf("Do after Close: %v, want ErrClosed", err)
		}
		close(g.gate)
		wg.Wait()
		if len(g.sizes) != 5 {
			t.Errorf("%d operations, want 5", len(g.sizes))
		}
	})
}

func TestDo_ProcessesItemsOfCallersThatLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{})}
		b := New(Config[int, int]{Max: 1, Waiting: 10, Do: g.do})
		ctx, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Do(ctx, 1); !errors.Is(err, context.Canceled) {
				t.Errorf("Do: %v, want Canceled", err)
			}
		})
		synctest.Wait()
		leave()
		wg.Wait()
		close(g.gate)
		b.Close()
		if len(g.sizes) != 1 {
			t.Errorf("%d operations, want the one that was accepted", len(g.sizes))
		}
	})
}

func BenchmarkDo(b *testing.B) {
	batcher := New(Config[int, int]{Max: 1024, Waiting: 1 << 16, Do: func(_ context.Context, in []int) ([]int, error) { return in, nil }})
	defer batcher.Close()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := batcher.Do(context.Background(), 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
