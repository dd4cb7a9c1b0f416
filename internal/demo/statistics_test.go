package demo

import (
	"slices"
	"testing"
	"time"
)

func TestLatenessIsTheMedianAndTheWorst(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		late          []time.Duration
		median, worst time.Duration
	}{
		{"none", nil, 0, 0},
		{"one", []time.Duration{7}, 7, 7},
		{"an even number", []time.Duration{10, 2, 4, 100}, 7, 100},
		{"an odd number", []time.Duration{9, 1, 5}, 5, 9},
		{"an early one", []time.Duration{-4, 2, 2}, 2, 2},
	} {
		var runs []*run
		for _, late := range test.late {
			runs = append(runs, &run{due: start, fired: start.Add(late)})
		}
		runs = append(runs, &run{due: start}) // never arrived: not late, but gone
		if median, worst := lateness(runs); median != test.median || worst != test.worst {
			t.Errorf("%s: %d and %d, want %d and %d", test.name, median, worst, test.median, test.worst)
		}
	}
}

func TestTalliesBeginWithTheMostFrequent(t *testing.T) {
	t.Parallel()
	got := count([]string{"b", "c", "a", "c", "b", "c"}, func(s string) string { return s })
	if want := []tally{{"c", 3}, {"b", 2}, {"a", 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := listed(nil); got != "none" {
		t.Errorf("nothing is listed as %q", got)
	}
}
