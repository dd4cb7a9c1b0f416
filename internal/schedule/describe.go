package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Describe returns in words how often a frequency runs, to complete "It runs …":
// "every 90 minutes", "every weekday at 09:00, Europe/Berlin". Times are those of
// the wall clock and come with its zone.
func Describe(f Frequency) string {
	switch f := f.(type) {
	case *Grid:
		return Describe(f.Frequency)
	case Interval:
		return "every " + describeSpan(max(f.Every, time.Second))
	case *Cron:
		return f.describe()
	default:
		return "again and again"
	}
}

// describeSpan returns a length in the largest unit of which it is a multiple.
func describeSpan(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"week", 7 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch n := d / unit.length; {
		case n == 0 || d%unit.length != 0:
		case n == 1:
			return unit.name
		default:
			return strconv.FormatInt(int64(n), 10) + " " + unit.name + "s"
		}
	}
	return strconv.FormatFloat(float64(d.Microseconds())/microsPerSecond, 'f', -1, 64) + " seconds"
}

const (
	allMinutes  = 1<<60 - 1
	allHours    = 1<<24 - 1
	allDays     = 1<<32 - 2
	allMonths   = 1<<13 - 2
	allWeekdays = 1<<7 - 1
	workdays    = 0b0111110
)

func (c *Cron) describe() string {
	daily := c.days&allDays == allDays && c.weekdays == allWeekdays && c.months == allMonths
	when, atTimes := c.times()
	text := when
	switch days := c.onDays(atTimes); {
	case daily && atTimes:
		text = "every day " + when
	case daily:
	case atTimes:
		text = days + " " + when
	default:
		text = when + " " + days
	}
	if daily && !atTimes && c.hours == allHours && c.zone.String() == "UTC" {
		return text
	}
	return text + ", " + c.zone.String()
}

// times describes minutes and hours. atTimes reports that the text names single
// times of day, so that the days come before it.
func (p *pattern) times() (text string, atTimes bool) {
	hours := members(p.hours)
	if moments := bits.OnesCount64(p.minutes) * len(hours); moments <= 4 {
		var times []string
		for _, hour := range hours {
			for _, minute := range members(p.minutes) {
				times = append(times, clock(hour, minute))
			}
		}
		return "at " + and(times), true
	}
	first, last := lowest(p.minutes), members(p.minutes)[bits.OnesCount64(p.minutes)-1]
	rhythm, steady := p.rhythm()
	single := first == last
	switch from, to, whole := contiguous(p.hours); {
	case p.hours == allHours:
		return rhythm, false
	case whole && single:
		return "every hour from " + clock(from, first) + " to " + clock(to, first), false
	case whole && steady:
		return rhythm + " from " + clock(from, first) + " to " + clock(to, last), false
	}
	if start, step, even := progression(p.hours, 0, 23); even && single && 24%step == 0 {
		text := "every " + strconv.Itoa(step) + " hours"
		if start != 0 || first != 0 {
			text += " from " + clock(start, first)
		}
		return text, false
	}
	if single {
		var times []string
		for _, hour := range hours {
			times = append(times, clock(hour, first))
		}
		return "at " + and(times), true
	}
	return rhythm + " in " + plural("hour", "hours", len(hours)) + " " + and(ranges(p.hours, strconv.Itoa)), false
}

// rhythm describes the minutes of every hour. steady reports that the distances
// are the same across hours.
func (p *pattern) rhythm() (text string, steady bool) {
	first := lowest(p.minutes)
	switch start, step, even := progression(p.minutes, 0, 59); {
	case p.minutes == allMinutes:
		return "every minute", true
	case p.minutes == 1:
		return "every hour", false
	case bits.OnesCount64(p.minutes) == 1:
		return "every hour at minute " + strconv.Itoa(first), false
	case even && 60%step == 0 && start == 0:
		return "every " + strconv.Itoa(step) + " minutes", true
	case even && 60%step == 0:
		return "every " + strconv.Itoa(step) + " minutes from minute " + strconv.Itoa(start), false
	}
	return "every hour at minutes " + and(ranges(p.minutes, strconv.Itoa)), false
}

var weekdayNames = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// onDays describes the dates: before a time of day as "every Monday", after a
// rhythm as "on Mondays".
func (c *Cron) onDays(beforeTime bool) string {
	dated, weekly := c.days&allDays != allDays, c.weekdays != allWeekdays
	of, in := "of every month", ""
	if c.months != allMonths {
		months := and(ranges(c.months, func(n int) string { return time.Month(n).String() }))
		of, in = "of "+months, " in "+months
		if from, to, whole := contiguous(c.months); whole && to-from >= 2 {
			in = " from " + months
		}
	}
	on := ""
	if dated {
		on = c.onDates(of)
	}
	switch week := c.onWeekdays(beforeTime); {
	case dated && weekly && c.both:
		return on + " (" + c.weekdayList() + " only)"
	case dated && weekly:
		return on + " and " + week + in
	case dated:
		return on
	case weekly:
		return week + in
	case beforeTime:
		return "every day" + in
	default:
		return strings.TrimPrefix(in, " ")
	}
}

