package store

import (
	"context"
	"sync"
	"time"
)

// probeEvery is how long the result of a check is reused, and probeWithin the
// timeout of one.
const (
	probeEvery  = time.Second
	probeWithin = 5 * time.Second
)

// Probe shares the result of a check among concurrent callers and runs it at
// most once a second. Its zero value is ready to use.
type Probe struct {
	mu      sync.Mutex
	running chan struct{} // closed when the check under way has ended; nil when there is none
	at      time.Time     // when the last one ended
	err     error
}

// Do returns the result of check from within the last second, or calls check. It
// returns the error of ctx if that ends first.
func (p *Probe) Do(ctx context.Context, check func(context.Context) error) error {
	for ctx.Err() == nil {
		p.mu.Lock()
		switch running := p.running; {
		case running != nil:
			p.mu.Unlock()
			select {
			case <-running:
			case <-ctx.Done():
			}
		case !p.at.IsZero() && time.Since(p.at) < probeEvery:
			defer p.mu.Unlock()
			return p.err
		default:
			p.running = make(chan struct{})
			p.mu.Unlock()
			return p.run(ctx, check)
		}
	}
	return ctx.Err()
}

// run calls check on behalf of all waiting callers, so the end of one caller's
// context does not cancel it.
func (p *Probe) run(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWithin)
	defer cancel()
	err := check(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.err = time.Now(), err
	close(p.running)
	p.running = nil
	return err
}
