package outbox

import (
	"testing"
	"time"
)

func TestArrivals_WaitForFewRowsThatArriveSteadily(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, x := range []struct {
		name     string
		rows     int           // in each batch
		every    time.Duration // from one batch to the next
		batches  int
		since    time.Duration // the last batch
		min, max time.Duration
	}{
		{"one row", 1, ms, 1, ms, 0, 0},
		{"a few rows at once", 10, ms, 1, ms, 0, 0},
		{"ten a second", 1, 100 * ms, 50, ms, 0, 0},
		{"500 a second, at once", 1, 2 * ms, 500, 0, 5 * ms, 5 * ms},
		{"500 a second, after the batch was sent", 1, 2 * ms, 500, 2 * ms, 3 * ms, 3 * ms},
		{"500 a second, which have waited", 1, 2 * ms, 500, 6 * ms, 0, 0},
		{"4,000 a second", 4, ms, 1000, ms, 800 * time.Microsecond, 1200 * time.Microsecond},
		{"full batches", maxRows, 50 * ms, 10, 50 * ms, 0, 0},
	} {
		var a arrivals
		now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		for range x.batches {
			now = now.Add(x.every)
			a.took(now, x.rows)
		}
		if got := a.pause(now.Add(x.since)); got < x.min || got > x.max {
			t.Errorf("%s: waits %s, want %s to %s", x.name, got, x.min, x.max)
		}
		a.took(now.Add(2*time.Second), 0)
		a.took(now.Add(2*time.Second), 1)
		if got := a.pause(now.Add(2 * time.Second)); got != 0 {
			t.Errorf("%s, two seconds later: a row waits %s", x.name, got)
		}
	}
}