// onDates describes the days of the month; of is the text for the months.
func (c *Cron) onDates(of string) string {
	set := c.days & allDays
	if special := c.specialDateNames(); len(special) > 0 {
		var names []string
		if set != 0 {
			names = ranges(set, ordinal)
			names[0] = "the " + names[0]
		}
		return "on " + and(append(names, special...)) + " " + of
	}
	if start, step, even := progression(set, 1, 31); even {
		text := "on every " + ordinal(step) + " day " + of
		if start != 1 {
			text += " from the " + ordinal(start)
		}
		return text
	}
	return "on the " + and(ranges(set, ordinal)) + " " + of
}

// specialDateNames describes the days that L, L-n, nW and LW mean.
func (p *pattern) specialDateNames() (names []string) {
	for _, n := range members(p.nearest &^ 1) {
		names = append(names, "the weekday nearest the "+ordinal(n))
	}
	if p.nearest&1 != 0 {
		names = append(names, "the last weekday")
	}
	for _, n := range members(p.fromEnd &^ 1) {
		names = append(names, "the "+ordinal(n)+" day before the last")
	}
	if p.fromEnd&1 != 0 {
		names = append(names, "the last day")
	}
	return names
}

// specialWeekdayNames describes the days that dL and d#n mean.
func (p *pattern) specialWeekdayNames() (names []string) {
	for i, set := range p.nthWeekday {
		for _, day := range weekOrder(set) {
			names = append(names, ordinal(i+1)+" "+weekdayNames[day])
		}
	}
	for _, day := range weekOrder(p.lastWeekday) {
		names = append(names, "last "+weekdayNames[day])
	}
	return names
}

func (c *Cron) onWeekdays(beforeTime bool) string {
	special := c.specialWeekdayNames()
	switch {
	case !beforeTime:
		return "on " + c.weekdayList()
	case c.weekdays == workdays && len(special) == 0:
		return "every weekday"
	}
	var names []string
	for _, day := range weekOrder(c.weekdays) {
		names = append(names, weekdayNames[day])
	}
	text := "every " + and(append(names, special...))
	if len(special) > 0 {
		text += " of the month"
	}
	return text
}

func (c *Cron) weekdayList() string {
	special := c.specialWeekdayNames()
	if c.weekdays == workdays && len(special) == 0 {
		return "weekdays"
	}
	var names []string
	for _, day := range weekOrder(c.weekdays) {
		names = append(names, weekdayNames[day]+"s")
	}
	for _, name := range special {
		names = append(names, "the "+name+" of the month")
	}
	return and(names)
}

// weekOrder returns days of the week, Monday first.
func weekOrder(set uint64) []int {
	days := members(set)
	if len(days) > 0 && days[0] == 0 {
		return append(days[1:], 0)
	}
	return days
}

func members(set uint64) []int {
	var list []int
	for ; set != 0; set &= set - 1 {
		list = append(list, lowest(set))
	}
	return list
}

// contiguous reports whether a set is one range, and returns its ends.
func contiguous(set uint64) (from, to int, whole bool) {
	from = lowest(set)
	run := set >> from
	return from, from + bits.Len64(run) - 1, run&(run+1) == 0
}

// progression reports whether a set is every step-th value from start to the last
// that fits, with a step of 2 or more and at least three values.
func progression(set uint64, low, high int) (start, step int, even bool) {
	list := members(set)
	if len(list) < 3 {
		return 0, 1, false
	}
	start, step = list[0], list[1]-list[0]
	for i := 1; i < len(list); i++ {
		if list[i]-list[i-1] != step {
			return 0, 1, false
		}
	}
	return start, step, step > 1 && start < low+step && list[len(list)-1]+step > high
}

// ranges names the members of a set; three or more in a row become a range.
func ranges(set uint64, name func(int) string) []string {
	var parts []string
	list := members(set)
	for i := 0; i < len(list); {
		end := i
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		if end-i >= 2 {
			parts = append(parts, name(list[i])+" to "+name(list[end]))
			i = end + 1
			continue
		}
		parts = append(parts, name(list[i]))
		i++
	}
	return parts
}

func and(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

func plural(one, many string, n int) string {
	if n == 1 {
		return one
	}
	return many
}

func clock(hour, minute int) string { return fmt.Sprintf("%02d:%02d", hour, minute) }

func ordinal(n int) string {
	suffix := "th"
	if n/10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
