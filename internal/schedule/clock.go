package schedule

import (
	"math/bits"
	"time"
)

// ClockChange is a change of a zone's clock that concerns a grid: the expression has a
// reading that the clock skips or shows twice.
type ClockChange struct {
	At time.Time // the instant of the change
	// Double is set if readings are shown twice; else the clock skips them.
	Double bool
	Points int64 // how many readings of the grid are skipped or shown twice
}

// Clock describes how a grid follows a wall clock.
type Clock struct {
	Zone *time.Location
	// Watched is set if the expression is matched minute by minute, so that skipped
	// readings have no point and readings shown twice have two. Otherwise each reading has
	// one point.
	Watched bool
	// AllHours is set if every hour matches, so that its points go on through a change.
	AllHours bool
}

// Clock returns how the grid follows a wall clock; false if it does not, as the grid of
// an interval.
func (g *Grid) Clock() (Clock, bool) {
	c, ok := g.Frequency.(*Cron)
	if !ok {
		return Clock{}, false
	}
	return Clock{c.zone, c.watched, c.hours&allHours == allHours}, true
}

// ClockChanges returns the first n changes of the clock with from <= At < to that
// concern the grid.
func (g *Grid) ClockChanges(from, to time.Time, n int) []ClockChange {
	c, ok := g.Frequency.(*Cron)
	if !ok {
		return nil
	}
	if from.Before(g.Begin) {
		from = g.Begin
	}
	if !g.Until.IsZero() && to.After(g.Until) {
		to = g.Until
	}
	var changes []ClockChange
	stop := to.Unix()
	for instant := from.Unix() - 1; instant < stop && len(changes) < n; {
		offset, end := periodAt(c.zone, instant)
		if end >= stop || end < from.Unix() {
			instant = end
			continue
		}
		after, _ := periodAt(c.zone, end)
		if points := g.readings(c, end+min(offset, after), end+max(offset, after)); offset != after && points > 0 {
			changes = append(changes, ClockChange{At: time.Unix(end, 0).UTC(), Double: after < offset, Points: points})
		}
		instant = end
	}
	return changes
}

// readings returns how many readings of an expression there are in [from, to) on dates
// that are not excluded.
func (g *Grid) readings(c *Cron, from, to int64) (n int64) {
	for from < to {
		day := FloorDiv(from, secondsPerDay)
		end := min(to, (day+1)*secondsPerDay)
		if _, excluded := g.Except.find(day); !excluded {
			n += c.countReadings(from, end)
		}
		from = end
	}
	return n
}

// EitherDay reports whether an expression restricts both the day of the month and the
// day of the week, of which one is enough.
func (g *Grid) EitherDay() bool {
	c, ok := g.Frequency.(*Cron)
	return ok && !c.both
}

// LeapDayOnly reports whether all points of an expression are on 29 February.
func (g *Grid) LeapDayOnly() bool {
	c, ok := g.Frequency.(*Cron)
	if !ok || bits.OnesCount64(c.months) != 1 || c.months&(1<<time.February) == 0 {
		return false
	}
	for year := 2001; year < 2029; year++ { // every weekday that a 1 February can be, in leap years and others
		if from(c.dates(year, time.February), 1)&(1<<29-1) != 0 {
			return false
		}
	}
	return true
}
