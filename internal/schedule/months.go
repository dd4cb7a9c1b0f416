package schedule

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Elements of the day fields that depend on the month, as in Quartz: L, L-3, 15W
// and LW as days of the month, 5L and MON#2 as days of the week.

const (
	maxFromEnd = 30 // of L-n
	maxNth     = 5  // of #n
)

// parseDate reads an element of day-of-month if it has an L or a W.
func (f *field) parseDate(part string, p *pattern) (bool, error) {
	text := strings.ToUpper(part)
	if !strings.ContainsAny(text, "LW") {
		return false, nil
	}
	if text == "L" {
		p.fromEnd |= 1
		return true, nil
	}
	if text == "LW" {
		p.nearest |= 1
		return true, nil
	}
	if back, ok := strings.CutPrefix(text, "L-"); ok {
		n, ok := parseDigits(back)
		if !ok || n < 1 || n > maxFromEnd {
			return true, fmt.Errorf("%s doesn't count back from the last day; give L-1 to L-%d", quote(part), maxFromEnd)
		}
		p.fromEnd |= 1 << n
		return true, nil
	}
	if day, ok := strings.CutSuffix(text, "W"); ok {
		n, ok := parseDigits(day)
		if !ok || n < f.low || n > f.high {
			return true, fmt.Errorf("%s has no day of the month before W; give %dW to %dW, or LW", quote(part), f.low, f.high)
		}
		p.nearest |= 1 << n
		return true, nil
	}
	return true, fmt.Errorf("%s isn't a day of the month; write L, L-3, 15W or LW", quote(part))
}

// parseWeekday reads an element of day-of-week if it ends with L or has a #.
func (f *field) parseWeekday(part string, p *pattern) (bool, error) {
	if day, count, ok := strings.Cut(part, "#"); ok {
		weekday, err := f.parseValue(day)
		if err != nil {
			return true, err
		}
		n, ok := parseDigits(count)
		if !ok || n < 1 || n > maxNth {
			return true, fmt.Errorf("%s can't follow #; give a number from 1 to %d", quote(count), maxNth)
		}
		p.nthWeekday[n-1] |= 1 << (weekday % 7)
		return true, nil
	}
	text := strings.ToUpper(part)
	day, ok := strings.CutSuffix(text, "L")
	if !ok {
		return false, nil
	}
	if day == "" {
		return true, fmt.Errorf("%s needs a day of the week before it, as in 5L or FRIL", quote(part))
	}
	weekday, err := f.parseValue(part[:len(part)-1])
	if err != nil {
		return true, err
	}
	p.lastWeekday |= 1 << (weekday % 7)
	return true, nil
}

// specialHint returns where an element works that belongs to another field; ""
// for any other text.
func (f *field) specialHint(text string) string {
	text = strings.ToUpper(text)
	if strings.Trim(text, "0123456789-?LW#") != "" {
		return ""
	}
	switch {
	case strings.Contains(text, "?"):
		if f.special != nil {
			return "? must be the whole field"
		}
		return "? works only for day-of-month and day-of-week"
	case strings.Contains(text, "#"):
		return "# works only for day-of-week, as in MON#2"
	case strings.Contains(text, "W"):
		return "W works only for day-of-month, as in 15W"
	case strings.Contains(text, "L"):
		return "L works only for day-of-month, as in L or L-3, and day-of-week, as in 5L"
	}
	return ""
}

// dates returns the set of matching days of a month.
func (p *pattern) dates(year int, month time.Month) uint64 {
	if p.months&(1<<month) == 0 {
		return 0
	}
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	shape := monthShape{first: first.Weekday(), length: first.AddDate(0, 1, -1).Day()}

	byDate := p.days | p.specialDates(shape)
	byWeekday := shape.onWeekdays(p.weekdays) | p.specialWeekdays(shape)
	set := byDate | byWeekday
	if p.both {
		set = byDate & byWeekday
	}
	return set & shape.days()
}

// specialDates returns the days that L, L-n, nW and LW mean.
func (p *pattern) specialDates(m monthShape) (set uint64) {
	for rest := p.fromEnd; rest != 0; rest &= rest - 1 {
		if day := m.length - lowest(rest); day >= 1 {
			set |= 1 << day
		}
	}
	for rest := p.nearest; rest != 0; rest &= rest - 1 {
		switch day := lowest(rest); {
		case day == 0:
			set |= 1 << m.nearestWeekday(m.length)
		case day <= m.length:
			set |= 1 << m.nearestWeekday(day)
		}
	}
	return set
}

// specialWeekdays returns the days that dL and d#n mean.
func (p *pattern) specialWeekdays(m monthShape) (set uint64) {
	if p.lastWeekday != 0 {
		set = from(m.onWeekdays(p.lastWeekday)&m.days(), m.length-6)
	}
	for i, weekdays := range p.nthWeekday {
		set |= m.onWeekdays(weekdays) & (0b1111111 << (7*i + 1))
	}
	return set
}

// monthShape determines on which days of the week a month's days are.
type monthShape struct {
	first  time.Weekday // of the 1st
	length int          // in days
}

// days returns the set of all days of the month.
func (m monthShape) days() uint64 { return 1<<(m.length+1) - 2 }

// onWeekdays returns the days that are on certain days of the week. The set may
// exceed the end of the month.
func (m monthShape) onWeekdays(weekdays uint64) uint64 {
	// Six weeks in a row, then shifted so that the first of the month is bit 1.
	const weeks = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28 | 1<<35
	return weekdays * weeks >> m.first << 1
}

// nearestWeekday returns the day from Monday to Friday that is nearest to a day,
// in the same month.
func (m monthShape) nearestWeekday(day int) int {
	switch (int(m.first) + day - 1) % 7 {
	case int(time.Saturday):
		if day == 1 {
			return 3
		}
		return day - 1
	case int(time.Sunday):
		if day == m.length {
			return day - 2
		}
		return day + 1
	}
	return day
}

// perDay returns how many matching readings a matching day has.
func (p *pattern) perDay() int64 {
	return int64(bits.OnesCount64(p.hours) * bits.OnesCount64(p.minutes))
}
