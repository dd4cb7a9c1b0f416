package schedule

import "time"

// Frequency is how often a schedule runs: a grid of points in time.
//
// Implementations are safe for concurrent use and return times in UTC, cut to
// microseconds.
type Frequency interface {
	// First gives the first due time of a schedule that is to start at start: the
	// first grid point at or after it. An interval has no grid yet and begins it
	// at start itself.
	First(start time.Time) time.Time

	// Next gives the first grid point strictly after t on the grid that runs
	// through due, which is any known grid point of the schedule. Cron does not
	// need due. The zero time means that there is none within the search
	// horizon, which does not happen for frequencies this package accepts.
	Next(due, t time.Time) time.Time
}

// Interval is a frequency of equal steps. The grid runs through any known point
// of it, in both directions.
type Interval struct {
	// Every is the length of a step, used in whole microseconds. Anything shorter
	// than a second counts as one second.
	Every time.Duration
}

// First gives start itself.
func (i Interval) First(start time.Time) time.Time { return cut(start) }

// Next gives the first point due + n*Every, n being any integer, after t.
func (i Interval) Next(due, t time.Time) time.Time {
	step := max(i.Every, time.Second).Microseconds()
	origin := due.UnixMicro()
	n := floorDiv(t.UnixMicro()-origin, step) + 1
	return time.UnixMicro(origin + n*step).UTC()
}

// Through gives a frequency whose grid runs through a point whatever due time it
// is asked for: of a run that was moved off the grid.
func Through(f Frequency, point time.Time) Frequency { return anchored{f, point} }

type anchored struct {
	Frequency
	point time.Time
}

// Next gives the first grid point after t.
func (a anchored) Next(_, t time.Time) time.Time { return a.Frequency.Next(a.point, t) }

// LatestIn gives the latest grid point p with after < p <= upTo, and false when
// there is none. The grid runs through due.
//
// It bisects, so that its cost grows with the logarithm of the number of points
// in between.
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

// FollowUp gives the due time of the run after the one that was due at due,
// began at started (zero: it never began) and is final at now.
//
// That is the first grid point after due if it is still ahead; else the latest
// one that has passed since the run began, so that one late run makes up for
// all a long run covered; else the first one ahead.
func FollowUp(f Frequency, due, started, now time.Time) time.Time {
	if next := f.Next(due, due); next.After(now) {
		return next
	}
	if started.IsZero() {
		started = now
	}
	if missed, ok := LatestIn(f, due, started, now); ok {
		return missed
	}
	return f.Next(due, now)
}

// Resume gives the first grid point at or after now of a schedule whose first
// due time is first: first itself when that is not past.
func Resume(f Frequency, first, now time.Time) time.Time {
	if !first.Before(now) {
		return cut(first)
	}
	return f.Next(first, justBefore(now))
}

// cut takes away what is finer than a microsecond, toward the past.
func cut(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// justBefore turns "strictly after" into "at or after".
func justBefore(t time.Time) time.Time { return t.Add(-1) }

// floorDiv divides rounding down; b is positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
