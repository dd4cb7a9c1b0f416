package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestTurns_CallsOfAnAccountFollowOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		leave, err := all.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			leave()
		}()
		other, err := all.enter(t.Context(), 2)
		if err != nil || time.Since(began) != 0 {
			t.Errorf("another account waited %s: %v", time.Since(began), err)
		}
		other()
		second, err := all.enter(t.Context(), 1)
		if err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("the second call waited %s: %v", time.Since(began), err)
		}
		if _, err := all.enter(t.Context(), 1); fault.CodeOf(err) != fault.Unavailable || time.Since(began) != 13*time.Second {
			t.Errorf("the third call waited %s: %v", time.Since(began), err)
		}
		second()
		if len(all.accounts) != 0 {
			t.Errorf("%d accounts are kept", len(all.accounts))
		}
	})
}

// A rehearsal whose call has a deadline is not told that the store can't be reached.
func TestRehearsing_ADeadlineOfTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newRehearsing()
		_, leave, err := all.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := all.enter(ctx, 1); fault.CodeOf(err) != fault.TooMany {
			t.Errorf("while another one is under way: %v", err)
		}
		if err := rehearsalError(ctx, ctx, ctx.Err()); fault.CodeOf(err) != fault.TooMany {
			t.Errorf("while it is under way: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := all.enter(gone, 1); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("after its client has gone: %v", err)
		}
	})
}
