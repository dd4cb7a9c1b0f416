package ui

import (
	"math"
	"strings"
	"time"
)

const (
	// sparseShare is which part of the steps has values at most for a plot to be sparse.
	sparseShare = 0.25
	// labelSpace is the part of the width that has to be free beside the latest value for its
	// label.
	labelSpace = 0.2
)

// known returns the steps that have a value.
func (p Plot) known() (steps []int) {
	for i := range p.Series[0].Values {
		for _, s := range p.Series {
			if !math.IsNaN(s.Values[i]) {
				steps = append(steps, i)
				break
			}
		}
	}
	return steps
}

// sparse reports whether the plot has so few values that lines alone would be fragments:
// then each value is a dot, and dashes lead across the gaps.
func (p Plot) sparse() bool {
	known := len(p.known())
	return known > 0 && (known <= 2 || float64(known) <= sparseShare*float64(len(p.Series[0].Values)))
}

// bridges returns the lines across the gaps of a series.
func (p Plot) bridges(s Series) string {
	var b strings.Builder
	last, sc := -1, p.scale()
	for i, v := range s.Values {
		if math.IsNaN(v) {
			continue
		}
		if last >= 0 && i > last+1 {
			b.WriteString("M" + s.x(last) + " " + coordinate(sc.y(s.Values[last])) + "L" + s.x(i) + " " + coordinate(sc.y(v)))
		}
		last = i
	}
	return b.String()
}

// ranges returns a line for each step from the value of the first series to that of the last.
func (p Plot) ranges() string {
	var b strings.Builder
	first, last, sc := p.Series[0], p.Series[len(p.Series)-1], p.scale()
	for _, i := range p.known() {
		if low, high := first.Values[i], last.Values[i]; low < high { // false for NaN
			b.WriteString("M" + first.x(i) + " " + coordinate(sc.y(low)) + "V" + coordinate(sc.y(high)))
		}
	}
	return b.String()
}

// valueLabel is the text beside a dot.
type valueLabel struct{ x, y, dx, dy, anchor, text string }

// latest returns the labels of the latest values of a sparse plot, if there is space.
func (p Plot) latest() (labels []valueLabel) {
	known := p.known()
	if !p.sparse() {
		return nil
	}
	n, at := float64(len(p.Series[0].Values)), known[len(known)-1]
	share := (float64(at) + 0.5) / n
	label := valueLabel{x: Percentage(share), dx: "8", anchor: "start"}
	if share > 0.5 {
		label.dx, label.anchor = "-8", "end"
		if len(known) > 1 && float64(at-known[len(known)-2])/n < labelSpace {
			return nil
		}
	}
	sc := p.scale()
	for i, s := range p.Series {
		if v := s.Values[at]; !math.IsNaN(v) {
			label.y, label.text, label.dy = Percentage(sc.y(v)/plotHeight), Millis(time.Duration(v*float64(time.Millisecond))), "4"
			if len(p.Series) > 1 { // the lower value stands below its dot, the higher one above
				label.dy = [...]string{"10", "-2"}[min(i, 1)]
			}
			labels = append(labels, label)
		}
	}
	return labels
}
