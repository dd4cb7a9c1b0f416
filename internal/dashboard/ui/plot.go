package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plot is a chart of one or two series over the same steps. overview.js adds the value
// under the pointer, and what its addresses are for.
type Plot struct {
	ID    string // unique on the page
	Title string // "Attempts per minute"
	// Summary describes the plot in a sentence, for screen readers.
	Summary string
	Unit    string // "ms"; "" for plain numbers
	Bars    bool   // bars instead of lines
	// Top is the value of the upper edge; 0 chooses one that fits the values.
	Top    float64
	Series []Series
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
}

// Series is one line (or row of bars) of a plot. NaN is a step without a value.
type Series struct {
	Name   string // "p50"
	Values []float64
}

// The drawing area, in units of the plot.
const (
	plotWidth, plotHeight = 480.0, 120.0
	plotTop               = 6.0
)

// cutAt is how many times higher than the usual values a bar must be to be cut off.
const cutAt = 5

// top returns the value of the upper edge. Bars that are far higher than the others
// are cut off, so that they don't flatten the others.
func (p Plot) top() float64 {
	if p.Top > 0 {
		return p.Top
	}
	var values []float64
	for _, s := range p.Series {
		for _, v := range s.Values {
			if v > 0 { // NaN is not
				values = append(values, v)
			}
		}
		if p.Bars {
			break // the other series are parts of the first one
		}
	}
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	most := values[len(values)-1]
	if usual := values[(len(values)-1)*9/10]; p.Bars && most > cutAt*usual {
		most = 2 * usual
	}
	return round(most)
}

// cuts reports whether bars are cut off.
func (p Plot) cuts() bool {
	return p.Bars && slices.ContainsFunc(p.Series[0].Values, func(v float64) bool { return v > p.top() })
}

// round returns the smallest product of 1, 2 or 5 and a power of ten that is not
// below a value.
func round(most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, step := range []float64{1, 2, 5, 10} {
		if step*power >= most*(1-1e-9) {
			return step * power
		}
	}
	return 10 * power
}

// x returns the middle of a step.
func (s Series) x(i int) string {
	return coordinate((float64(i) + 0.5) * plotWidth / float64(len(s.Values)))
}

func (p Plot) y(v float64) float64 {
	return plotHeight - v/p.top()*(plotHeight-plotTop)
}

// path returns the line of a series, interrupted where values are missing. dots
// draws the values between two gaps.
func (p Plot) path(s Series) string {
	var b strings.Builder
	drawing := false
	for i, v := range s.Values {
		if math.IsNaN(v) || s.alone(i) {
			drawing = false
			continue
		}
		command := "M"
		if drawing {
			command = "L"
		}
		b.WriteString(command + s.x(i) + " " + coordinate(p.y(v)))
		drawing = true
	}
	return b.String()
}

// alone reports whether a value is between two gaps.
func (s Series) alone(i int) bool {
	missing := func(i int) bool { return i < 0 || i >= len(s.Values) || math.IsNaN(s.Values[i]) }
	return !missing(i) && missing(i-1) && missing(i+1)
}

// dots returns the values of a series that are between two gaps as lines of
// almost no length: their round ends show as dots.
func (p Plot) dots(s Series) string {
	var b strings.Builder
	for i, v := range s.Values {
		if s.alone(i) {
			b.WriteString("M" + s.x(i) + " " + coordinate(p.y(v)) + "h.01")
		}
	}
	return b.String()
}

// The least heights of a bar, and of the part of a bar that another series is.
const (
	leastBar  = 4.0
	leastPart = 1.5
)

// bars returns the bars of a series as one path. The first series is the whole; the
// bars of the others are parts of it, in proportion. cuts are marks on the bars whose
// values are above the upper edge.
func (p Plot) bars(series int) (path, cuts string) {
	values, whole := p.Series[series].Values, p.Series[0].Values
	step := plotWidth / float64(max(1, len(values)))
	width, top := step-min(2, step/4), p.top()
	var b, c strings.Builder
	for i, v := range values {
		if math.IsNaN(v) || v <= 0 {
			continue
		}
		height := max(leastBar, plotHeight-p.y(min(whole[i], top)))
		if v < whole[i] {
			height = max(leastPart, height*v/whole[i])
		}
		x := coordinate(float64(i)*step + (step-width)/2)
		b.WriteString("M" + x + " 120v-" + coordinate(height) + "h" + coordinate(width) + "v" + coordinate(height) + "z")
		if series == 0 && v > top {
			c.WriteString("M" + x + " 14h" + coordinate(width) + "v3h-" + coordinate(width) + "z")
		}
	}
	return b.String(), c.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// number formats a value for an axis.
func (p Plot) number(v float64) string {
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if v >= 1000 {
		text = Count(int64(math.Round(v)))
	}
	if p.Unit != "" {
		text += " " + p.Unit
	}
	return text
}

func seriesClass(i int) string { return fmt.Sprintf("series-%d", i+1) }

// empty reports whether there is nothing to draw: no values, and no bars.
func (p Plot) empty() bool {
	for _, s := range p.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) && (v != 0 || !p.Bars) {
				return false
			}
		}
	}
	return true
}
