package fault

import (
	"fmt"
	"runtime/debug"
)

// PanicError is the error of a function that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// Guard calls f and returns its error. It turns a panic of f into a
// [PanicError], for work on one item that must not end the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return f()
}
