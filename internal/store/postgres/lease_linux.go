package postgres

import (
	"time"

	"golang.org/x/sys/unix"
)

// awake returns a monotonic time that includes time in which the machine was
// suspended, because other nodes' clocks continue then.
func awake() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}
