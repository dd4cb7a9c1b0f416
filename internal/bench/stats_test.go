package bench

import (
	"math"
	"testing"
)

func TestNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{nil, 0.5, 0},
		{[]float64{7}, 0, 7},
		{[]float64{7}, 1, 7},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.9, 90},
		{hundred, 0.99, 99}, // 0.99*100 is a little more than 99 in binary
		{hundred, 0.995, 100},
		{hundred, 1, 100},
		{[]float64{1, 2, 3}, 0.5, 2},
		{[]float64{1, 2, 3, 4}, 0.5, 2},
	} {
		if got := nearestRank(c.values, c.q); got != c.want {
			t.Errorf("the quantile %v of %d values is %v, not %v", c.q, len(c.values), got, c.want)
		}
	}
}

func TestCurve(t *testing.T) {
	t.Parallel()
	c := newCurve("x", []float64{3, 1, 2})
	if c.Count != 3 || c.at(0) != 1 || c.at(0.5) != 2 || c.at(1) != 3 {
		t.Errorf("the curve is %+v", c)
	}
	if !math.IsNaN(c.at(0.42)) {
		t.Error("a curve knows a quantile it was not made for")
	}
	empty := newCurve("none", nil)
	if empty.Count != 0 || empty.at(1) != 0 || len(empty.Points) != len(quantiles) {
		t.Errorf("the curve of nothing is %+v", empty)
	}
	m := medianCurve([]Curve{newCurve("x", []float64{1}), newCurve("x", []float64{9}), newCurve("x", []float64{2})})
	if m.Name != "x" || m.Count != 3 || m.at(0.5) != 2 {
		t.Errorf("the median curve is %+v", m)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{5}, 5}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}} {
		if got := median(c.values); got != c.want {
			t.Errorf("the median of %v is %v, not %v", c.values, got, c.want)
		}
	}
}

func TestSummariseTakesMediansAndRatios(t *testing.T) {
	t.Parallel()
	result := func(v, late float64) Result {
		return Result{
			Figures: []Figure{{Name: "a", Value: v, Against: "ceiling/a"}, {Name: "b", Value: 2 * v, Against: "w/a"},
				{Name: "c", Value: 1, Against: "absent/c"}},
			Latencies: []Curve{newCurve("w", []float64{late})},
		}
	}
	known := map[string]float64{"ceiling/a": 40}
	row := &WorkloadRow{Name: "w", Runs: []Result{result(10, 1), result(30, 3), result(20, 2)}}
	row.summarise(known)
	if f := row.Figures[0]; f.Value != 20 || f.Ratio != 0.5 {
		t.Errorf("the figure held against the ceiling is %+v", f)
	}
	if f := row.Figures[1]; f.Value != 40 || f.Ratio != 2 {
		t.Errorf("the figure held against one of its own workload is %+v", f)
	}
	if f := row.Figures[2]; f.Ratio != 0 {
		t.Errorf("a figure is held against what was not measured: %+v", f)
	}
	if known["w/b"] != 40 {
		t.Errorf("later workloads find %v", known)
	}
	if got := row.Latencies[0].at(0.5); got != 2 {
		t.Errorf("the median lateness is %v", got)
	}
}
