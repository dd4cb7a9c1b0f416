package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
)

// round is what the target expects and has seen of one set of jobs, which have
// numbers of their own, one after the other.
type round struct {
	first    int64
	due      []time.Time
	seen     []arrival
	distinct atomic.Int64
	// hold is how long a response is held back.
	hold time.Duration
}

// arrival is what was seen of one job. Times are in nanoseconds since 1970.
type arrival struct {
	times    atomic.Int32
	at       atomic.Int64 // first
	again    atomic.Int64 // second
	answered atomic.Bool  // the first
	broken   atomic.Bool  // the first: the connection was cut before the response
}

func newRound(first int64, n int) *round {
	return &round{first: first, due: make([]time.Time, n), seen: make([]arrival, n)}
}

// arrive notes that a job's request is there.
func (r *round) arrive(number int64, at time.Time) (a *arrival, first bool) {
	a = &r.seen[number-r.first]
	switch a.times.Add(1) {
	case 1:
		a.at.Store(at.UnixNano())
		r.distinct.Add(1)
		return a, true
	case 2:
		a.again.Store(at.UnixNano())
	}
	return a, false
}

func (r *round) holds(number int64) bool {
	return number >= r.first && number < r.first+int64(len(r.seen))
}

func (a *arrival) time() time.Time { return time.Unix(0, a.at.Load()) }

// lookEvery is how often what is awaited is looked at.
const lookEvery = 10 * time.Millisecond

// until waits for a condition, no longer than to a time. It reports whether the
// condition came about; the error is that of ctx.
func until(ctx context.Context, end time.Time, condition func() bool) (bool, error) {
	return untilEach(ctx, lookEvery, end, condition)
}

// untilEach is until for a condition that costs more to look at.
func untilEach(ctx context.Context, every time.Duration, end time.Time, condition func() bool) (bool, error) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if condition() {
			return true, ctx.Err()
		}
		if time.Now().After(end) {
			return false, ctx.Err()
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-ticker.C:
		}
	}
}

// sleepUntil waits for a time.
func sleepUntil(ctx context.Context, at time.Time) error {
	pause.For(ctx, time.Until(at))
	return ctx.Err()
}

// outcome is what a round came to.
type outcome struct {
	planned, missing, duplicates, early int
	mostEarly                           time.Duration
	late                                []float64 // milliseconds
	lastArrival, firstDue               time.Time
}

// outcome looks at the jobs that count; nil means all.
func (r *round) outcome(counts func(i int) bool) *outcome {
	o := &outcome{}
	for i := range r.seen {
		if counts == nil || counts(i) {
			o.add(r.due[i], &r.seen[i])
		}
	}
	return o
}

func (o *outcome) add(due time.Time, a *arrival) {
	o.planned++
	if o.firstDue.IsZero() || due.Before(o.firstDue) {
		o.firstDue = due
	}
	times := a.times.Load()
	if times == 0 {
		o.missing++
		return
	}
	if times > 1 {
		o.duplicates++
	}
	at := a.time()
	late := at.Sub(due)
	if late < 0 {
		o.early++
		o.mostEarly = max(o.mostEarly, -late)
	}
	if at.After(o.lastArrival) {
		o.lastArrival = at
	}
	o.late = append(o.late, float64(late)/float64(time.Millisecond))
}

// throughput is how many jobs a second arrived from when the first was due.
func (o *outcome) throughput() float64 {
	took := o.lastArrival.Sub(o.firstDue).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(len(o.late)) / took
}

// problem says what was wrong, as a clause; "" when nothing was. Jobs may
// arrive twice after a crash only.
func (o *outcome) problem(twiceIsFine bool) string {
	var wrong []string
	if o.missing > 0 {
		wrong = append(wrong, fmt.Sprintf("%s of %s jobs did not arrive", thousands(o.missing), thousands(o.planned)))
	}
	if o.duplicates > 0 && !twiceIsFine {
		wrong = append(wrong, fmt.Sprintf("%s of %s jobs arrived more than once", thousands(o.duplicates), thousands(o.planned)))
	}
	if o.early > 0 {
		wrong = append(wrong, fmt.Sprintf("%s of %s jobs arrived before they were due, by up to %s", thousands(o.early),
			thousands(o.planned), o.mostEarly))
	}
	return strings.Join(wrong, ", and ")
}
