package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestProbe_SharesOneCheckAmongCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Probe
		broken := errors.New("broken")
		checks := 0
		check := func(context.Context) error {
			checks++
			time.Sleep(300 * time.Millisecond)
			if checks == 1 {
				return broken
			}
			return nil
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := p.Do(t.Context(), check); !errors.Is(err, broken) {
					t.Errorf("%v, want the error of the one check", err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if err := p.Do(gone, check); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v", err)
		}
		wg.Wait()
		time.Sleep(999 * time.Millisecond)
		if err := p.Do(t.Context(), check); !errors.Is(err, broken) || checks != 1 {
			t.Errorf("within a second: %v after %d checks", err, checks)
		}
		time.Sleep(time.Millisecond)
		if err := p.Do(t.Context(), check); err != nil || checks != 2 {
			t.Errorf("after a second: %v after %d checks", err, checks)
		}
	})
}
