package batch

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// do runs an operation. A panic ends that operation only.
func (b *Batcher[In, Out]) do(ins []In) (outs []Out, err error) {
	err = fault.Guard(func() error {
		// The operation belongs to all its callers, so no single one's context
		// ends it.
		outs, err = b.config.Do(context.Background(), ins)
		return err
	})
	return outs, err
}

func (b *Batcher[In, Out]) divides(err error) bool {
	return errors.As(err, new(*fault.PanicError)) || b.config.Divides != nil && b.config.Divides(err)
}

const (
	// An operation that takes at least slow counts as too large; after one that
	// takes at most fast, the next may be larger.
	slow, fast = time.Second, 250 * time.Millisecond
	// minBytes is the lower bound for halving MaxBytes.
	minBytes = 64 << 10
)

// pace halves the size of the next operation after one that was slow or timed
// out, and doubles it after a fast one.
func (b *Batcher[In, Out]) pace(took time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.config.MaxBytes == 0:
	case took >= slow || errors.Is(err, context.DeadlineExceeded):
		b.limit = max(b.limit/2, min(minBytes, b.config.MaxBytes))
	case err == nil && took <= fast:
		b.limit = min(2*b.limit, b.config.MaxBytes)
	}
}
