//go:build !linux

package postgres

import "time"

// awake gives the time since some moment.
func awake() time.Duration { return time.Since(started) }
