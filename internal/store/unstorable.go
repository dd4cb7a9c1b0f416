package store

import (
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
)

// ErrUnstorable marks a write that failed because of its content: the database
// refuses a value, a value can't be encoded or read, or a decision panicked. Nothing of the write was stored, and a
// retry would fail again. Every other failure of a write is a temporary outage.
var ErrUnstorable = errors.New("the database does not accept this record")

// Unstorable returns the Invalid fault for a write that failed because of its
// content.
func Unstorable(cause error) error {
	return &fault.Error{
		Code: fault.Invalid, Message: "the store rejects this record; make it smaller or simpler",
		Cause: fmt.Errorf("%w: %w", ErrUnstorable, cause),
	}
}

// IsUnstorable reports whether a write failed because of its content, so that
// the other items of the write may succeed without it.
func IsUnstorable(err error) bool { return errors.Is(err, ErrUnstorable) }
