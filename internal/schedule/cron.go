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
	recent *recent // nil if the expression is shared; see Grid.Private
}

// horizon is how far ahead Next searches, in years. The rarest expressions need a
// 29th of February on one day of the week: around a century without a leap day it
// is 40 years away.
const horizon = 60

// ruleOnly is a time after which every zone follows its standing rule.
var ruleOnly = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// ParseCron reads a cron expression of five fields, or one of @hourly, @daily,
// @weekly, @monthly and @yearly, which is matched against the wall clock of zone
// (nil: UTC). Days may be written as in Quartz: L, L-3, 15W, LW, 5L, MON#2 and ?;
// Sunday is 0 or 7. The text of an error completes "cron …".
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

// String returns the expression as it was passed to [ParseCron].
func (c *Cron) String() string { return c.text }

// Location returns the zone whose clock the expression is matched against.
func (c *Cron) Location() *time.Location { return c.zone }

// First returns the first tick at or after start.
func (c *Cron) First(start time.Time) time.Time {
	return c.Next(time.Time{}, justBefore(start))
}

// Next returns the first tick after t. It ignores due.
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

// nextFixed returns the first tick after an instant, for an expression of fixed
// times.
func (c *Cron) nextFixed(after int64) (int64, bool) {
	reading, ok := c.reading(c.firstUnshown(after))
	if !ok {
		return 0, false
	}
	return c.firstShowing(reading), true
}

// nextWatched returns the first tick after an instant, for an expression that is
// matched against the clock minute by minute.
func (c *Cron) nextWatched(after int64) (int64, bool) {
	limit := after + horizon*366*secondsPerDay
	for instant := after + 1; instant < limit; {
		offset, end := c.period(instant)
		reading, ok := c.reading(instant + offset)
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
