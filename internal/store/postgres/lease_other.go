//go:build !linux

package postgres

import "time"

// awake returns a monotonic time.
func awake() time.Duration { return time.Since(started) }
