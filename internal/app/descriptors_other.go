//go:build !unix

package app

import "math"

// descriptors returns how many file descriptors the process may have; this
// system has no limit.
func descriptors() uint64 { return math.MaxUint64 }
