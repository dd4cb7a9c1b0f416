package naturaltime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

var weekdays = map[string]time.Weekday{
	"sunday": 0, "sun": 0, "monday": 1, "mon": 1, "tuesday": 2, "tue": 2, "tues": 2, "wednesday": 3, "wed": 3,
	"thursday": 4, "thu": 4, "thur": 4, "thurs": 4, "friday": 5, "fri": 5, "saturday": 6, "sat": 6,
}

var months = map[string]time.Month{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5, "june": 6, "jun": 6,
	"july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9, "october": 10, "oct": 10,
	"november": 11, "nov": 11, "december": 12, "dec": 12,
}

// clock is a time of day.
type clock struct{ hour, minute, second int }

// isClock reports whether the next words can only be a time of day.
func (p *parser) isClock() bool {
	word := p.peek(0)
	return word == "noon" || word == "midnight" || strings.Contains(word, ":") || number(word) != "" &&
		(p.peek(1) == "am" || p.peek(1) == "pm")
}

// clock reads a time of day: 9, 9:30, 9 pm, noon.
func (p *parser) clock() clock {
	switch {
	case p.accept("noon"):
		return clock{12, 0, 0}
	case p.accept("midnight"):
		return clock{}
	}
	word := p.peek(0)
	parts := strings.Split(word, ":")
	var values [3]int
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || i > 2 || len(part) > 2 || i > 0 && (len(part) != 2 || n > 59) || n < 0 {
			p.fail(fmt.Errorf("has %q where a time of day should be; write 9:00, 17:30 or 9 pm", word))
			return clock{}
		}
		values[i] = n
	}
	p.next++
	hour := values[0]
	switch half := p.peek(0); {
	case half == "am" || half == "pm":
		p.next++
		if hour < 1 || hour > 12 {
			p.fail(fmt.Errorf("has %d %s; hours before am and pm go from 1 to 12", hour, half))
		}
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	case hour > 23:
		p.fail(fmt.Errorf("has %d as its hour; hours go from 0 to 23", hour))
	default:
		p.accept("o'clock", "uhr", "h")
	}
	return clock{hour, values[1], values[2]}
}

// moment reads a day and a time of day, in any order. Without a day it returns the
// next time at which the clock shows that time of day.
func (p *parser) moment() time.Time {
	var day time.Time
	var at *clock
	for p.more() {
		switch {
		case p.accept("at"), at == nil && p.isClock():
			if at != nil {
				p.fail(errors.New("has two times of day; give one"))
			}
			c := p.clock()
			at = &c
		case day.IsZero():
			if day = p.day(); p.err != nil {
				return time.Time{}
			}
		default:
			return p.on(day, at)
		}
	}
	return p.on(day, at)
}

// on returns a time of day on a day.
func (p *parser) on(day time.Time, at *clock) time.Time {
	switch {
	case p.err != nil:
		return time.Time{}
	case at == nil:
		p.fail(errNoTime)
		return time.Time{}
	case !day.IsZero():
		return time.Date(day.Year(), day.Month(), day.Day(), at.hour, at.minute, at.second, 0, p.zone)
	}
	t := time.Date(p.now.Year(), p.now.Month(), p.now.Day(), at.hour, at.minute, at.second, 0, p.zone)
	if !t.After(p.now) {
		t = time.Date(p.now.Year(), p.now.Month(), p.now.Day()+1, at.hour, at.minute, at.second, 0, p.zone)
	}
	return t
}

func (p *parser) midnight(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, p.zone)
}

// day reads a day.
func (p *parser) day() time.Time {
	year, month, today := p.now.Date()
	p.accept("on", "next", "this", "coming")
	switch {
	case p.accept("today"):
		return p.midnight(year, month, today)
	case p.accept("tomorrow"):
		return p.midnight(year, month, today+1)
	}
	word := p.peek(0)
	if weekday, ok := weekdays[word]; ok {
		p.next++
		ahead := (int(weekday)-int(p.now.Weekday())+6)%7 + 1 // from tomorrow on
		return p.midnight(year, month, today+ahead)
	}
	if date, err := time.ParseInLocation("2006-01-02", word, p.zone); err == nil {
		p.next++
		return date
	}
	if month, n, ok := p.date(); ok {
		return p.dateAhead(month, n)
	}
	p.fail(fmt.Errorf("is not understood at %q; %s", word, examples))
	return time.Time{}
}

// date reads a day of a month: "march 1st", "1 march", "the 1st of march".
func (p *parser) date() (time.Month, int, bool) {
	begin := p.next
	if month, ok := months[p.peek(0)]; ok {
		p.next++
		p.accept("the")
		if day, ok := p.ordinal(); ok {
			return month, day, true
		}
	} else {
		p.accept("the")
		if day, ok := p.ordinal(); ok {
			p.accept("of")
			if month, ok := months[p.peek(0)]; ok {
				p.next++
				return month, day, true
			}
		}
	}
	p.next = begin
	return 0, 0, false
}

// ordinal reads the number of a day in its month: 1, 1st.
func (p *parser) ordinal() (int, bool) {
	n, err := strconv.Atoi(p.peek(0))
	if err != nil || n < 1 || n > 31 {
		return 0, false
	}
	p.next++
	p.accept("st", "nd", "rd", "th")
	return n, true
}

// dateAhead returns the next such day. A year may follow in the text.
func (p *parser) dateAhead(month time.Month, day int) time.Time {
	if year, err := strconv.Atoi(p.peek(0)); err == nil && len(p.peek(0)) == 4 {
		p.next++
		return p.real(year, month, day)
	}
	year, thisMonth, today := p.now.Date()
	if month < thisMonth || month == thisMonth && day < today {
		year++
	}
	for n := 0; month == time.February && day == 29 && time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Month() != month && n < 8; n++ {
		year++
	}
	return p.real(year, month, day)
}

// real returns the beginning of a day, and fails if the day does not exist.
func (p *parser) real(year int, month time.Month, day int) time.Time {
	t := p.midnight(year, month, day)
	if t.Month() != month {
		p.fail(fmt.Errorf("names a day that does not exist: %s %d", month, day))
	}
	return t
}
