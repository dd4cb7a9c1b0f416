package schedule

import (
	"math/bits"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// pattern is a parsed cron expression: bit n of a set stands for the value n.
type pattern struct {
	minutes, hours, days, months uint64
	weekdays                     uint64 // Sunday is bit 0

	both    bool // a date must match days and weekdays; else either will do
	watched bool // minute or hour begins with *
}

// next gives the first matching reading at or after one, and false when there is
// none within the horizon.
func (p *pattern) next(reading int64) (int64, bool) {
	// Ticks are at whole minutes.
	t := time.Unix(-floorDiv(-reading, 60)*60, 0).UTC()
	year, month, day := t.Date()

	dates := p.dates(year, month)
	if dates&(1<<day) != 0 {
		if hour, minute, ok := p.nextInDay(t.Hour(), t.Minute()); ok {
			return time.Date(year, month, day, hour, minute, 0, 0, time.UTC).Unix(), true
		}
	}
	hour, minute := lowest(p.hours), lowest(p.minutes)
	dates = from(dates, day+1)
	for last := year + horizon; year <= last; dates = p.dates(year, month) {
		if dates != 0 {
			return time.Date(year, month, lowest(dates), hour, minute, 0, 0, time.UTC).Unix(), true
		}
		if month++; month > time.December {
			year, month = year+1, time.January
		}
	}
	return 0, false
}

// nextInDay gives the first matching time of day at or after hour and minute.
func (p *pattern) nextInDay(hour, minute int) (int, int, bool) {
	if p.hours&(1<<hour) != 0 {
		if rest := from(p.minutes, minute); rest != 0 {
			return hour, lowest(rest), true
		}
	}
	rest := from(p.hours, hour+1)
	return lowest(rest), lowest(p.minutes), rest != 0
}

// dates gives the set of matching days of a month.
func (p *pattern) dates(year int, month time.Month) uint64 {
	if p.months&(1<<month) == 0 {
		return 0
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	length := first.AddDate(0, 1, -1).Day()

	// Five or six weeks in a row, then shifted to have the first of the month at bit 1.
	const weeks = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28 | 1<<35
	byWeekday := p.weekdays * weeks >> first.Weekday() << 1

	set := p.days | byWeekday
	if p.both {
		set = p.days & byWeekday
	}
	return set & (1<<(length+1) - 2)
}

// from gives the members of a set that are n or more.
func from(set uint64, n int) uint64 { return set >> n << n }

// lowest gives the smallest member of a set that is not empty.
func lowest(set uint64) int { return bits.TrailingZeros64(set) }
