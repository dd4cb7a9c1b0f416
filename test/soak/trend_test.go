package soak

import (
	"math"
	"testing"
)

func TestTrend_OfALine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values     []float64
		mean, rise float64
	}{
		"rises":   {[]float64{1, 2, 3, 4, 5}, 3, 4},
		"falls":   {[]float64{4, 2}, 3, -2},
		"saw":     {[]float64{1, 3, 1, 3, 1, 3, 1}, 13.0 / 7, 0},
		"one":     {[]float64{7}, 0, 0},
		"nothing": {nil, 0, 0},
	} {
		if got := fit(c.values); math.Abs(got.mean-c.mean) > 1e-9 || math.Abs(got.rise-c.rise) > 1e-9 {
			t.Errorf("%s: %+v, want mean %g and rise %g", name, got, c.mean, c.rise)
		}
	}
}

func TestTrend_GrowthAfterTheWarmUpIsSeen(t *testing.T) {
	t.Parallel()
	s := &series{share: 0.1, most: 1}
	for i := range 100 {
		s.values = append(s.values, 100+float64(min(i, 25)))
	}
	if _, flat := s.flat(25); !flat {
		t.Error("a line that is flat after the warm-up counts as rising")
	}
	for i := range s.values {
		s.values[i] += float64(i) / 4
	}
	if _, flat := s.flat(25); flat {
		t.Error("a line that rises by a fifth counts as flat")
	}
}
