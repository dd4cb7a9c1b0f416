package release

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// fake has ends of jobs by account.
type fake struct {
	mu    sync.Mutex
	ends  map[int64]int
	steps []int64 // accounts, in order
	fail  func(account int64) error
	swept int
}

func (f *fake) WaitTurn(_ context.Context, after int64) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for account := after + 1; account < 10; account++ {
		if f.ends[account] > 0 {
			return account, nil
		}
	}
	return 0, nil
}

func (f *fake) ReleaseJobs(_ context.Context, account int64, limit int) (int, error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, account)
	if f.fail != nil {
		if err := f.fail(account); err != nil {
			return 0, nil, err
		}
	}
	n := min(limit, f.ends[account])
	f.ends[account] -= n
	return n, nil, nil
}

func (f *fake) SweepWaits(_ context.Context, after store.WaitCursor, _ int) (store.WaitCursor, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.swept++
	if after == (store.WaitCursor{}) {
		return store.WaitCursor{Account: 1}, 0, nil
	}
	return store.WaitCursor{}, 0, nil
}

func (f *fake) add(account int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ends[account]++
}

// run runs a worker for a time.
func run(t *testing.T, f *fake, d time.Duration, meanwhile func(w *Worker)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := New(slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx, f)
		}()
		synctest.Wait()
		if meanwhile != nil {
			meanwhile(w)
		}
		time.Sleep(d)
		cancel()
		<-done
	})
}

func TestWorker_TakesAccountsInTurn(t *testing.T) {
	f := &fake{ends: map[int64]int{2: 250, 5: 10, 7: 120}}
	run(t, f, time.Millisecond, nil)
	if got, want := fmt.Sprint(f.steps), "[2 5 7 2 7 2]"; got != want {
		t.Errorf("steps of accounts %s, want %s", got, want)
	}
}

func TestWorker_LooksWhenWokenAndOnItsOwn(t *testing.T) {
	f := &fake{ends: map[int64]int{}}
	run(t, f, every/2, func(w *Worker) {
		f.add(3)
		w.Wake()
		synctest.Wait()
		if len(f.steps) != 1 {
			t.Errorf("woken, it made the steps %v", f.steps)
		}
		f.add(4) // without a notice
		time.Sleep(every)
		synctest.Wait()
		if len(f.steps) != 2 {
			t.Errorf("without a notice, it made the steps %v", f.steps)
		}
	})
	if f.swept != 2 {
		t.Errorf("the sweep read %d pages at the start, want 2", f.swept)
	}
}

func TestWorker_FailuresStopNeitherItNorOtherAccounts(t *testing.T) {
	f := &fake{ends: map[int64]int{1: 1, 2: 1, 3: 1}}
	f.fail = func(account int64) error {
		switch account {
		case 1:
			panic("a defect")
		case 2:
			return errors.New("an outage")
		}
		return nil
	}
	run(t, f, 3*every, nil)
	if f.ends[3] != 0 {
		t.Error("the account behind those that fail was not served")
	}
	if n := len(f.steps); n < 5 || n > 20 {
		t.Errorf("%d steps in three seconds: %v", n, f.steps)
	}
}
