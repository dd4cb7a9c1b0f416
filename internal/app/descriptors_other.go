//go:build !unix

package app

import "math"

func descriptorLimit() uint64 { return math.MaxUint64 }
