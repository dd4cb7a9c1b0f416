package ui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestPlot_ScaleHasTheDecadesOfItsValues(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   scale
	}{
		{nil, scale{0, 2}},
		{[]float64{math.NaN(), 0}, scale{0, 2}},
		{[]float64{3}, scale{-1, 1}},
		{[]float64{0.001, 0.05}, scale{-1, 1}},
		{[]float64{2, 50_000}, scale{0, 5}},
		{[]float64{100, 100}, scale{1, 3}},
	} {
		if got := (Plot{Series: []Series{{Values: test.values}}}).scale(); got != test.want {
			t.Errorf("%v: %v, want %v", test.values, got, test.want)
		}
	}
	var labels []string
	for _, d := range (Plot{Series: []Series{{Values: []float64{0.2, 2e6}}}}).decades() {
		labels = append(labels, d.label)
	}
	if got, want := strings.Join(labels, " | "), "0.1 ms | 1 ms | 10 ms | 100 ms | 1 s | 10 s | 100 s | 1,000 s | 10,000 s"; got != want {
		t.Errorf("the lines are %s, want %s", got, want)
	}
}

func TestPlot_BreaksLinesAtGaps(t *testing.T) {
	nan := math.NaN()
	s := Series{Values: []float64{1, 100, nan, 10, nan, 100, 1}}
	p := Plot{Series: []Series{s}}
	if got := p.path(s); got != "M34.3 119.5L102.9 6M377.1 6L445.7 119.5" {
		t.Errorf("the line is %s", got)
	}
	if got := p.dots(s); got != "M240 62.8h.01" {
		t.Errorf("the dots are %s", got)
	}
	one := Series{Values: []float64{1}}
	if p := (Plot{Series: []Series{one}}); p.path(one) != "" || p.dots(one) != "M240 62.8h.01" {
		t.Errorf("a single value is %q and %q", p.path(one), p.dots(one))
	}
	if !(Plot{Series: []Series{{Values: []float64{nan, nan}}}}).empty() {
		t.Error("a plot without values is not empty")
	}
}

func TestOutcomes_DescribeTheRuns(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	outcomes := []Outcome{{job.Completed, now.Add(-time.Hour)}, {job.Completed, now.Add(-time.Minute)},
		{job.Discarded, now.Add(-time.Second)}}
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

func TestPlot_TicksAreAtTimesOfTheClock(t *testing.T) {
	for _, test := range []struct {
		start, zone string
		step        time.Duration
		n           int
		want        string
	}{
		{"2026-03-01T11:07:00Z", "UTC", time.Minute, 60, "11:10 5% 11:20 21.67% 11:30 38.33% 11:40 55% 11:50 71.67% 12:00 88.33%"},
		{"2026-03-01T11:00:00Z", "UTC", 20 * time.Minute, 72,
			"12:00 4.17% 15:00 16.67% 18:00 29.17% 21:00 41.67% 2 Mar 54.17% 03:00 66.67% 06:00 79.17%"},
		{"2026-02-27T12:00:00Z", "UTC", 3 * time.Hour, 56, "28 Feb 7.14% 1 Mar 21.43% 2 Mar 35.71% 3 Mar 50% 4 Mar 64.29% 5 Mar 78.57%"},
		{"2026-03-01T11:00:00Z", "Europe/Berlin", 20 * time.Minute, 72,
			"15:00 12.5% 18:00 25% 21:00 37.5% 2 Mar 50% 03:00 62.5% 06:00 75% 09:00 87.5%"},
		{"2026-03-01T11:00:00Z", "Asia/Kolkata", time.Hour, 24,
			"18:00 6.25% 21:00 18.75% 2 Mar 31.25% 03:00 43.75% 06:00 56.25% 09:00 68.75% 12:00 81.25%"},
		// Clocks are put forward at 2:00, back at 3:00.
		{"2026-03-27T23:00:00Z", "Europe/Berlin", time.Hour, 72, "12:00 16.67% 29 Mar 33.33% 12:00 48.61% 30 Mar 65.28% 12:00 81.94%"},
		{"2026-10-24T22:00:00Z", "Europe/Berlin", 20 * time.Minute, 24,
			"01:00 12.5% 02:00 25% 02:00 37.5% 03:00 50% 04:00 62.5% 05:00 75% 06:00 87.5%"},
		{"2026-10-23T22:00:00Z", "Europe/Berlin", 3 * time.Hour, 56,
			"25 Oct 14.29% 26 Oct 29.17% 27 Oct 43.45% 28 Oct 57.74% 29 Oct 72.02% 30 Oct 86.31%"},
	} {
		start, err := time.Parse(time.RFC3339, test.start)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tick := range (Plot{Start: start, Step: test.step, Series: []Series{{Values: make([]float64, test.n)}}}).ticks(zone) {
			got = append(got, tick.label, tick.at)
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("from %s in %s:\n%s, want\n%s", test.start, test.zone, text, test.want)
		}
	}
}

func TestPlot_ClocksNameTheZones(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	p := Plot{Start: time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), Step: time.Hour, Series: []Series{{Values: make([]float64, 3)}}}
	if got, want := asJSON(p.clocks(zone)), `[{"from":1774742400000,"offset":3600,"name":"CET"},{"from":1774746000000,"offset":7200,"name":"CEST"}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := asJSON(p.clocks(time.UTC)), `[{"from":1774742400000,"offset":0,"name":"UTC"}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
