//go:build unix

package app

import (
	"math"
	"syscall"
)

// descriptorLimit returns how many files this process may have open. Go has
// raised the soft limit to the hard one by the time main runs.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}
