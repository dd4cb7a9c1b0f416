package ui

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// columnsOf returns the numbers of the columns that a path has, and their heights.
func columnsOf(t *testing.T, path string) map[int]float64 {
	t.Helper()
	found := map[int]float64{}
	for _, part := range strings.Split(path, "z") {
		if part == "" {
			continue
		}
		var x, y, h float64
		if _, err := fmt.Sscanf(part, "M%f %fv%f", &x, &y, &h); err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		found[int(x)] += math.Abs(h)
	}
	return found
}

func TestRibbon_ColumnsSayWhatTheDataSays(t *testing.T) {
	nan := math.NaN()
	r := &Ribbon{
		Ran:     []float64{100, 25, 0, 10, nan},
		Failed:  []float64{0, 25, 0, 1, nan},
		Planned: []float64{nan, nan, nan, 91, 25},
	}
	ran, planned, failed := r.columns()
	above, ahead, below := columnsOf(t, ran), columnsOf(t, planned), columnsOf(t, failed)
	if len(above) != 2 || above[0] != ribbonTop || math.Abs(above[3]-ribbonTop*0.3) > 0.1 {
		t.Errorf("above the line: %v", above)
	}
	if len(below) != 2 || below[1] != ribbonDepth/2 || below[3] != leastColumn {
		t.Errorf("below the line: %v", below)
	}
	// What is planned in the column of the present stands on what ran in it.
	if len(ahead) != 2 || math.Abs(above[3]+ahead[3]-ribbonTop) > 0.1 || ahead[4] != ribbonTop/2 {
		t.Errorf("planned: %v", ahead)
	}
}

func TestRibbon_ColumnsAreCutRatherThanFlattenOthers(t *testing.T) {
	r := &Ribbon{Ran: make([]float64, 60), Failed: make([]float64, 60), Planned: make([]float64, 60)}
	for i := range r.Ran {
		r.Ran[i] = 100
	}
	r.Ran[30] = 100_000
	ran, _, _ := r.columns()
	above := columnsOf(t, ran)
	if above[0] != ribbonTop/2 || above[30] != ribbonTop-cutGap {
		t.Errorf("a usual column has %v, the cut one %v", above[0], above[30])
	}
	if strings.Count(ran, "z") != 61 {
		t.Errorf("the cut column has no gap: %s", ran)
	}
}

func TestRibbon_PlacesOfTimes(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r := &Ribbon{Start: start, Step: time.Hour, Ran: make([]float64, 30), Now: start.Add(24 * time.Hour)}
	for after, want := range map[time.Duration]string{-time.Hour: "0%", 6 * time.Hour: "20%", 24 * time.Hour: "80%",
		99 * time.Hour: "100%"} {
		if got := r.at(start.Add(after)); got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	// A label is on the side of its line with more room.
	if x, anchor, _ := r.anchor(&Track{Since: start.Add(6 * time.Hour)}); x != "20%" || anchor != "start" {
		t.Errorf("an early label is at %s, %s", x, anchor)
	}
	if x, anchor, _ := r.anchor(&Track{Since: start.Add(20 * time.Hour)}); x != "80%" || anchor != "end" {
		t.Errorf("a late label is at %s, %s", x, anchor)
	}
}
