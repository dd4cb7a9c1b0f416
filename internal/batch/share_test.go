package batch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// parcel is an item of an account.
type parcel struct {
	account int64
	name    string
	size    int
}

// post is an operation that records its batches and fails if it contains a
// parcel called bad.
type post struct {
	gate    chan struct{}
	mu      sync.Mutex
	batches []string
	slow    time.Duration
}

var errBad = errors.New("a bad parcel")

func (p *post) do(ctx context.Context, in []parcel) ([]string, error) {
	<-p.gate
	time.Sleep(p.slow)
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, one := range in {
		names = append(names, one.name)
	}
	p.batches = append(p.batches, strings.Join(names, " "))
	if slices.Contains(names, "bad") {
		return nil, errBad
	}
	if slices.Contains(names, "panic") {
		panic("faulty parcel")
	}
	return names, nil
}

func (p *post) batcher(change func(*Config[parcel, string])) *Batcher[parcel, string] {
	config := Config[parcel, string]{
		Max: 100, Waiting: 1000, Do: p.do, Size: func(p parcel) int { return p.size }, MaxBytes: 1 << 20,
		Account: func(p parcel) int64 { return p.account }, Divides: func(err error) bool { return errors.Is(err, errBad) },
	}
	if change != nil {
		change(&config)
	}
	return New(config)
}

// first hands in a parcel whose operation waits at the gate, so that later
// parcels wait.
func (p *post) first(t *testing.T, b *Batcher[parcel, string], wg *sync.WaitGroup) {
	wg.Go(func() { _, _ = b.Do(t.Context(), parcel{name: "first"}) })
	synctest.Wait()
}

func TestTurns_LargeItemsDoNotDelayAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{gate: make(chan struct{})}
		b := p.batcher(nil)
		var wg sync.WaitGroup
		p.first(t, b, &wg)
		for range 30 {
			wg.Go(func() { _, _ = b.Do(t.Context(), parcel{1, "large", 400 << 10}) })
		}
		synctest.Wait()
		for range 10 {
			wg.Go(func() { _, _ = b.Do(t.Context(), parcel{2, "small", 500}) })
		}
		synctest.Wait()
		close(p.gate)
		wg.Wait()
		b.Close()
		if got := strings.Count(p.batches[1], "small"); got != 10 {
			t.Errorf("%d of 10 small items were in the next operation: %q", got, p.batches[1])
		}
		for _, batch := range p.batches {
			if strings.Count(batch, "large") > 2 {
				t.Errorf("an operation of over 1 MiB: %q", batch)
			}
		}
	})
}

func TestMaxBytes_ALargerItemIsProcessedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{gate: make(chan struct{})}
		b := p.batcher(nil)
		var wg sync.WaitGroup
		p.first(t, b, &wg)
		for range 3 {
			wg.Go(func() { _, _ = b.Do(t.Context(), parcel{1, "huge", 3 << 20}) })
		}
		synctest.Wait()
		close(p.gate)
		wg.Wait()
		b.Close()
		if want := []string{"first", "huge", "huge", "huge"}; !slices.Equal(p.batches, want) {
			t.Errorf("operations %q, want %q", p.batches, want)
		}
	})
}

func TestDivides_AFaultyItemFailsAlone(t *testing.T) {
	for faulty, want := range map[string]string{"bad": errBad.Error(), "panic": "panic: faulty parcel"} {
		synctest.Test(t, func(t *testing.T) {
			p := &post{gate: make(chan struct{})}
			b := p.batcher(nil)
			var wg sync.WaitGroup
			p.first(t, b, &wg)
			for i := range 20 {
				name := fmt.Sprintf("good%d", i)
				if i == 13 {
					name = faulty
				}
				wg.Go(func() {
					got, err := b.Do(t.Context(), parcel{int64(i % 3), name, 10})
					switch {
					case name == faulty && (err == nil || !strings.HasPrefix(err.Error(), want)):
						t.Errorf("%s: %v", name, err)
					case name != faulty && (err != nil || got != name):
						t.Errorf("%s: %q, %v", name, got, err)
					}
				})
			}
			synctest.Wait()
			close(p.gate)
			wg.Wait()
			b.Close()
			if !slices.Contains(p.batches, faulty) || len(p.batches) > 12 {
				t.Errorf("%d operations: %q", len(p.batches), p.batches)
			}
		})
	}
}

func TestDo_BoundsWaitingBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{gate: make(chan struct{})}
		b := p.batcher(func(c *Config[parcel, string]) { c.WaitingBytes, c.ShareBytes, c.Share = 1000, 600, 3 })
		var wg sync.WaitGroup
		p.first(t, b, &wg)
		hand := func(one parcel) {
			wg.Go(func() { _, _ = b.Do(t.Context(), one) })
			synctest.Wait()
		}
		refused := func(one parcel) {
			t.Helper()
			if _, err := b.Do(t.Context(), one); !errors.Is(err, ErrFull) {
				t.Errorf("%+v: %v, want ErrFull", one, err)
			}
		}
		hand(parcel{1, "a", 500})
		refused(parcel{1, "over its share", 200})
		hand(parcel{2, "b", 450})
		refused(parcel{3, "over all", 100})
		hand(parcel{3, "c", 1})
		hand(parcel{3, "c", 1})
		hand(parcel{3, "c", 1})
		refused(parcel{3, "too many", 1})
		placed := 0
		wg.Go(func() { _, _ = b.DoWhenRoom(t.Context(), parcel{4, "d", 300}, func() { placed++ }) })
		synctest.Wait()
		if placed != 0 || b.Bytes() != 953 || b.Len() != 5 {
			t.Errorf("placed %d; %d items of %d bytes wait", placed, b.Len(), b.Bytes())
		}
		close(p.gate)
		wg.Wait()
		b.Close()
		if placed != 1 {
			t.Errorf("the item that waited for room was placed %d times", placed)
		}
	})
}

func TestPace_SlowOperationsShrinkAndGrowAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &post{gate: make(chan struct{}), slow: 2 * time.Second}
		close(p.gate)
		b := p.batcher(nil)
		defer b.Close()
		var sizes []int
		for range 8 {
			_, _ = b.Do(t.Context(), parcel{1, "x", 10})
			synctest.Wait()
			sizes = append(sizes, b.limit>>10)
		}
		p.slow = 0
		for range 5 {
			_, _ = b.Do(t.Context(), parcel{1, "x", 10})
			synctest.Wait()
			sizes = append(sizes, b.limit>>10)
		}
		if want := []int{512, 256, 128, 64, 64, 64, 64, 64, 128, 256, 512, 1024, 1024}; !reflect.DeepEqual(sizes, want) {
			t.Errorf("limits in KiB %v, want %v", sizes, want)
		}
	})
}
