//go:build unix

package app

import (
	"math"
	"syscall"
)

// descriptors returns how many file descriptors the process may have.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64 // the system returns an error at its limit
	}
	return uint64(limit.Cur) // a signed number on some systems
}
