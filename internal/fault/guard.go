package fault

import (
	"fmt"
	"runtime/debug"
)

// Guard calls f and returns its error. A panic of f becomes an error with the
// stack, for work on one item that must not end the process.
func Guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
