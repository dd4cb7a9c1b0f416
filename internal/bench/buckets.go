package bench

import (
	"strconv"
	"strings"
)

// storedMetric is the histogram of a relay: from the insert of a row until the service has
// stored its job. The insert comes before the COMMIT, so this is longer than from there.
const storedMetric = `punctual_outbox_latency_seconds_bucket{le="`

// buckets is a histogram: how many values were at most each bound, in order.
type buckets []bucket

type bucket struct {
	bound float64 // the last is the largest number that has a bucket
	n     float64
}

// read takes a line of metrics. It reports false if that is of another metric.
func (b *buckets) read(name string, n float64) bool {
	bound, ok := strings.CutPrefix(name, storedMetric)
	if !ok {
		return false
	}
	if at, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"}`), 64); err == nil {
		*b = append(*b, bucket{at, n})
	}
	return true
}

// since returns the histogram of what came after an earlier one.
func (b buckets) since(before buckets) buckets {
	if len(before) != len(b) {
		return b
	}
	later := make(buckets, len(b))
	for i := range b {
		later[i] = bucket{b[i].bound, b[i].n - before[i].n}
	}
	return later
}

// at returns the value that a part of all are at most: within its bucket it is taken to
// lie in proportion, in the last one, which has no bound, at its beginning. It is 0 if
// there are none.
func (b buckets) at(part float64) float64 {
	if len(b) == 0 || b[len(b)-1].n == 0 {
		return 0
	}
	want := part * b[len(b)-1].n
	var low bucket
	for i, high := range b {
		if high.n < want {
			low = high
			continue
		}
		if i == len(b)-1 {
			return low.bound
		}
		return low.bound + (high.bound-low.bound)*(want-low.n)/(high.n-low.n)
	}
	return low.bound
}
