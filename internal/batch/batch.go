package batch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned by Do when too many items wait.
var ErrFull = errors.New("too many items are waiting")

// ErrClosed is returned for items handed in after Close.
var ErrClosed = errors.New("the batcher is closed")

// Config configures a Batcher.
type Config[In, Out any] struct {
	// Max is how many items one operation takes at most.
	Max int
	// Waiting is how many items may wait at most, Share how many of one
	// account; a Share of 0 is no bound.
	Waiting, Share int
	// Do runs an operation. It returns the results in the order of the items.
	Do func(context.Context, []In) ([]Out, error)
	// Observe is called with each batch's size. May be nil.
	Observe func(size int)

	// Size returns about how many bytes an item has. If nil, items have no
	// size.
	Size func(In) int
	// MaxBytes is how many bytes an operation of more than one item takes at
	// most; 0 is no bound.
	MaxBytes int
	// WaitingBytes is how many bytes may wait at most, ShareBytes how many of
	// one account; 0 is no bound. A larger item is the only one that waits.
	WaitingBytes, ShareBytes int
	// Account returns an item's account. Accounts take turns by bytes. If nil,
	// all items belong to one account.
	Account func(In) int64
	// Divides reports whether an error is due to the content of an operation
	// that changed nothing. Such an operation is halved until the faulty item
	// is the only one. If nil, only operations that panic are halved.
	Divides func(error) bool
}

// Batcher collects items and runs operations on them.
type Batcher[In, Out any] struct {
	config Config[In, Out]

	mu      sync.Mutex
	notFull *sync.Cond // signalled when waiting shrinks
	work    *sync.Cond // signalled when waiting grows
	waiting queue[In, Out]
	limit   int // bytes of the next operation; see pace
	closed  bool
	done    chan struct{}
}

type item[In, Out any] struct {
	in     In
	size   int
	result chan result[Out]
}

type result[Out any] struct {
	out Out
	err error
}

// New starts a Batcher. The caller must Close it.
func New[In, Out any](config Config[In, Out]) *Batcher[In, Out] {
	b := &Batcher[In, Out]{config: config, limit: config.MaxBytes, done: make(chan struct{})}
	b.notFull, b.work = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	go b.loop()
	return b
}

// Do hands in an item and waits for its result. It returns ErrFull if too many
// items wait. An accepted item is processed even if ctx ends.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	return b.submit(ctx, in, nil)
}

// DoWhenRoom is Do for callers that wait until their item fits, at most until ctx ends: its error
// is ctx's then. It calls accepted, which may be nil, when the item has its place.
func (b *Batcher[In, Out]) DoWhenRoom(ctx context.Context, in In, accepted func()) (Out, error) {
	if accepted == nil {
		accepted = func() {}
	}
	return b.submit(ctx, in, accepted)
}

func (b *Batcher[In, Out]) submit(ctx context.Context, in In, accepted func()) (out Out, err error) {
	one := item[In, Out]{in, 0, make(chan result[Out], 1)}
	if b.config.Size != nil {
		one.size = b.config.Size(in)
	}
	if err := b.accept(ctx, one, accepted != nil); err != nil {
		return out, err
	}
	if accepted != nil {
		accepted()
	}
	select {
	case r := <-one.result:
		return r.out, r.err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

func (b *Batcher[In, Out]) accept(ctx context.Context, one item[In, Out], patient bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	account := b.accountOf(one.in)
	if patient && !b.fits(account, one.size) {
		b.awaitSpace(ctx, account, one.size)
	}
	switch {
	case b.closed:
		return ErrClosed
	case patient && !b.fits(account, one.size):
		return ctx.Err()
	case !b.fits(account, one.size):
		return ErrFull
	}
	b.waiting.push(account, one)
	b.work.Signal()
	return nil
}

// awaitSpace waits until an item may wait, b is closed or ctx ends. Called with mu
// held.
func (b *Batcher[In, Out]) awaitSpace(ctx context.Context, account int64, size int) {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notFull.Broadcast()
	})
	defer stop()
	for !b.closed && ctx.Err() == nil && !b.fits(account, size) {
		b.notFull.Wait()
	}
}

func (b *Batcher[In, Out]) accountOf(in In) int64 {
	if b.config.Account == nil {
		return 0
	}
	return b.config.Account(in)
}

// fits reports whether an item may wait. Called with mu held.
func (b *Batcher[In, Out]) fits(account int64, size int) bool {
	fits := func(waiting, limit int) bool { return limit == 0 || waiting == 0 || waiting+size <= limit }
	count, bytes := b.waiting.of(account)
	return b.waiting.count < b.config.Waiting && (b.config.Share == 0 || count < b.config.Share) &&
		fits(b.waiting.bytes, b.config.WaitingBytes) && fits(bytes, b.config.ShareBytes)
}

// Len returns how many items wait.
func (b *Batcher[In, Out]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting.count
}

// Bytes returns how many bytes wait.
func (b *Batcher[In, Out]) Bytes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting.bytes
}

// Close accepts no more items and returns when all waiting ones are processed.
func (b *Batcher[In, Out]) Close() {
	b.mu.Lock()
	b.closed = true
	b.work.Broadcast()
	b.notFull.Broadcast()
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

// take waits for items. It returns nil after Close when none are left.
func (b *Batcher[In, Out]) take() []item[In, Out] {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.waiting.count == 0 && !b.closed {
		b.work.Wait()
	}
	items := b.waiting.take(b.config.Max, b.limit)
	b.notFull.Broadcast()
	return items
}

// run runs an operation and delivers its results.
func (b *Batcher[In, Out]) run(items []item[In, Out]) {
	ins := make([]In, len(items))
	for i := range items {
		ins[i] = items[i].in
	}
	began := time.Now()
	outs, err := b.do(ins)
	b.pace(time.Since(began), err)
	if b.config.Observe != nil {
		b.config.Observe(len(items))
	}
	if err != nil && len(items) > 1 && b.divides(err) {
		half := len(items) / 2
		b.run(items[:half])
		b.run(items[half:])
		return
	}
	for i := range items {
		r := result[Out]{err: err}
		if err == nil {
			r.out = outs[i]
		}
		items[i].result <- r
	}
}
