package schedule

import "time"

// Frequency is how often a schedule runs: a grid of points in time.
//
// Implementations are safe for concurrent use and return times in UTC, cut to
// microseconds.
type Frequency interface {
	// First returns the first due time of a schedule that starts at start: the
	// first grid point at or after it. The grid of an interval begins at start.
	First(start time.Time) time.Time

	// Next returns the first grid point after t on the grid that runs through
	// due, which is any known grid point of the schedule. Only an interval uses
	// due. The zero time means that there is none; an [Interval] and a [Cron]
	// always have one.
	Next(due, t time.Time) time.Time

	// count returns how many points p there are with after < p <= upTo, on the
	// grid that runs through due. Its cost does not grow with their number.
	count(due, after, upTo time.Time) int64
}

// Interval is a frequency of equal steps. Any point determines the grid, which
// extends in both directions.
type Interval struct {
	// Every is the length of a step, cut to whole microseconds. Anything shorter
	// than a second counts as one second.
	Every time.Duration
}

// step returns the length of a step in microseconds.
func (i Interval) step() int64 { return max(i.Every, time.Second).Microseconds() }

// First returns start, cut to microseconds.
func (i Interval) First(start time.Time) time.Time { return cut(start) }

// Next returns the first point due + n*Every after t, for any integer n.
func (i Interval) Next(due, t time.Time) time.Time {
	step, origin := i.step(), due.UnixMicro()
	n := FloorDiv(t.UnixMicro()-origin, step) + 1
	return time.UnixMicro(origin + n*step).UTC()
}

// LatestIn returns the latest grid point p with after < p <= upTo, and false if
// there is none. The grid runs through due.
//
// It bisects, so its cost grows with the logarithm of the number of points.
func LatestIn(f Frequency, due, after, upTo time.Time) (time.Time, bool) {
	within := func(p time.Time) bool { return !p.IsZero() && !p.After(upTo) }

	latest := f.Next(due, after)
	if !within(latest) {
		return time.Time{}, false
	}
	// Invariant: latest is a point within, and none lies in (bound, upTo].
	for bound := upTo; ; {
		following := f.Next(due, latest)
		if !within(following) {
			return latest, true
		}
		middle := latest.Add(bound.Sub(latest) / 2)
		if p := f.Next(due, middle); within(p) {
			latest = p
		} else {
			latest, bound = following, middle
		}
	}
}

// cut removes digits finer than a microsecond, toward the past.
func cut(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// justBefore turns "after" into "at or after".
func justBefore(t time.Time) time.Time { return t.Add(-1) }

// FloorDiv divides rounding down; b is positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
