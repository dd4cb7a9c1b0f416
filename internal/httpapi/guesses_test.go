package httpapi

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/punctual-dev/punctual/internal/fault"
)

func TestGuesses_CallsWithOneKeyTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guesses
		leave, err := g.enter(t.Context(), "Bearer a")
		if err != nil {
			t.Fatal(err)
		}
		known, lookedUp := false, 0
		for range 50 {
			go func() {
				leave, err := g.enter(t.Context(), "Bearer a")
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				if !known {
					lookedUp++
				}
			}()
		}
		synctest.Wait()
		if lookedUp != 0 {
			t.Errorf("%d calls looked the key up while another one did", lookedUp)
		}
		other, err := g.enter(t.Context(), "Bearer b")
		if err != nil {
			t.Fatalf("a call with another key: %v", err)
		}
		other()
		known = true
		leave()
		synctest.Wait()
		if lookedUp != 0 || len(g.keys) != 0 {
			t.Errorf("%d further look-ups, %d keys are left; expected none", lookedUp, len(g.keys))
		}
	})
}

func TestGuesses_AClientThatLeavesGivesItsTurnUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g guesses
		leave, err := g.enter(t.Context(), "Bearer a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(ctx, "Bearer a"); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("enter returned %v after the client had left; expected an Unavailable fault", err)
		}
		leave()
		if len(g.keys) != 0 {
			t.Errorf("%d keys are left", len(g.keys))
		}
	})
}
