package ui

import (
	"math"
	"testing"
)

func TestPlot_SparseShowsDotsAndTheLatestValue(t *testing.T) {
	nan := math.NaN()
	values := make([]float64, 12)
	for i := range values {
		values[i] = nan
	}
	low, high := append([]float64(nil), values...), append([]float64(nil), values...)
	low[2], low[9], high[2], high[9] = 1, 10, 10, 100
	p := Plot{Series: []Series{{Values: low}, {Values: high}}}
	if !p.sparse() {
		t.Fatal("a plot with two of twelve values is not sparse")
	}
	if got := p.bridges(p.Series[0]); got != "M100 119.5L380 62.8" {
		t.Errorf("the line across the gap is %s", got)
	}
	if got := p.dots(p.Series[0]); got != "M100 119.5h.01M380 62.8h.01" {
		t.Errorf("the dots are %s", got)
	}
	if got := p.ranges(); got != "M100 119.5V62.8M380 62.8V6" {
		t.Errorf("the lines between the series are %s", got)
	}
	labels := p.latest()
	if len(labels) != 2 || labels[0].text != "10 ms" || labels[1].text != "100 ms" || labels[0].anchor != "end" || labels[0].x != "79.17%" {
		t.Errorf("the labels are %+v", labels)
	}
	low[8] = 1 // in the way of the label
	if labels := p.latest(); labels != nil {
		t.Errorf("the labels over other values are %+v", labels)
	}
	for i := range low {
		low[i] = 1
	}
	if p.sparse() || p.latest() != nil {
		t.Error("a plot with all values is sparse")
	}
	empty := Plot{Series: []Series{{Values: values}}}
	if empty.sparse() || empty.latest() != nil {
		t.Error("a plot without values is sparse")
	}
}
