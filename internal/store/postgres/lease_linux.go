package postgres

import (
	"time"

	"golang.org/x/sys/unix"
)

// awake gives the time since some moment, also that which the machine was
// suspended for: others' clocks went on meanwhile.
func awake() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}
