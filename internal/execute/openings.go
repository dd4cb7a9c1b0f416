package execute

import (
	"context"
	"sync"
	"time"
)

const (
	// openingAtOnce limits how many connections are prewarmed at a time, so that
	// handshakes don't delay what is due now.
	openingAtOnce = 32
	// openLimit limits opening a connection ahead, including the wait for a slot, so
	// that unresponsive receivers don't hold the slots for long.
	openLimit = 5 * time.Second
)

// openings is the connections that are being opened in goroutines of their own.
type openings struct {
	slots chan struct{}
	life  context.Context // ends those that are opened ahead
	end   context.CancelFunc
	all   sync.WaitGroup
}

func newOpenings() *openings {
	o := &openings{slots: make(chan struct{}, openingAtOnce)}
	o.life, o.end = context.WithCancel(context.Background())
	return o
}

// run calls open for a connection that is opened ahead, when there is a slot.
func (o *openings) run(open func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(o.life, openLimit)
	defer cancel()
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
