package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plot is a chart of durations: one or two lines over the same steps, on a logarithmic
// scale. overview.js adds the values under the pointer, and what its addresses are for.
type Plot struct {
	ID    string // unique on the page
	Title string // "Attempt duration"
	// Summary describes the plot in a sentence, for screen readers.
	Summary string
	Series  []Series
	// The time axis: when the first step begins, and how long each is. If the steps are
	// not of time, Step is 0, and From and To label the ends: "12 runs before".
	Start    time.Time
	Step     time.Duration
	From, To string
	// Notes describe the steps further; nil for none.
	Notes []string
	// Zoom and Open are addresses to which the parameters of a selected interval are
	// added: from and to, or since and until. "" for none.
	Zoom, Open string
	// Counts is set for a ribbon, whose values are numbers rather than milliseconds.
	Counts bool
}

// Series is one line of a plot, in milliseconds. NaN is a step without a value.
type Series struct {
	Name   string // "p50"
	Values []float64
}

// The drawing area, in units of the plot.
const (
	plotWidth, plotHeight = 480.0, 120.0
	plotTop, plotBottom   = 6.0, 119.5
)

// leastExponent is that of the shortest time on a scale: a tenth of a millisecond.
const leastExponent = -1

// leastDecades is how many decades a scale has at least.
const leastDecades = 2

// scale is the exponents of the lowest and the highest time of an axis, which are powers
// of ten of a millisecond.
type scale struct{ low, high int }

// scale returns the scale that fits the values.
func (p Plot) scale() scale {
	least, most := math.Inf(1), math.Inf(-1)
	for _, s := range p.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if most <= 0 || math.IsInf(most, 0) {
		return scale{0, leastDecades}
	}
	low := max(leastExponent, exponent(least, math.Floor))
	high := max(exponent(most, math.Ceil), low+1)
	for high-low < leastDecades {
		if low > leastExponent {
			low--
		} else {
			high++
		}
	}
	return scale{low, high}
}

// exponent returns the exponent of a time in milliseconds, rounded.
func exponent(ms float64, round func(float64) float64) int {
	return int(round(math.Log10(max(ms, math.Pow10(leastExponent)))))
}

// powerOfTen formats a power of ten of a millisecond: "10 ms", "1 s".
func powerOfTen(exponent int) string {
	switch {
	case exponent < 0:
		return "0.1 ms"
	case exponent < 3:
		return strconv.Itoa(int(math.Pow10(exponent))) + " ms"
	}
	return Count(int64(math.Pow10(exponent-3))) + " s"
}

// decade is a line of the scale.
type decade struct{ y, at, label string }

// decades returns the lines of the scale, the lowest first.
func (p Plot) decades() (lines []decade) {
	sc := p.scale()
	for e := sc.low; e <= sc.high; e++ {
		y := sc.y(math.Pow10(e))
		lines = append(lines, decade{coordinate(y), Percentage(y / plotHeight), powerOfTen(e)})
	}
	return lines
}

// grid returns the lines of the scale as a path.
func (p Plot) grid() string {
	var b strings.Builder
	for _, d := range p.decades() {
		b.WriteString("M0 " + d.y + "H480")
	}
	return b.String()
}

// x returns the middle of a step.
func (s Series) x(i int) string {
	return coordinate((float64(i) + 0.5) * plotWidth / float64(len(s.Values)))
}

// y returns the height of a time in milliseconds.
func (s scale) y(v float64) float64 {
	share := (math.Log10(max(v, math.Pow10(s.low))) - float64(s.low)) / float64(s.high-s.low)
	return plotBottom - share*(plotBottom-plotTop)
}

// path returns the line of a series, interrupted where values are missing. dots
// draws the values between two gaps.
func (p Plot) path(s Series) string {
	var b strings.Builder
	drawing, sc := false, p.scale()
	for i, v := range s.Values {
		if math.IsNaN(v) || s.isolated(i) {
			drawing = false
			continue
		}
		command := "M"
		if drawing {
			command = "L"
		}
		b.WriteString(command + s.x(i) + " " + coordinate(sc.y(v)))
		drawing = true
	}
	return b.String()
}

// isolated reports whether a value is between two gaps.
func (s Series) isolated(i int) bool {
	missing := func(i int) bool { return i < 0 || i >= len(s.Values) || math.IsNaN(s.Values[i]) }
	return !missing(i) && missing(i-1) && missing(i+1)
}

// dots returns the values of a series that are between two gaps, or all of a sparse plot,
// as lines of almost no length: their round ends show as dots.
func (p Plot) dots(s Series) string {
	var b strings.Builder
	sc, all := p.scale(), p.sparse()
	for i, v := range s.Values {
		if s.isolated(i) || all && !math.IsNaN(v) {
			b.WriteString("M" + s.x(i) + " " + coordinate(sc.y(v)) + "h.01")
		}
	}
	return b.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func seriesClass(i int) string { return fmt.Sprintf("series-%d", i+1) }

// empty reports whether there are no values.
func (p Plot) empty() bool {
	for _, s := range p.Series {
		if slices.ContainsFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			return false
		}
	}
	return true
}
