package schedule

import (
	"math/bits"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// pattern is a parsed cron expression. Bit n of a set is the value n.
type pattern struct {
	minutes, hours, days, months uint64
	weekdays                     uint64 // Sunday is bit 0

	// Days that depend on the month; see months.go.
	fromEnd     uint64    // bit n: n days before the last day (L, L-n)
	nearest     uint64    // bit n: the weekday nearest to day n (nW); bit 0: the last weekday (LW)
	lastWeekday uint64    // bit d: the month's last day of the week d (dL)
	nthWeekday  [5]uint64 // bit d of element n-1: its n-th day of the week d (d#n)

	both    bool // a date must match days and weekdays; otherwise one of them is enough
	watched bool // minute or hour begins with *
}

// next returns the first matching reading at or after one. It returns false if
// there is none within the horizon.
func (p *pattern) next(reading int64) (int64, bool) {
	// Ticks are at whole minutes.
	t := time.Unix(-FloorDiv(-reading, 60)*60, 0).UTC()
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

// nextInDay returns the first matching time of day at or after hour and minute.
func (p *pattern) nextInDay(hour, minute int) (int, int, bool) {
	if p.hours&(1<<hour) != 0 {
		if rest := from(p.minutes, minute); rest != 0 {
			return hour, lowest(rest), true
		}
	}
	rest := from(p.hours, hour+1)
	return lowest(rest), lowest(p.minutes), rest != 0
}

// from returns the members of a set that are n or more.
func from(set uint64, n int) uint64 { return set >> n << n }

// lowest returns the smallest member of a set that is not empty.
func lowest(set uint64) int { return bits.TrailingZeros64(set) }
