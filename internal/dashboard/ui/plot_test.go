package ui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestPlot_TopIsARoundNumber(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 4.9: 5, 70: 100, 1999: 2000} {
		if got := (Plot{Series: []Series{{Values: []float64{math.NaN(), most}}}}).top(); math.Abs(got-want) > 1e-9 {
			t.Errorf("up to %v: %v, want %v", most, got, want)
		}
	}
	if got := (Plot{Top: 100, Series: []Series{{Values: []float64{3}}}}).top(); got != 100 {
		t.Errorf("a top that was asked for became %v", got)
	}
}

func TestPlot_BreaksLinesAtGaps(t *testing.T) {
	nan := math.NaN()
	s := Series{Values: []float64{0, 10, nan, 5, nan, 10, 0}}
	p := Plot{Series: []Series{s}}
	if got := p.path(s); got != "M0 120L80 6M400 6L480 120" {
		t.Errorf("the line is %s", got)
	}
	if got := p.dots(s); got != "M240 63h.01" {
		t.Errorf("the dots are %s", got)
	}
	one := Series{Values: []float64{1}}
	if p := (Plot{Series: []Series{one}}); p.path(one) != "" || p.dots(one) != "M0 6h.01" {
		t.Errorf("a single value is %q and %q", p.path(one), p.dots(one))
	}
	if !(Plot{Series: []Series{{Values: []float64{nan, nan}}}}).empty() {
		t.Error("a plot without values is not empty")
	}
}

func TestOutcomes_DescribeTheRuns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	outcomes := []Outcome{{job.Completed, now.Add(-time.Hour)}, {job.Completed, now.Add(-time.Minute)}, {job.Discarded, now.Add(-time.Second)}}
	if got, want := stripWords(outcomes, now), "The last 3 runs: 2 completed, 1 failed. The latest: failed 1 s ago."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	shapes := map[string]job.State{}
	for _, state := range []job.State{job.Completed, job.Discarded, job.Cancelled, job.Executing} {
		shape := markPath(0, state)
		if other, taken := shapes[shape]; taken || !strings.HasSuffix(shape, "z") {
			t.Errorf("%s has the shape of %s: %s", state, other, shape)
		}
		shapes[shape] = state
	}
}
