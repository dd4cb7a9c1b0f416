package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Lateness is how late runs or attempts started, as dots on a logarithmic scale that is
// the same wherever it is drawn. The latest has a ring.
type Lateness struct {
	ID   string // unique on the page
	Dots []LateDot
	// Of names what the dots are: "run" and "runs".
	Of [2]string
	// Around are faint dots for comparison, such as other runs of the same schedule, and
	// AroundOf what they are: "the latest runs of this schedule".
	Around   []time.Duration
	AroundOf string
}

// LateDot is one start, of several the oldest first.
type LateDot struct {
	Late time.Duration
	Text string // describes it: "Job 12"
}

// The scale of the dots: powers of ten of a millisecond, with some room at the ends, where
// the dots of shorter and longer times are.
const (
	lateLow, lateHigh     = -1.5, 4.5
	lateFirst, lateLast   = 0, 4 // the exponents that have a line: 1 ms to 10 s
	lateWarn, lateBad     = time.Second, 10 * time.Second
	lateColumn            = 0.011 // the least distance between dots side by side, as a share of the width
	lateRows              = 7     // how many dots stand on top of each other; more overlap
	lateMiddle, lateLevel = 30.0, 7.5
)

// latePlace returns the place of a lateness on the scale, from 0 to 1.
func latePlace(late time.Duration) float64 {
	ms := math.Max(float64(late)/float64(time.Millisecond), 1e-9)
	return math.Max(0, math.Min(1, (math.Log10(ms)-lateLow)/(lateHigh-lateLow)))
}

// lateTone returns the class of a dot.
func lateTone(late time.Duration) string {
	switch {
	case late >= lateBad:
		return "bad"
	case late >= lateWarn:
		return "warn"
	}
	return "fine"
}

// lateLines returns the lines of the scale.
func lateLines() (lines []decade) {
	for e := lateFirst; e <= lateLast; e++ {
		lines = append(lines, decade{at: Percentage((float64(e) - lateLow) / (lateHigh - lateLow)), label: powerOfTen(e)})
	}
	return lines
}

// placed is a dot at its place.
type placed struct{ x, y, class, text string }

// places returns the dots side by side, and on top of each other where there are several:
// the first in the middle, others in turns above and below it.
func (l *Lateness) places() []placed {
	columns := map[int]int{}
	put := func(late time.Duration) (x, y string) {
		column := int(math.Round(latePlace(late) / lateColumn))
		n := columns[column]
		columns[column]++
		return Percentage(math.Min(1, float64(column)*lateColumn)), coordinate(lateMiddle + level(n%lateRows)*lateLevel)
	}
	all := make([]placed, 0, len(l.Dots)+len(l.Around))
	// The latest is put first, so that it is in the middle, and drawn last.
	for i, d := range slices.Backward(l.Dots) {
		p := placed{class: lateTone(d.Late), text: LateText(d.Late)}
		if p.x, p.y = put(d.Late); i == len(l.Dots)-1 {
			p.class += " latest"
		} else if i < len(l.Dots)/2 {
			p.class += " old"
		}
		if d.Text != "" {
			p.text = d.Text + ": " + p.text
		}
		all = append(all, p)
	}
	for _, late := range l.Around {
		p := placed{class: "around", text: LateText(late)}
		p.x, p.y = put(late)
		all = append(all, p)
	}
	slices.Reverse(all)
	return all
}

// level returns how far above or below the middle the dot with a number stands: 0, -1, 1,
// -2, 2 and so on.
func level(n int) float64 {
	if n%2 == 1 {
		return -float64((n + 1) / 2)
	}
	return float64(n / 2)
}

// LateText describes a lateness: "on time", "2.1 ms late".
func LateText(late time.Duration) string {
	if late <= 0 {
		return "on time"
	}
	return Millis(late) + " late"
}

// words describes the dots in a few words.
func (l *Lateness) words() string {
	if len(l.Dots) == 0 {
		return "none started yet"
	}
	times := make([]time.Duration, len(l.Dots))
	for i, d := range l.Dots {
		times[i] = d.Late
	}
	latest := times[len(times)-1]
	if len(times) == 1 {
		return LateText(latest)
	}
	slices.Sort(times)
	return fmt.Sprintf("latest %s · median %s · worst %s", LateText(latest), Millis(times[(len(times)-1)/2]), Millis(times[len(times)-1]))
}

// summary describes the dots for screen readers.
func (l *Lateness) summary() string {
	text := "Lateness of " + Plural(len(l.Dots), l.Of[0], l.Of[1]) + ": " + l.words() + "."
	if len(l.Around) > 0 {
		text += " " + Capital(l.AroundOf) + " started " + Millis(slices.Min(l.Around)) + " to " + Millis(slices.Max(l.Around)) + " late."
	}
	return text
}

// smallDots returns the dots as a path for a small strip: lines of almost no length, whose
// round ends show as dots.
func smallDots(dots []LateDot, width, middle float64) (fine, late, latest string) {
	columns := map[int]int{}
	for i, d := range slices.Backward(dots) {
		column := int(latePlace(d.Late) * width / 4)
		n := columns[column]
		columns[column]++
		at := "M" + coordinate(float64(column)*4+2) + " " + coordinate(middle+math.Max(-2, math.Min(2, level(n)))*4) + "h.01"
		switch {
		case i == len(dots)-1:
			latest = at
		case d.Late >= lateWarn:
			late += at
		default:
			fine += at
		}
	}
	return fine, late, latest
}

// smallLine returns the lines of the scale of a small strip.
func smallLine(width, height float64) string {
	path := ""
	for e := lateFirst; e <= lateLast; e++ {
		path += "M" + coordinate((float64(e)-lateLow)/(lateHigh-lateLow)*width) + " 0V" + strconv.Itoa(int(height))
	}
	return path
}
