package httpapi

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/punctual-dev/punctual/internal/fault"
)

// guesses makes calls with the same unknown key take turns. The first call looks
// the key up; if it is valid, the others find it known and don't count as
// guesses. Otherwise a client that sends many calls at once after a start of the
// service would exceed the rate for calls without a valid key.
type guesses struct {
	mu   sync.Mutex
	keys map[[sha256.Size]byte]*guess
}

type guess struct {
	turn  chan struct{} // holds one token while nobody looks the key up
	calls int           // calls that look it up or wait, guarded by guesses.mu
}

// enter waits for the turn of a call and returns a function that ends it. It
// returns an Unavailable fault if the context ends first.
func (g *guesses) enter(ctx context.Context, header string) (leave func(), err error) {
	key := sha256.Sum256([]byte(header))
	g.mu.Lock()
	one := g.keys[key]
	if one == nil {
		if g.keys == nil {
			g.keys = map[[sha256.Size]byte]*guess{}
		}
		one = &guess{turn: make(chan struct{}, 1)}
		one.turn <- struct{}{}
		g.keys[key] = one
	}
	one.calls++
	g.mu.Unlock()
	done := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if one.calls--; one.calls == 0 {
			delete(g.keys, key)
		}
	}
	select {
	case <-one.turn:
		return func() {
			one.turn <- struct{}{}
			done()
		}, nil
	case <-ctx.Done():
		done()
		return nil, fault.Unreachable(ctx.Err())
	}
}
