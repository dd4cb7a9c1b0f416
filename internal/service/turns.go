package service

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// turnWithin is how long a call waits for its turn.
const turnWithin = 10 * time.Second

// turns lets the calls of an account follow one another. The zero value is ready.
type turns struct {
	mu       sync.Mutex
	accounts map[int64]*turn
}

type turn struct {
	taken chan struct{} // holds one while a call has the turn
	calls int           // that have the turn or wait for it
}

// enter waits for the turn of a call, which must call leave at its end. It returns an
// Unavailable fault after turnWithin, or if ctx ends first.
func (t *turns) enter(ctx context.Context, account int64) (leave func(), err error) {
	t.mu.Lock()
	if t.accounts == nil {
		t.accounts = map[int64]*turn{}
	}
	own := t.accounts[account]
	if own == nil {
		own = &turn{taken: make(chan struct{}, 1)}
		t.accounts[account] = own
	}
	own.calls++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.calls--; own.calls == 0 {
			delete(t.accounts, account)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	select {
	case own.taken <- struct{}{}:
		return func() { <-own.taken; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, fault.Busy(ctx.Err())
	}
}
