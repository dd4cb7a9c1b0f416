package schedule

import "time"

// MicrosPerMinute is a minute in the unit of Unix times here.
const MicrosPerMinute = 60 * microsPerSecond

// AppendDue appends the due times d with after < d < before, in order and in microseconds
// since 1970, as far as the capacity of due reaches. They are those that Next returns one
// after the other, at a fraction of its cost.
func (g *Grid) AppendDue(due []int64, after, before time.Time) []int64 {
	for len(due) < cap(due) {
		next := g.Next(time.Time{}, after)
		if next.IsZero() || !next.Before(before) {
			break
		}
		due = g.appendPlain(append(due, next.UnixMicro()), before)
		after = time.UnixMicro(due[len(due)-1])
	}
	return due
}

// appendPlain appends the due times that follow the last one as long as they need nothing
// but arithmetic: until the clock changes, a date is excluded, or the grid ends.
func (g *Grid) appendPlain(due []int64, before time.Time) []int64 {
	shift := g.Shift.Microseconds()
	point := due[len(due)-1] - shift
	end := min(before.UnixMicro(), LastDue.UnixMicro()+1)
	if !g.Until.IsZero() {
		end = min(end, g.Until.UnixMicro()+1)
	}
	end -= shift
	switch f := g.Frequency.(type) {
	case Interval:
		end = min(end, g.Except.nextAfter(point, 0))
		for point += f.step(); point < end && len(due) < cap(due); point += f.step() {
			due = append(due, point+shift)
		}
	case *Cron:
		if offset, until, ok := f.plainFrom(FloorDiv(point, microsPerSecond)); ok {
			end = min(end, g.Except.nextAfter(point, offset), min(until, LastDue.Unix()+1)*microsPerSecond)
			due = f.appendReadings(due, point+offset*microsPerSecond, end+offset*microsPerSecond, shift-offset*microsPerSecond)
		}
	}
	return due
}

// nextAfter returns the first microsecond after a point, which is on no date of the set,
// at which a clock with this offset, in seconds, shows a date of the set.
func (d Dates) nextAfter(point, offset int64) int64 {
	i := d.after(FloorDiv(FloorDiv(point, microsPerSecond)+offset, secondsPerDay))
	if i == len(d.ranges) {
		return LastDue.UnixMicro() + 1
	}
	return (d.ranges[i].first*secondsPerDay - offset) * microsPerSecond
}

// plainFrom returns the offset of the zone's clock, and until when each matching reading
// after an instant has one tick, the instant at which this offset shows it. It returns
// false if the clock has changed lately.
func (c *Cron) plainFrom(instant int64) (offset, end int64, ok bool) {
	if !c.watched {
		offset, end = c.period(instant - lookaround)
	} else {
		offset, end = c.period(instant)
	}
	return offset, end, instant < end
}

// appendReadings appends the matching readings r with after < r < end, as far as the
// capacity of due reaches, and adds add to each; all are in microseconds.
func (p *pattern) appendReadings(due []int64, after, end, add int64) []int64 {
	for minute := FloorDiv(after, MicrosPerMinute) + 1; minute*MicrosPerMinute < end; {
		day := FloorDiv(minute, minutesPerDay)
		year, month, date := time.Unix(day*secondsPerDay, 0).UTC().Date()
		for dates := from(p.dates(year, month), date); dates != 0; dates &= dates - 1 {
			midnight := (day + int64(lowest(dates)-date)) * minutesPerDay
			start := int(max(minute-midnight, 0))
			for hours := from(p.hours, start/60); hours != 0; hours &= hours - 1 {
				hour, minutes := lowest(hours), p.minutes
				if hour*60 < start {
					minutes = from(minutes, start%60)
				}
				for ; minutes != 0; minutes &= minutes - 1 {
					reading := (midnight + int64(hour*60+lowest(minutes))) * MicrosPerMinute
					if reading >= end || len(due) == cap(due) {
						return due
					}
					due = append(due, reading+add)
				}
			}
		}
		minute = FloorDiv(time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix(), 60)
	}
	return due
}
