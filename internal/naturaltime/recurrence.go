package naturaltime

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// recurring maps the words that begin a recurrence without "every".
var recurring = map[string]string{"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year",
	"annually": "year"}

// daySets maps words for several days of the week.
var daySets = map[string][]int{
	"weekday": {1, 2, 3, 4, 5}, "weekdays": {1, 2, 3, 4, 5}, "workday": {1, 2, 3, 4, 5}, "workdays": {1, 2, 3, 4, 5},
	"weekend": {6, 7}, "weekends": {6, 7},
}

// recurs reports whether the text describes a recurrence.
func (p *parser) recurs() bool {
	word := p.peek(0)
	if word == "on" {
		word = p.peek(1)
	}
	_, set := daySets[word]
	singular, plural := strings.CutSuffix(word, "s")
	_, days := weekdays[singular]
	return word == "every" || word == "each" || recurring[word] != "" || set || plural && days && weekdays[word] == 0 && word != "tues" ||
		slices.Contains(p.words, "every") || slices.Contains(p.words, "each")
}

// pattern is the days of a recurrence: days of the week, days of the month, or
// every day if it has none.
type pattern struct {
	weekdays  []int    // 1 to 7, Monday first
	nths      []string // days of the week as cron counts them in a month: 5L, 1#2
	monthdays []int
	dates     []string // days of the month that depend on its length: L, LW
	months    []int
	hourly    bool // at a minute of every hour
}

func (p *pattern) hasWeekdays() bool { return len(p.weekdays)+len(p.nths) > 0 }
func (p *pattern) hasDates() bool    { return len(p.monthdays)+len(p.dates) > 0 }

// recurrence reads a recurrence.
func (p *parser) recurrence() Timing {
	if p.accept("every", "each") {
		if timing, ok := p.interval(); ok {
			return timing
		}
	}
	pattern, ok := p.pattern()
	if !ok {
		return Timing{}
	}
	return p.started(p.cron(pattern))
}

// interval reads a length of time if nothing else follows; otherwise it reads
// nothing.
func (p *parser) interval() (Timing, bool) {
	begin := p.next
	var s Span
	switch {
	case p.accept("other") && units[p.peek(0)] != "":
		s = Span{"2", units[p.peek(0)]}
		p.next++
	case units[p.peek(0)] != "":
		s = Span{"1", units[p.peek(0)]}
		p.next++
	case p.isSpan():
		s, _ = p.span()
	}
	if s.Unit == "" || p.more() && !p.starts() {
		if p.err == nil && s.Unit != "" && (s.Amount != "1" || s.Unit == "minutes" || s.Unit == "seconds") {
			p.fail(fmt.Errorf("is not understood from %q on; after an interval, give nothing or “starting” and a time", p.peek(0)))
		}
		p.next = begin
		return Timing{}, p.err != nil
	}
	s.Unit = singularIfOne(s)
	return p.started(Timing{Every: &s}), true
}

// singularIfOne returns the unit, singular for an amount of 1, as in [1, "day"].
func singularIfOne(s Span) string {
	if s.Amount == "1" {
		return strings.TrimSuffix(s.Unit, "s")
	}
	return s.Unit
}

func (p *parser) starts() bool {
	return slices.Contains([]string{"starting", "beginning", "from"}, p.peek(0))
}

// started reads when a recurrence starts.
func (p *parser) started(timing Timing) Timing {
	if !p.starts() {
		return timing
	}
	p.next++
	p.accept("on", "from")
	if p.accept("now") || p.accept("today") && !p.more() {
		return timing
	}
	start := p.start()
	timing.In, timing.At = start.In, start.At
	return timing
}

// pattern reads the days of a recurrence.
func (p *parser) pattern() (pattern, bool) {
	var found pattern
	base := p.peek(0)
	if recurring[base] != "" {
		base = recurring[base]
		p.next++
	} else if base == "day" || base == "week" || base == "month" || base == "year" || base == "hour" {
		p.next++
	}
	found.hourly = base == "hour"
	for p.more() && p.peek(0) != "at" && !p.isClock() && !p.starts() {
		switch {
		case p.accept("on", "the", "and", "of", "every", "each", "month", "day", "year"):
		case p.accept("last"):
			p.last(&found)
		default:
			p.days(&found)
		}
		if p.err != nil {
			return found, false
		}
	}
	switch {
	case found.hasWeekdays() && found.hasDates():
		p.fail(errors.New("names days of the week and of the month; give only one kind"))
	case base == "week" && !found.hasWeekdays():
		p.fail(errors.New("does not say on which day of the week; write “every week on monday at 9:00”"))
	case base == "month" && !found.hasDates() && len(found.nths) == 0:
		p.fail(errors.New("does not say on which day of the month; write “every month on the 1st at 9:00”"))
	case base == "year" && len(found.months) == 0:
		p.fail(errors.New("does not say on which day of the year; write “every year on march 1 at 9:00”"))
	}
	return found, p.err == nil
}

// last reads the day after "last": the last day, the last weekday, or the last of
// a day of the week, of every month.
func (p *parser) last(found *pattern) {
	if p.accept("day") {
		found.dates = append(found.dates, "L")
		return
	}
	if p.accept("weekday", "workday") {
		found.dates = append(found.dates, "LW")
		return
	}
	day, ok := weekday(p.peek(0))
	if !ok {
		p.fail(errors.New("does not say what comes last; write “last day”, “last weekday” or “last friday” of the month"))
		return
	}
	p.next++
	found.nths = append(found.nths, strconv.Itoa(day)+"L")
}

