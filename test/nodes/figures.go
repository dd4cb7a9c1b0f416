package nodes

import (
	"fmt"
	"time"
)

// quantiles describes sorted durations.
func quantiles(sorted []time.Duration) string {
	if len(sorted) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: p50 %s, p99 %s, most %s", len(sorted), quantile(sorted, 0.5), quantile(sorted, 0.99), quantile(sorted, 1))
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(100 * time.Microsecond)
}
