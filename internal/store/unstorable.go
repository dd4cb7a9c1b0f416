package store

import (
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
)

// ErrUnstorable marks a write that failed for what it contained: a value that
// the database refuses, or a decision that panicked. Nothing of the write was
// stored, and the same write never will be. Every other failure of a write is an
// outage, which passes.
var ErrUnstorable = errors.New("the database does not take this record")

// Unstorable makes the Invalid fault of a write that failed for what it contained.
func Unstorable(cause error) error {
	return &fault.Error{
		Code: fault.Invalid, Message: "the store does not take this as it is; make it smaller or simpler",
		Cause: fmt.Errorf("%w: %w", ErrUnstorable, cause),
	}
}

// IsUnstorable reports whether an error is of a write that failed for what it
// contained, so that others in the same write may succeed without it.
func IsUnstorable(err error) bool { return errors.Is(err, ErrUnstorable) }
