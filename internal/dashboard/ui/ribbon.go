package ui

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ribbon is a period of time around now, in columns of equal length. What succeeded and
// what is planned stands above a line, what failed hangs below it. overview.js moves the
// line of the present and adds what a Plot has: the values under the pointer, and what
// its addresses are for.
type Ribbon struct {
	ID      string // unique on the page
	Title   string
	Summary string // describes it in sentences, for screen readers
	// Start is when the first column begins, Step how long each is. Now is the present;
	// if it is zero, all columns are past.
	Start time.Time
	Step  time.Duration
	Now   time.Time
	// Ran, Failed and Planned are counts by column: attempts, those of them that failed,
	// and runs to come. NaN is a column that can have none.
	Ran, Failed, Planned []float64
	Notes                []string // describe columns further; nil for none
	Tracks               []Track  // what fails, those that began first in front
	Peak                 string   // describes the highest column; "" for none
	// Zoom and Open are those of a Plot.
	Zoom, Open string
}

// Track is something that fails from a time on until now.
type Track struct {
	Since time.Time
	Label string
	Href  string
}

// The drawing area of the columns, in units of the ribbon: a column is one unit wide.
const (
	ribbonLine  = 78.0 // between what succeeded and what failed
	ribbonTop   = 76.0 // of the highest column above the line
	ribbonDepth = 20.0 // of the lowest column below it
	leastColumn = 3.0
	cutGap      = 4.0 // below the top of a column that is cut
	columnWidth = 0.76
	columnUnits = "0.76" // the same, as a text
)

// end returns when the last column ends.
func (r *Ribbon) end() time.Time { return r.Start.Add(r.Step * time.Duration(len(r.Ran))) }

// share returns the place of a time between the edges of the ribbon, from 0 to 1.
func (r *Ribbon) share(t time.Time) float64 {
	total := r.end().Sub(r.Start)
	if total <= 0 {
		return 0
	}
	return math.Max(0, math.Min(1, float64(t.Sub(r.Start))/float64(total)))
}

// at returns the place of a time as a percentage of the width.
func (r *Ribbon) at(t time.Time) string { return Percentage(r.share(t)) }

// cutAbove is how many times higher than usual columns a column may be. What is higher is
// cut, with a gap below its top, so that it doesn't flatten all others.
const cutAbove = 4

// full returns the value of a column of full height.
func (r *Ribbon) full() float64 {
	var values []float64
	for i := range r.Ran {
		bad := zero(r.Failed[i])
		if v := max(bad, zero(r.Ran[i])-bad+zero(r.Planned[i])); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	return min(values[len(values)-1], max(1, cutAbove*values[len(values)*9/10]))
}

// zero returns a value, 0 for NaN.
func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// columns returns the columns as paths: what succeeded, what is planned, and what
// failed. A column's height is the square root of its share of the highest one, so that
// a quiet hour beside a busy one can be seen.
func (r *Ribbon) columns() (ran, planned, failed string) {
	var above, ahead, below strings.Builder
	full := r.full()
	height := func(v, most float64) float64 { return math.Max(leastColumn, most*math.Sqrt(min(1, v/full))) }
	column := func(b *strings.Builder, i int, from, high float64) {
		x := strconv.FormatFloat(float64(i)+(1-columnWidth)/2, 'f', 2, 64)
		b.WriteString("M" + x + " " + coordinate(from) + "v" + coordinate(high) + "h" + columnUnits + "v" + coordinate(-high) + "z")
	}
	for i := range r.Ran {
		bad := zero(r.Failed[i])
		good, plan := zero(r.Ran[i])-bad, zero(r.Planned[i])
		top := 0.0
		if good > 0 {
			if top = height(good, ribbonTop); good > full {
				column(&above, i, ribbonLine-top+cutGap, -cutGap/2)
				column(&above, i, ribbonLine, cutGap*3/2-top)
			} else {
				column(&above, i, ribbonLine, -top)
			}
		}
		if most := height(good+plan, ribbonTop); plan > 0 && most > top {
			column(&ahead, i, ribbonLine-top, top-most)
		}
		if bad > 0 {
			column(&below, i, ribbonLine, height(bad, ribbonDepth))
		}
	}
	return above.String(), ahead.String(), below.String()
}

// plot returns the ribbon as a plot of the same columns: its axis, and what the script
// needs.
func (r *Ribbon) plot() Plot {
	return Plot{
		ID: r.ID, Title: r.Title, Start: r.Start, Step: r.Step, Notes: r.Notes, Zoom: r.Zoom, Open: r.Open, Counts: true,
		Series: []Series{{"attempts", r.Ran}, {"failed", r.Failed}, {"planned", r.Planned}},
	}
}

// trackHeight is the height of a track, in pixels.
const trackHeight = 24

// anchor returns where the label of a track begins or ends: above its line, on the side
// with more room.
func (r *Ribbon) anchor(t *Track) (x, anchor, dx string) {
	if share := r.share(t.Since); share < 0.45 {
		return Percentage(share), "start", "0"
	}
	return r.at(r.Now), "end", "-8"
}
