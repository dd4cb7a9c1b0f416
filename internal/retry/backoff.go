package retry

import "time"

const (
	firstWait   = 10 * time.Second
	waitGrowth  = 6
	longestWait = 6 * time.Hour

	// LongestRetryAfter is the longest wait that a target can ask for.
	LongestRetryAfter = 24 * time.Hour
)

// deliveryWaits are the waits between the attempts of a callback or webhook.
var deliveryWaits = [...]time.Duration{
	5 * time.Second,
	time.Minute,
	5 * time.Minute,
	30 * time.Minute,
	2 * time.Hour,
	6 * time.Hour,
	12 * time.Hour,
}

// JobBackoff returns how long a job waits after its failed attempt number
// attempt, counted from 1: 10 s, then six times longer each time, up to 6 h.
func JobBackoff(attempt int) time.Duration {
	wait := firstWait
	for n := 1; n < attempt && wait < longestWait; n++ {
		wait *= waitGrowth
	}
	return min(wait, longestWait)
}

// DeliveryBackoff returns how long a callback or webhook waits after its failed
// attempt number attempt, counted from 1, and false if it is to be given up.
func DeliveryBackoff(attempt int) (time.Duration, bool) {
	n := max(attempt, 1) - 1
	if n >= len(deliveryWaits) {
		return 0, false
	}
	return deliveryWaits[n], true
}

// After returns how long a job waits after its failed attempt number attempt,
// counted from 1: the longer of its back-off and what the target asked for (0:
// nothing; at most [LongestRetryAfter]), lengthened by random in [0, 1). The
// job's own waits, of which the last repeats, replace [JobBackoff].
func After(waits []time.Duration, attempt int, retryAfter time.Duration, random float64) time.Duration {
	wait := JobBackoff(attempt)
	if len(waits) > 0 {
		wait = waits[min(max(attempt, 1), len(waits))-1]
	}
	return Lengthen(max(wait, min(retryAfter, LongestRetryAfter)), random)
}

// Lengthen returns d lengthened by 0 to 10 %, in proportion to random in [0,
// 1).
func Lengthen(d time.Duration, random float64) time.Duration {
	return d + time.Duration(float64(d/10)*random)
}
