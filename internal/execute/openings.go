package execute

import (
	"context"
	"sync"
	"time"
)

const (
	// openingEach limits those of one account: its targets may not shake hands.
	openingEach = openingAtOnce / 2
	// openingAtOnce limits how many connections are prewarmed at a time, so that
	// handshakes don't delay what is due now.
	openingAtOnce = 32
)

// openLimit limits opening a connection ahead, including the wait for a slot, so that
// unresponsive receivers don't hold the slots for long. Tests on slow machines raise it.
var openLimit = 5 * time.Second

// openings is the connections that are being opened in goroutines of their own.
type openings struct {
	slots chan struct{}
	life  context.Context // ends those that are opened ahead
	end   context.CancelFunc
	all   sync.WaitGroup

	mu   sync.Mutex
	each map[int64]*turns
}

// turns is the slots that an account may use.
type turns struct {
	free  chan struct{}
	users int
}

func newOpenings() *openings {
	o := &openings{slots: make(chan struct{}, openingAtOnce), each: map[int64]*turns{}}
	o.life, o.end = context.WithCancel(context.Background())
	return o
}

// turns returns the slots of an account, and what ends their use.
func (o *openings) turns(account int64) (t *turns, done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t = o.each[account]; t == nil {
		t = &turns{free: make(chan struct{}, openingEach)}
		o.each[account] = t
	}
	t.users++
	return t, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(o.each, account)
		}
	}
}

// run calls open for a connection that is opened ahead for an account, when there is a
// slot.
func (o *openings) run(account int64, open func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(o.life, openLimit)
	defer cancel()
	turns, done := o.turns(account)
	defer done()
	select {
	case turns.free <- struct{}{}:
		defer func() { <-turns.free }()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
		return open(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends what is opened ahead, and waits for all.
func (o *openings) close() {
	o.end()
	o.all.Wait()
}