// nth reads a day of the week with its number in the month, such as "2nd monday".
// It reports whether the next words are one.
func (p *parser) nth(found *pattern) bool {
	begin := p.next
	n, counted := counts[p.peek(0)]
	if counted {
		p.next++
	} else {
		n, counted = p.ordinal()
	}
	day, ok := weekday(p.peek(0))
	if !counted || !ok {
		p.next = begin
		return false
	}
	if n > 5 {
		p.fail(fmt.Errorf("asks for the %s number %d of a month; a month has at most 5", p.peek(0), n))
		return true
	}
	p.next++
	found.nths = append(found.nths, fmt.Sprintf("%d#%d", day, n))
	return true
}

// counts are the words that count days of the week in a month.
var counts = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}

// days reads a day, or a range of days of the week.
func (p *parser) days(found *pattern) {
	word := p.peek(0)
	if set, ok := daySets[word]; ok {
		p.next++
		found.weekdays = append(found.weekdays, set...)
		return
	}
	if p.nth(found) {
		return
	}
	if day, ok := weekday(word); ok {
		p.next++
		found.weekdays = append(found.weekdays, day)
		if p.accept("to", "through", "until") {
			last, ok := weekday(p.peek(0))
			if !ok {
				p.fail(fmt.Errorf("has %q where a day of the week should be", p.peek(0)))
				return
			}
			p.next++
			for day != last {
				day = day%7 + 1
				found.weekdays = append(found.weekdays, day)
			}
		}
		return
	}
	if first, last, ok := strings.Cut(word, "-"); ok {
		from, known := weekday(first)
		to, alsoKnown := weekday(last)
		if known && alsoKnown {
			p.next++
			found.weekdays = append(found.weekdays, from)
			for from != to {
				from = from%7 + 1
				found.weekdays = append(found.weekdays, from)
			}
			return
		}
	}
	if month, day, ok := p.date(); ok {
		found.months, found.monthdays = append(found.months, int(month)), append(found.monthdays, day)
		return
	}
	if day, ok := p.ordinal(); ok {
		found.monthdays = append(found.monthdays, day)
		return
	}
	p.fail(fmt.Errorf("is not understood at %q; %s", word, examples))
}

// weekday returns the number of a day of the week, singular or plural; Monday is 1.
func weekday(word string) (int, bool) {
	day, ok := weekdays[word]
	if !ok {
		day, ok = weekdays[strings.TrimSuffix(word, "s")]
	}
	return (int(day)+6)%7 + 1, ok
}

// cron reads the times of day and writes the expression.
func (p *parser) cron(found pattern) Timing {
	minute, hours := "", "*"
	if found.hourly {
		minute = p.minuteOfHour()
	} else {
		minute, hours = p.timesOfDay()
	}
	if p.err != nil {
		return Timing{}
	}
	if len(found.months) > 1 && (slices.Compact(slices.Clone(found.months))[0] != found.months[len(found.months)-1]) {
		p.fail(errors.New("names days of several months; create a schedule for each"))
		return Timing{}
	}
	expr := strings.Join([]string{minute, hours, field(found.monthdays, found.dates...), field(found.months),
		field(found.weekdays, found.nths...)}, " ")
	return Timing{Cron: expr, Zone: zoneName(p.zone)}
}

// minuteOfHour reads "at :15", "at minute 15"; without it, the full hour.
func (p *parser) minuteOfHour() string {
	if !p.accept("at") && !p.isClock() {
		return "0"
	}
	p.accept("minute")
	text := strings.TrimPrefix(p.peek(0), ":")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 59 || len(text) > 2 {
		p.fail(fmt.Errorf("has %q where a minute should be; write “every hour at :15”", p.peek(0)))
		return ""
	}
	p.next++
	p.accept("past")
	return strconv.Itoa(n)
}

// timesOfDay reads one or several times of day that share their minute.
func (p *parser) timesOfDay() (minute, hours string) {
	if !p.accept("at") && !p.isClock() {
		p.fail(errNoTime)
		return "", ""
	}
	var all []int
	for first := true; first || p.accept("and"); first = false {
		p.accept("at")
		c := p.clock()
		switch {
		case c.second != 0:
			p.fail(errors.New("has seconds; times of day that recur are in whole minutes"))
		case !first && strconv.Itoa(c.minute) != minute:
			p.fail(errors.New("has times of day with different minutes; create a schedule for each"))
		}
		if p.err != nil {
			return "", ""
		}
		minute = strconv.Itoa(c.minute)
		all = append(all, c.hour)
	}
	return minute, field(all)
}

// field returns a field of a cron expression: the numbers in order, three or more in
// a row as a range, then the other elements; * if there is nothing.
func field(values []int, others ...string) string {
	if len(values)+len(others) == 0 {
		return "*"
	}
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	var parts []string
	for i := 0; i < len(values); {
		j := i
		for j+1 < len(values) && values[j+1] == values[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d-%d", values[i], values[j]))
			i = j + 1
			continue
		}
		parts = append(parts, strconv.Itoa(values[i]))
		i++
	}
	return strings.Join(append(parts, others...), ",")
}
