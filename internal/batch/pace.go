package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// PanicError is the error of an operation that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// do carries out an operation. A panic in it ends that operation only.
func (b *Batcher[In, Out]) do(ins []In) (outs []Out, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = &PanicError{broken, debug.Stack()}
		}
	}()
	// The operation belongs to all its callers, so no single one's context ends it.
	return b.config.Do(context.Background(), ins)
}

func (b *Batcher[In, Out]) divides(err error) bool {
	var broken *PanicError
	return errors.As(err, &broken) || b.config.Divides != nil && b.config.Divides(err)
}

const (
	// slow is from when on an operation counts as too large, fast until when it
	// may grow again.
	slow, fast = time.Second, 250 * time.Millisecond
	// minBytes is the least that MaxBytes is halved to.
	minBytes = 64 << 10
)

// pace halves the next operations after one that was slow or ran out of time,
// and lets them grow again after quick ones.
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
