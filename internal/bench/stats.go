package bench

import (
	"math"
	"slices"
)

// quantiles are the points of a Curve: close together where it matters, at the end.
var quantiles = []float64{0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9999, 1}

// Point says which time in milliseconds a part of all was no longer than.
type Point struct {
	Quantile float64 `json:"quantile"`
	MS       float64 `json:"ms"`
}

// Curve is the distribution of times.
type Curve struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	Points []Point `json:"points"`
}

// newCurve sorts times in milliseconds and takes their distribution.
func newCurve(name string, times []float64) Curve {
	slices.Sort(times)
	c := Curve{Name: name, Count: len(times)}
	for _, q := range quantiles {
		c.Points = append(c.Points, Point{q, nearestRank(times, q)})
	}
	return c
}

// nearestRank returns the smallest of the sorted values that at least a part q
// of all is no greater than; 0 when there are none.
func nearestRank(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	// The product may lie a rounding error above the whole number it stands for.
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// at returns the time at one of quantiles.
func (c *Curve) at(q float64) float64 {
	for _, p := range c.Points {
		if p.Quantile == q {
			return p.MS
		}
	}
	return math.NaN()
}

// median returns the middle one of values, or the mean of the middle two.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// medianCurve takes the median of several runs' curves at each point.
func medianCurve(curves []Curve) Curve {
	c := Curve{Name: curves[0].Name}
	for i, q := range quantiles {
		var values []float64
		for _, one := range curves {
			values = append(values, one.Points[i].MS)
		}
		c.Points = append(c.Points, Point{q, median(values)})
	}
	for _, one := range curves {
		c.Count += one.Count
	}
	return c
}
