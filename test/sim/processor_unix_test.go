//go:build unix

package sim

import (
	"syscall"
	"time"
)

// processorTime returns how long this process has run on processors: unlike the time
// on the clock it does not depend on what else the machine does.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
