package batch

import (
	"context"
	"errors"
	"sync"
)

// ErrFull is returned by Do when too many items wait already.
var ErrFull = errors.New("too many items are waiting")

// ErrClosed is returned for items that come after Close.
var ErrClosed = errors.New("the batcher is closed")

// Config of a Batcher.
type Config[In, Out any] struct {
	// Max is how many items one operation takes at most.
	Max int
	// Waiting is how many items may wait at most.
	Waiting int
	// Do carries out an operation; results stand in the order of the items.
	Do func(context.Context, []In) ([]Out, error)
	// Observe hears of each batch's size; may be nil.
	Observe func(size int)
}

// Batcher collects items and runs operations on them.
type Batcher[In, Out any] struct {
	config Config[In, Out]

	mu      sync.Mutex
	room    *sync.Cond // signalled when waiting shrinks
	work    *sync.Cond // signalled when waiting grows
	waiting []item[In, Out]
	closed  bool
	done    chan struct{}
}

type item[In, Out any] struct {
	in     In
	result chan result[Out]
}

type result[Out any] struct {
	out Out
	err error
}

// New starts a Batcher. Its owner must Close it.
func New[In, Out any](config Config[In, Out]) *Batcher[In, Out] {
	b := &Batcher[In, Out]{config: config, done: make(chan struct{})}
	b.room, b.work = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	go b.loop()
	return b
}

// Do hands in an item and waits for its result; ErrFull when too many wait. An
// item that was accepted is carried out also when ctx ends meanwhile.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	return b.submit(ctx, in, false)
}

// DoWhenRoom is Do for callers that can wait for room.
func (b *Batcher[In, Out]) DoWhenRoom(ctx context.Context, in In) (Out, error) {
	return b.submit(ctx, in, true)
}

func (b *Batcher[In, Out]) submit(ctx context.Context, in In, patient bool) (out Out, err error) {
	one := item[In, Out]{in, make(chan result[Out], 1)}
	if err := b.accept(one, patient); err != nil {
		return out, err
	}
	select {
	case r := <-one.result:
		return r.out, r.err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

func (b *Batcher[In, Out]) accept(one item[In, Out], patient bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for patient && !b.closed && len(b.waiting) >= b.config.Waiting {
		b.room.Wait()
	}
	switch {
	case b.closed:
		return ErrClosed
	case len(b.waiting) >= b.config.Waiting:
		return ErrFull
	}
	b.waiting = append(b.waiting, one)
	b.work.Signal()
	return nil
}

// Len tells how many items wait.
func (b *Batcher[In, Out]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Close takes no more items, carries out what waits, and returns when that is done.
func (b *Batcher[In, Out]) Close() {
	b.mu.Lock()
	b.closed = true
	b.work.Broadcast()
	b.room.Broadcast()
	b.mu.Unlock()
	<-b.done
}

func (b *Batcher[In, Out]) loop() {
	defer close(b.done)
	for {
		items := b.take()
		if items == nil {
			return
		}
		b.run(items)
	}
}

// take waits for items; nil when there will be no more.
func (b *Batcher[In, Out]) take() []item[In, Out] {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) == 0 && !b.closed {
		b.work.Wait()
	}
	n := min(len(b.waiting), b.config.Max)
	if n == 0 {
		return nil
	}
	items := b.waiting[:n:n]
	b.waiting = append([]item[In, Out](nil), b.waiting[n:]...)
	b.room.Broadcast()
	return items
}

func (b *Batcher[In, Out]) run(items []item[In, Out]) {
	ins := make([]In, len(items))
	for i := range items {
		ins[i] = items[i].in
	}
	// The operation belongs to all its callers, so no single one's context ends it.
	outs, err := b.config.Do(context.Background(), ins)
	if b.config.Observe != nil {
		b.config.Observe(len(items))
	}
	for i := range items {
		r := result[Out]{err: err}
		if err == nil {
			r.out = outs[i]
		}
		items[i].result <- r
	}
}
