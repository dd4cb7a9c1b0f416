package pause

import (
	"context"
	"time"
)

// For waits until d has passed or ctx ends, and reports whether ctx has not ended. A d of
// 0 or less passes at once.
func For(ctx context.Context, d time.Duration) bool {
	Woken(ctx, d, nil)
	return ctx.Err() == nil
}

// Woken waits until wake is ready, d has passed or ctx ends, and reports whether wake was
// the reason.
func Woken(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-wake:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
