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
	if got := p.path(s); got != "M34.3 120L102.9 6M377.1 6L445.7 120" {
		t.Errorf("the line is %s", got)
	}
	if got := p.dots(s); got != "M240 63h.01" {
		t.Errorf("the dots are %s", got)
	}
	one := Series{Values: []float64{1}}
	if p := (Plot{Series: []Series{one}}); p.path(one) != "" || p.dots(one) != "M240 6h.01" {
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

func TestPlot_BarsAreCutRatherThanFlattened(t *testing.T) {
	values := make([]float64, 60)
	failed := make([]float64, 60)
	for i := range values {
		values[i], failed[i] = 100, 1
	}
	values[30] = 100_000
	p := Plot{Bars: true, Series: []Series{{Name: "all", Values: values}, {Name: "failed", Values: failed}}}
	if top := p.top(); top != 200 || !p.cuts() {
		t.Errorf("the upper edge is %g, cuts %v", top, p.cuts())
	}
	all, cuts := p.bars(0)
	part, _ := p.bars(1)
	if !strings.HasPrefix(all, "M1 120v-57h6v57z") || !strings.Contains(all, "M241 120v-114h6v114z") || !strings.HasPrefix(part, "M1 120v-1.5h6v1.5z") || cuts != "M241 14h6v3h-6z" {
		t.Errorf("the bars are %s and %s, the cuts %s", all, part, cuts)
	}
}

func TestPlot_ALineAtZeroIsNotNothing(t *testing.T) {
	for _, test := range []struct {
		plot Plot
		want bool
	}{
		{Plot{Series: []Series{{Values: []float64{0, 0}}}}, false},
		{Plot{Series: []Series{{Values: []float64{math.NaN()}}}}, true},
		{Plot{Bars: true, Series: []Series{{Values: []float64{0}}}}, true},
	} {
		if got := test.plot.empty(); got != test.want {
			t.Errorf("%+v: empty is %v", test.plot, got)
		}
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
		{"2026-03-01T11:00:00Z", "UTC", 20 * time.Minute, 72, "12:00 4.17% 15:00 16.67% 18:00 29.17% 21:00 41.67% 2 Mar 54.17% 03:00 66.67% 06:00 79.17%"},
		{"2026-02-27T12:00:00Z", "UTC", 3 * time.Hour, 56, "28 Feb 7.14% 1 Mar 21.43% 2 Mar 35.71% 3 Mar 50% 4 Mar 64.29% 5 Mar 78.57%"},
		{"2026-03-01T11:00:00Z", "Europe/Berlin", 20 * time.Minute, 72, "15:00 12.5% 18:00 25% 21:00 37.5% 2 Mar 50% 03:00 62.5% 06:00 75% 09:00 87.5%"},
		{"2026-03-01T11:00:00Z", "Asia/Kolkata", time.Hour, 24, "18:00 6.25% 21:00 18.75% 2 Mar 31.25% 03:00 43.75% 06:00 56.25% 09:00 68.75% 12:00 81.25%"},
		// Clocks are put forward at 2:00, back at 3:00.
		{"2026-03-27T23:00:00Z", "Europe/Berlin", time.Hour, 72, "12:00 16.67% 29 Mar 33.33% 12:00 48.61% 30 Mar 65.28% 12:00 81.94%"},
		{"2026-10-24T22:00:00Z", "Europe/Berlin", 20 * time.Minute, 24, "01:00 12.5% 02:00 25% 02:00 37.5% 03:00 50% 04:00 62.5% 05:00 75% 06:00 87.5%"},
		{"2026-10-23T22:00:00Z", "Europe/Berlin", 3 * time.Hour, 56, "25 Oct 14.29% 26 Oct 29.17% 27 Oct 43.45% 28 Oct 57.74% 29 Oct 72.02% 30 Oct 86.31%"},
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
