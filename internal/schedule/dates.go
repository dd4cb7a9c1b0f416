package schedule

import (
	"cmp"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"
)

var (
	errDateShape = errors.New("must be a date such as 2026-12-25, or a range such as 2026-12-24/2027-01-02")
	errDateOrder = errors.New("must not end before it begins; give the earlier date first")
)

// DateRange is a range of calendar dates. [ParseDateRange] returns one.
type DateRange struct{ first, last int64 } // days since 1970-01-01, inclusive

// ParseDateRange reads a date (2026-12-25), or two dates with a slash between them
// (2026-12-24/2027-01-02); both dates are part of the range. The text of an error
// completes a sentence that begins with the field's name.
func ParseDateRange(text string) (DateRange, error) {
	begin, end, ranged := strings.Cut(text, "/")
	first, err := parseDate(begin)
	if err != nil || !ranged {
		return DateRange{first, first}, err
	}
	last, err := parseDate(end)
	switch {
	case err != nil:
		return DateRange{}, err
	case last < first:
		return DateRange{}, errDateOrder
	}
	return DateRange{first, last}, nil
}

func parseDate(text string) (int64, error) {
	p := &instantParser{rest: text}
	year, month, day := p.date()
	if p.err == errInstantShape || p.err == nil && p.rest != "" {
		return 0, errDateShape
	}
	return FloorDiv(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix(), secondsPerDay), p.err
}

// Dates is a set of calendar dates. The zero value is empty.
type Dates struct{ ranges []DateRange } // in order, with a gap between any two

// NewDates returns the set of all dates in ranges, which may overlap.
func NewDates(ranges []DateRange) Dates {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b DateRange) int { return cmp.Compare(a.first, b.first) })
	var d Dates
	for _, r := range sorted {
		if n := len(d.ranges); n > 0 && r.first <= d.ranges[n-1].last+1 {
			d.ranges[n-1].last = max(d.ranges[n-1].last, r.last)
			continue
		}
		d.ranges = append(d.ranges, r)
	}
	return d
}

// Empty reports whether no date is excluded.
func (d Dates) Empty() bool { return len(d.ranges) == 0 }

// find returns the range that contains a day, if there is one.
func (d Dates) find(day int64) (DateRange, bool) {
	i := d.after(day)
	if i == len(d.ranges) || d.ranges[i].first > day {
		return DateRange{}, false
	}
	return d.ranges[i], true
}

// after returns the index of the first range that does not end before day.
func (d Dates) after(day int64) int {
	return sort.Search(len(d.ranges), func(i int) bool { return d.ranges[i].last >= day })
}

// endOf returns the end of the date range that t is in, by the clock of zone: the
// first whole second at which the clock shows a later date. It returns false if
// no range contains t.
func (d Dates) endOf(t time.Time, zone *time.Location) (time.Time, bool) {
	if len(d.ranges) == 0 {
		return time.Time{}, false
	}
	offset, _ := periodAt(zone, t.Unix())
	r, ok := d.find(FloorDiv(t.Unix()+offset, secondsPerDay))
	if !ok {
		return time.Time{}, false
	}
	reading := (r.last + 1) * secondsPerDay
	return time.Unix(firstShowingFrom(zone, max(t.Unix(), reading-lookaround), reading), 0), true
}

// within calls f for each span of instants [begin, end) between from and to
// (exclusive) in which the clock of zone shows one of the dates.
func (d Dates) within(zone *time.Location, from, to int64, f func(begin, end int64)) {
	for _, r := range d.ranges[d.after(FloorDiv(from-lookaround, secondsPerDay)):] {
		first, end := r.first*secondsPerDay, (r.last+1)*secondsPerDay // readings
		if first-lookaround >= to {
			return
		}
		stop := min(to, end+lookaround)
		for instant := max(from, first-lookaround); instant < stop; {
			offset, until := periodAt(zone, instant)
			until = min(until, stop)
			if a, b := max(instant, first-offset), min(until, end-offset); a < b {
				f(a, b)
			}
			instant = until
		}
	}
}
