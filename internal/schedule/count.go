package schedule

import (
	"math/bits"
	"time"
)

const minutesPerDay = 24 * 60

// count returns the number of points; see [Frequency].
func (i Interval) count(due, after, upTo time.Time) int64 {
	step, origin := i.step(), due.UnixMicro()
	return max(0, FloorDiv(upTo.UnixMicro()-origin, step)-FloorDiv(after.UnixMicro()-origin, step))
}

// count returns the number of ticks; see [Frequency].
func (c *Cron) count(_, after, upTo time.Time) int64 {
	from, to := after.Unix(), upTo.Unix()
	if from >= to {
		return 0
	}
	if c.watched {
		return c.countWatched(from, to)
	}
	return c.countFixed(from, to)
}

// countWatched counts the matching readings of each period.
func (c *Cron) countWatched(after, upTo int64) (n int64) {
	for instant := after + 1; instant <= upTo; {
		offset, end := periodAt(c.zone, instant)
		end = min(end, upTo+1)
		n += c.countReadings(instant+offset, end+offset)
		instant = end
	}
	return n
}

// countFixed counts the readings that the clock has shown or passed for the first
// time, the readings of each gap as one.
func (c *Cron) countFixed(after, upTo int64) int64 {
	n := c.countReadings(firstUnshown(c.zone, after), firstUnshown(c.zone, upTo))
	for instant := after + 1; instant <= upTo; {
		offset, end := periodAt(c.zone, instant)
		// A period may begin behind a gap. All readings in the gap, and the one
		// that the period begins with, are due at its beginning.
		shown := firstUnshown(c.zone, instant-1)
		if together := c.countReadings(shown, instant+offset+1); instant+offset > shown && together > 1 {
			n -= together - 1
		}
		instant = end
	}
	return n
}

// countReadings returns how many matching readings r there are with from <= r < to.
func (p *pattern) countReadings(from, to int64) int64 {
	if from >= to {
		return 0
	}
	// Ticks are at whole minutes.
	begin, end := -FloorDiv(-from, 60), -FloorDiv(-to, 60)
	firstDay, lastDay := FloorDiv(begin, minutesPerDay), FloorDiv(end, minutesPerDay)
	n := p.onDay(lastDay, p.untilMinute(end-lastDay*minutesPerDay)) - p.onDay(firstDay, p.untilMinute(begin-firstDay*minutesPerDay))
	return n + p.countDays(firstDay, lastDay)*p.perDay()
}

// onDay returns n if a day matches, else 0.
func (p *pattern) onDay(day, n int64) int64 {
	year, month, date := time.Unix(day*secondsPerDay, 0).UTC().Date()
	if p.dates(year, month)&(1<<date) == 0 {
		return 0
	}
	return n
}

// untilMinute returns how many times of day match before a minute of the day.
func (p *pattern) untilMinute(minute int64) int64 {
	hour, minute := minute/60, minute%60
	n := bits.OnesCount64(p.hours&(1<<hour-1)) * bits.OnesCount64(p.minutes)
	if p.hours&(1<<hour) != 0 {
		n += bits.OnesCount64(p.minutes & (1<<minute - 1))
	}
	return int64(n)
}

// countDays returns how many days d match with first <= d < end.
func (p *pattern) countDays(first, end int64) (n int64) {
	for first < end {
		year, month, date := time.Unix(first*secondsPerDay, 0).UTC().Date()
		next := FloorDiv(time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix(), secondsPerDay)
		set := from(p.dates(year, month), date)
		if beyond := next - end; beyond > 0 {
			// The days from end on do not count.
			set &= 1<<(int64(date)+end-first) - 1
		}
		n += int64(bits.OnesCount64(set))
		first = next
	}
	return n
}
