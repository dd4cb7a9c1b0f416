package schedule

import "time"

// Private returns a copy of the grid for the use of one goroutine, which finds the next
// of many points in a row faster: it remembers the last day and the last period of the
// zone's clock that it looked at.
func (g *Grid) Private() *Grid {
	own := *g
	if c, ok := g.Frequency.(*Cron); ok {
		private := *c
		private.recent = &recent{}
		own.Frequency = &private
	}
	return &own
}

// recent is what a private cron expression looked at last.
type recent struct {
	begin, end, offset int64 // a part of a period of the zone's clock
	day                int64
	known, matches     bool // whether day is known, and whether it matches
}

// period is periodAt for the zone of the expression.
func (c *Cron) period(instant int64) (offset, end int64) {
	r := c.recent
	if r == nil {
		return periodAt(c.zone, instant)
	}
	if instant < r.begin || instant >= r.end {
		r.begin = instant
		r.offset, r.end = periodAt(c.zone, instant)
	}
	return r.offset, r.end
}

// reading returns the first matching reading at or after one, as pattern.next.
func (c *Cron) reading(reading int64) (int64, bool) {
	r := c.recent
	if r == nil {
		return c.next(reading)
	}
	minute := -FloorDiv(-reading, 60)
	day := FloorDiv(minute, minutesPerDay)
	if !r.known || r.day != day {
		year, month, date := time.Unix(day*secondsPerDay, 0).UTC().Date()
		r.day, r.known, r.matches = day, true, c.dates(year, month)&(1<<date) != 0
	}
	if r.matches {
		of := int(minute - day*minutesPerDay)
		if hour, at, ok := c.nextInDay(of/60, of%60); ok {
			return (day*minutesPerDay + int64(hour*60+at)) * 60, true
		}
	}
	return c.next((day + 1) * secondsPerDay)
}

// firstUnshown is the function firstUnshown for the zone of the expression.
func (c *Cron) firstUnshown(instant int64) int64 {
	if offset, end := c.period(instant - lookaround); instant < end {
		return instant + offset + 1
	}
	return firstUnshown(c.zone, instant)
}

// firstShowing is the function firstShowing for the zone of the expression.
func (c *Cron) firstShowing(reading int64) int64 {
	if offset, end := c.period(reading - lookaround); reading-offset < end && reading-lookaround+offset < reading {
		return reading - offset
	}
	return firstShowing(c.zone, reading)
}
