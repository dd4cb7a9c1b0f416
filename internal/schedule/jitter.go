package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// ShiftOf returns the shift of a schedule's due times: a fixed fraction of jitter
// from 0 to jitter, in whole microseconds. The fraction depends on the id only
// and is spread evenly over all ids.
func ShiftOf(id [16]byte, jitter time.Duration) time.Duration {
	if jitter <= 0 {
		return 0
	}
	sum := sha256.Sum256(id[:])
	micros, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:]), uint64(jitter.Microseconds())+1)
	return time.Duration(micros) * time.Microsecond
}

// distanceTicks is how many ticks of a cron expression [Distance] visits.
const distanceTicks = 100

// Distance returns the length of an interval, or the smallest distance between any
// two of the next 100 ticks of a cron expression after now.
func Distance(f Frequency, now time.Time) time.Duration {
	if interval, ok := f.(Interval); ok {
		return time.Duration(interval.step()) * time.Microsecond
	}
	tick := f.Next(time.Time{}, now)
	smallest := time.Duration(math.MaxInt64)
	for range distanceTicks - 1 {
		next := f.Next(time.Time{}, tick)
		smallest, tick = min(smallest, next.Sub(tick)), next
	}
	return smallest
}
