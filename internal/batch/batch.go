package batch

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrFull is returned by Do when too many items wait already.
var ErrFull = errors.New("too many items are waiting")

// ErrClosed is returned for items that come after Close.
var ErrClosed = errors.New("the batcher is closed")

// Config of a Batcher.
type Config[In, Out any] struct {
	// Max is how many items one operation takes at most.
	Max int
	// Waiting is how many items may wait at most, and Share how many of one
	// account; 0: as many.
	Waiting, Share int
	// Do carries out an operation; results stand in the order of the items.
	Do func(context.Context, []In) ([]Out, error)
	// Observe hears of each batch's size; may be nil.
	Observe func(size int)

	// Size returns about how many bytes an item has; nil: sizes don't matter.
	Size func(In) int
	// MaxBytes is how many bytes one operation takes at most, as long as it has
	// more than one item; 0: any number.
	MaxBytes int
	// WaitingBytes is how many bytes may wait at most, and ShareBytes how many of
	// one account; 0: any number. An item larger than that waits alone.
	WaitingBytes, ShareBytes int
	// Account returns whose an item is. Accounts take turns by bytes; nil: all
	// items are one account's.
	Account func(In) int64
	// Divides reports whether an error is due to what an operation contained.
	// Such an operation has done nothing; it is divided until the item that is
	// to blame stands alone. Nil: no error is.
	Divides func(error) bool
}

// Batcher collects items and runs operations on them.
type Batcher[In, Out any] struct {
	config Config[In, Out]

	mu      sync.Mutex
	room    *sync.Cond // signalled when waiting shrinks
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

// New starts a Batcher. Its owner must Close it.
func New[In, Out any](config Config[In, Out]) *Batcher[In, Out] {
	b := &Batcher[In, Out]{config: config, limit: config.MaxBytes, done: make(chan struct{})}
	b.room, b.work = sync.NewCond(&b.mu), sync.NewCond(&b.mu)
	go b.loop()
	return b
}

// Do hands in an item and waits for its result; ErrFull when too many wait. An
// item that was accepted is carried out also when ctx ends meanwhile.
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	return b.submit(ctx, in, nil)
}

// DoWhenRoom is Do for callers that can wait for room. It calls accepted, unless
// that is nil, as soon as the item has its place.
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
	if err := b.accept(one, accepted != nil); err != nil {
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

func (b *Batcher[In, Out]) accept(one item[In, Out], patient bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	account := b.accountOf(one.in)
	for patient && !b.closed && !b.hasRoom(account, one.size) {
		b.room.Wait()
	}
	switch {
	case b.closed:
		return ErrClosed
	case !b.hasRoom(account, one.size):
		return ErrFull
	}
	b.waiting.push(account, one)
	b.work.Signal()
	return nil
}

func (b *Batcher[In, Out]) accountOf(in In) int64 {
	if b.config.Account == nil {
		return 0
	}
	return b.config.Account(in)
}

// hasRoom reports whether an item may wait. Called with mu held.
func (b *Batcher[In, Out]) hasRoom(account int64, size int) bool {
	fits := func(waiting, limit int) bool { return limit == 0 || waiting == 0 || waiting+size <= limit }
	count, bytes := b.waiting.of(account)
	return b.waiting.count < b.config.Waiting && (b.config.Share == 0 || count < b.config.Share) &&
		fits(b.waiting.bytes, b.config.WaitingBytes) && fits(bytes, b.config.ShareBytes)
}

// Len tells how many items wait.
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
	for b.waiting.count == 0 && !b.closed {
		b.work.Wait()
	}
	items := b.waiting.take(b.config.Max, b.limit)
	b.room.Broadcast()
	return items
}

// run carries out an operation and hands out its results.
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
