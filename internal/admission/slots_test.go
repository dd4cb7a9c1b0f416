package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestSlots_LimitConcurrentListsPerAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		var under, most atomic.Int64
		var readers sync.WaitGroup
		for range 10 {
			readers.Go(func() {
				leave, err := s.enter(t.Context(), 1)
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), under.Add(1)))
				time.Sleep(100 * time.Millisecond)
				under.Add(-1)
				leave()
				leave() // does nothing
			})
		}
		begun := time.Now()
		leave, err := s.enter(t.Context(), 2)
		if err != nil || time.Since(begun) > 0 {
			t.Errorf("another account waited %s, %v", time.Since(begun), err)
		}
		leave()
		readers.Wait()
		if most.Load() != 2 || time.Since(begun) != 500*time.Millisecond {
			t.Errorf("%d at a time, all in %s", most.Load(), time.Since(begun))
		}
		if len(s.accounts) != 0 {
			t.Errorf("%d accounts are remembered", len(s.accounts))
		}
	})
}

func TestSlots_RefuseAfterATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		leave, err := s.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := s.enter(t.Context(), 1); fault.CodeOf(err) != fault.TooMany || time.Since(begun) != slotWait {
			t.Errorf("refused after %s: %v", time.Since(begun), err)
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.enter(gone, 1); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("a client that went away: %v", err)
		}
		var refused atomic.Int64
		var readers sync.WaitGroup
		for range maxQueue + 5 {
			readers.Go(func() {
				begun := time.Now()
				if _, err := s.enter(t.Context(), 1); err != nil && time.Since(begun) == 0 {
					refused.Add(1)
				}
			})
		}
		readers.Wait()
		if refused.Load() != 5 {
			t.Errorf("%d were refused at once", refused.Load())
		}
		leave()
		if len(s.accounts) != 0 {
			t.Errorf("%d accounts are remembered", len(s.accounts))
		}
	})
}

func TestBudget_SharesBytesBetweenAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(100)
		take := func(account int64, size int) *lease {
			t.Helper()
			l, err := b.take(t.Context(), account, size)
			if err != nil {
				t.Fatalf("account %d can't have %d: %v", account, size, err)
			}
			return l
		}
		first := take(1, 50)
		// The account holds as many bytes as remain free.
		begun := time.Now()
		if _, err := b.take(t.Context(), 1, 1); fault.CodeOf(err) != fault.TooMany || time.Since(begun) != byteWait {
			t.Errorf("more than a share after %s: %v", time.Since(begun), err)
		}
		second := take(2, 25)
		third := take(3, 12)
		if _, err := b.take(t.Context(), 4, 14); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("more than is free: %v", err)
		}
		small := take(4, 6)
		var waited *lease
		done := make(chan struct{})
		go func() { defer close(done); waited = take(5, 40) }()
		synctest.Wait()
		first.resize(10)
		<-done
		for _, l := range []*lease{first, second, third, small, waited} {
			l.release()
		}
		if b.used != 0 || len(b.held) != 0 || len(b.waiting) != 0 {
			t.Errorf("left: %+v", b)
		}
	})
}

func TestHold_CountsBytesUntilTheRelease(t *testing.T) {
	b := newBudget(100)
	ctx, release := Hold(t.Context())
	for range 3 {
		l, err := b.take(ctx, 1, 15)
		if err != nil {
			t.Fatal(err)
		}
		keep(ctx, l, 5)
	}
	alone, err := b.take(t.Context(), 1, 15)
	if err != nil {
		t.Fatal(err)
	}
	keep(t.Context(), alone, 15)
	if b.used != 15 {
		t.Errorf("%d are held, want 15", b.used)
	}
	release()
	late, err := b.take(ctx, 1, 15)
	if err != nil {
		t.Fatal(err)
	}
	keep(ctx, late, 15)
	if b.used != 0 {
		t.Errorf("%d are held after the release", b.used)
	}
}
