package soak

import (
	"fmt"
	"strings"
)

// series are the samples of one quantity.
type series struct {
	name, unit string
	values     []float64
	// What a flat line may rise by between the end of the warm-up and the end of the
	// run: this share of its mean, or this much, whichever is more.
	share, most float64
	timed       bool // it follows the time that requests take, and so says nothing on a busy machine
}

// trend is a line fitted to samples.
type trend struct{ mean, rise float64 }

// fit fits a line by least squares to equidistant values, and returns its mean and how
// much it rises from the first to the last.
func fit(values []float64) trend {
	n := float64(len(values))
	if n < 2 {
		return trend{}
	}
	var x, y, xx, xy float64
	for i, v := range values {
		x += float64(i)
		y += v
		xx += float64(i) * float64(i)
		xy += float64(i) * v
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	return trend{y / n, slope * (n - 1)}
}

// allowed is what a series may rise by.
func (s *series) allowed(t trend) float64 { return max(s.share*t.mean, s.most) }

// flat reports whether a series does not rise by more than allowed after the warm-up.
func (s *series) flat(warm int) (trend, bool) {
	t := fit(s.values[min(warm, len(s.values)):])
	return t, t.rise <= s.allowed(t)
}

// show formats a value of a series.
func (s *series) show(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, s.unit)) }
