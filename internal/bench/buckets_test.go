package bench

import (
	"math"
	"testing"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	read := func(counts string) buckets { return readVitals([]byte(counts)).stored }
	before := read(storedMetric + "0.01\"} 4\n" + storedMetric + "0.02\"} 5\n" + storedMetric + "+Inf\"} 5\n")
	after := read(storedMetric + "0.01\"} 54\n" + storedMetric + "0.02\"} 104\n" + storedMetric + "+Inf\"} 105\n")
	since := after.since(before)
	for part, want := range map[float64]float64{0: 0, .25: .005, .5: .01, .75: .01 + .01*25/49, .99: .02, 1: .02} {
		if got := since.at(part); math.Abs(got-want) > 1e-9 {
			t.Errorf("the value for %v is %v, want %v", part, got, want)
		}
	}
	if got := after.since(after).at(.5); got != 0 {
		t.Errorf("the value of none is %v", got)
	}
}
