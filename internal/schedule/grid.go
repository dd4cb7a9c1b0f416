package schedule

import "time"

// LastDue is the latest due time of any schedule: the end of the year 2199. Stores
// use later times for queue items that wait for something else than their time.
var LastDue = time.Date(2199, 12, 31, 23, 59, 59, 999999000, time.UTC)

// Grid is all due times of a schedule: a frequency with a beginning, an end,
// excluded dates and a shift. It is a [Frequency] whose methods ignore due.
type Grid struct {
	Frequency Frequency // an [Interval] or a [*Cron]

	// Begin is the first possible point, before the shift. The grid of an interval
	// runs through it.
	Begin time.Time
	// Except is the dates without points, before the shift. They are dates in the
	// zone of a cron expression, and in UTC for an interval.
	Except Dates
	// Shift is added to each point; see [ShiftOf].
	Shift time.Duration
	// Until is the last possible due time, after the shift; zero means no end.
	Until time.Time
}

// First returns the first due time of which the point, before the shift, is start
// or later; zero if there is none.
func (g *Grid) First(start time.Time) time.Time {
	return g.Next(time.Time{}, justBefore(start.Add(g.Shift)))
}

// Next returns the first due time after t; zero if there is none. It takes at
// most one step for each range of excluded dates.
func (g *Grid) Next(_, t time.Time) time.Time {
	point := g.point(g.clip(t.Add(-g.Shift)))
	if point.IsZero() {
		return point
	}
	due := point.Add(g.Shift)
	if due.After(LastDue) || !g.Until.IsZero() && due.After(g.Until) {
		return time.Time{}
	}
	return due
}

// clip returns t, or the time just before the beginning if t is earlier.
func (g *Grid) clip(t time.Time) time.Time {
	if t.Before(g.Begin) {
		return justBefore(g.Begin)
	}
	return t
}

// point returns the first point after t that is not on an excluded date.
func (g *Grid) point(t time.Time) time.Time {
	for {
		p := g.Frequency.Next(g.Begin, t)
		if p.IsZero() || p.After(LastDue) {
			return time.Time{}
		}
		end, excluded := g.Except.endOf(p, zoneOf(g.Frequency))
		if !excluded {
			return p
		}
		t = justBefore(end)
	}
}

// Count returns how many due times d there are with after < d <= upTo. Its cost
// grows with the months between them and not with the number of points.
func (g *Grid) Count(after, upTo time.Time) int64 {
	if !g.Until.IsZero() && upTo.After(g.Until) {
		upTo = g.Until
	}
	after, upTo = g.clip(after.Add(-g.Shift)), upTo.Add(-g.Shift)
	if !after.Before(upTo) {
		return 0
	}
	n := g.Frequency.count(g.Begin, after, upTo)
	g.Except.within(zoneOf(g.Frequency), after.Unix(), upTo.Unix()+1, func(begin, end int64) {
		from, to := justBefore(time.Unix(begin, 0)), justBefore(time.Unix(end, 0))
		if from.Before(after) {
			from = after
		}
		if to.After(upTo) {
			to = upTo
		}
		n -= g.Frequency.count(g.Begin, from, to)
	})
	return n
}

// Latest returns the latest n due times d with after < d <= upTo, or all of them if
// there are fewer. n is at least 1.
func (g *Grid) Latest(n int64, after, upTo time.Time) Points {
	if g.Count(after, upTo) > n {
		// The n latest are after low, but not all of them are after high.
		low, high := after.UnixMicro(), upTo.UnixMicro()
		for low+1 < high {
			if middle := low + (high-low)/2; g.Count(time.UnixMicro(middle), upTo) >= n {
				low = middle
			} else {
				high = middle
			}
		}
		after = time.UnixMicro(low)
	}
	return g.Points(after, upTo)
}

func (g *Grid) count(_, after, upTo time.Time) int64 { return g.Count(after, upTo) }

// Points is a number of consecutive points of a grid. From and To are the first
// and the last of them; zero if Count is 0.
type Points struct {
	Count    int64
	From, To time.Time
}

// Points returns the due times d with after < d <= upTo.
func (g *Grid) Points(after, upTo time.Time) Points {
	last, ok := LatestIn(g, time.Time{}, after, upTo)
	if !ok {
		return Points{}
	}
	return Points{Count: g.Count(after, upTo), From: g.Next(time.Time{}, after), To: last}
}

// zoneOf returns the zone in which a frequency's points have their dates.
func zoneOf(f Frequency) *time.Location {
	if c, ok := f.(*Cron); ok {
		return c.zone
	}
	return time.UTC
}
