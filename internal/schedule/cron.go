package schedule

import (
	"errors"
	"time"
)

// Cron is a frequency written as a cron expression, read in a time zone. Make
// one with [ParseCron]. It does not change, and is safe for concurrent use.
type Cron struct {
	text string
	zone *time.Location
	pattern
}

// horizon is how far ahead a tick is searched, in years. The rarest expressions
// are those that want the 29th of February on one day of the week: around a
// century without leap day they wait for 40 years.
const horizon = 60

// ruleOnly is a time by which no zone has anything planned but its standing
// rule.
var ruleOnly = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseCron reads a cron expression of five fields, or one of @hourly, @daily,
// @weekly, @monthly and @yearly, to be matched against the clock on the wall in
// zone (nil: UTC). The text of an error completes "cron …".
func ParseCron(expr string, zone *time.Location) (*Cron, error) {
	if zone == nil {
		zone = time.UTC
	}
	p, err := parsePattern(expr)
	if err != nil {
		return nil, err
	}
	c := &Cron{text: expr, zone: zone, pattern: p}
	if c.Next(time.Time{}, ruleOnly).IsZero() {
		return nil, errors.New("never fires: there is no such date and time")
	}
	return c, nil
}

// String gives the expression as it was given to [ParseCron].
func (c *Cron) String() string { return c.text }

// Location gives the zone whose clock the expression is matched against.
func (c *Cron) Location() *time.Location { return c.zone }

// First gives the first tick at or after start.
func (c *Cron) First(start time.Time) time.Time {
	return c.Next(time.Time{}, justBefore(start))
}

// Next gives the first tick after t. It has no use for due.
func (c *Cron) Next(_, t time.Time) time.Time {
	next := c.nextFixed
	if c.watched {
		next = c.nextWatched
	}
	instant, ok := next(t.Unix())
	if !ok {
		return time.Time{}
	}
	return time.Unix(instant, 0).UTC()
}

// nextFixed gives the first tick after an instant of an expression of fixed
// times.
func (c *Cron) nextFixed(after int64) (int64, bool) {
	reading, ok := c.next(firstUnshown(c.zone, after))
	if !ok {
		return 0, false
	}
	return firstShowing(c.zone, reading), true
}

// nextWatched gives the first tick after an instant of an expression that is
// matched against the clock minute by minute.
func (c *Cron) nextWatched(after int64) (int64, bool) {
	limit := after + horizon*366*secondsPerDay
	for instant := after + 1; instant < limit; {
		offset, end := periodAt(c.zone, instant)
		reading, ok := c.next(instant + offset)
		if !ok {
			return 0, false
		}
		if reading-offset < end {
			return reading - offset, true
		}
		instant = end
	}
	return 0, false
}
