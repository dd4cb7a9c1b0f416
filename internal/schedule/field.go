package schedule

import (
	"errors"
	"fmt"
	"strings"
)

// field is one of the five fields of a cron expression.
type field struct {
	label     string
	low, high int    // the values that * means
	names     string // three letters each, the first one names low; "" if there are none
	sunday    bool   // one more than high is another way to write low
	// special reads an element that depends on the month, such as L or MON#2,
	// into a pattern. It reports whether the element has that form. Nil if the
	// field has no such elements; then ? is not allowed either.
	special func(f *field, part string, p *pattern) (bool, error)
}

var fields = [5]field{
	{label: "minute", low: 0, high: 59},
	{label: "hour", low: 0, high: 23},
	{label: "day-of-month", low: 1, high: 31, special: (*field).parseDate},
	{label: "month", low: 1, high: 12, names: "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
	{label: "day-of-week", low: 0, high: 6, names: "SUNMONTUEWEDTHUFRISAT", sunday: true, special: (*field).parseWeekday},
}

// parse reads a list such as 1-5,30-50/10 into a set. It adds the elements that
// depend on the month to p.
func (f *field) parse(list string, p *pattern) (uint64, error) {
	if f.special != nil && list == "?" {
		list = "*"
	}
	var set uint64
	for part := range strings.SplitSeq(list, ",") {
		members, err := f.parseElement(part, p)
		if err != nil {
			return 0, fmt.Errorf("has %s as its %s: %w", quote(list), f.label, err)
		}
		set |= members
	}
	return set, nil
}

func (f *field) parseElement(part string, p *pattern) (uint64, error) {
	if f.special != nil {
		if isSpecial, err := f.special(f, part, p); isSpecial {
			return 0, err
		}
	}
	return f.parsePart(part)
}

// parsePart reads one element of a list: *, n, a-b, and each with /step.
func (f *field) parsePart(part string) (uint64, error) {
	if part == "" {
		return 0, errors.New("a part of the list is empty")
	}
	span, stepText, stepped := strings.Cut(part, "/")
	first, last, err := f.parseSpan(span, stepped)
	if err != nil {
		return 0, err
	}
	step := 1
	if stepped {
		if step, err = f.parseStep(stepText); err != nil {
			return 0, err
		}
	}
	var set uint64
	for n := first; n <= last; n += step {
		if n > f.high {
			set |= 1 << f.low // Sunday as 7
		} else {
			set |= 1 << n
		}
	}
	return set, nil
}

// parseSpan reads the part before the step. A single value that has a step
// starts a range to the end of the field.
func (f *field) parseSpan(span string, stepped bool) (first, last int, err error) {
	if span == "*" {
		return f.low, f.high, nil
	}
	begin, end, ranged := strings.Cut(span, "-")
	if first, err = f.parseValue(begin); err != nil {
		return 0, 0, err
	}
	if !ranged {
		if stepped {
			return first, max(first, f.high), nil
		}
		return first, first, nil
	}
	if last, err = f.parseValue(end); err != nil {
		return 0, 0, err
	}
	if f.sunday && last < first && strings.EqualFold(end, "SUN") {
		last = f.high + 1 // FRI-SUN ends with the week
	}
	if last < first {
		return 0, 0, fmt.Errorf("the range %s is reversed; write it as two", quote(span))
	}
	return first, last, nil
}

// parseStep reads the part after the slash. A step wider than the field is a
// mistake: */90 is not every 90 minutes.
func (f *field) parseStep(text string) (int, error) {
	most := f.high - f.low + 1
	n, ok := parseDigits(text)
	if !ok || n < 1 || n > most {
		return 0, fmt.Errorf("%s can't be a step; give a number from 1 to %d", quote(text), most)
	}
	return n, nil
}

// parseValue reads a number or a name.
func (f *field) parseValue(text string) (int, error) {
	if n, ok := f.parseName(text); ok {
		return n, nil
	}
	n, ok := parseDigits(text)
	high := f.high
	if f.sunday {
		high++
	}
	if ok && n >= f.low && n <= high {
		return n, nil
	}
	want := fmt.Sprintf("a number from %d to %d", f.low, high)
	if f.names != "" {
		want += " or a name from " + f.names[:3] + " to " + f.names[len(f.names)-3:]
	}
	if hint := f.specialHint(text); !ok && hint != "" {
		want += "; " + hint
	}
	return 0, fmt.Errorf("%s isn't %s", quote(text), want)
}

// parseName reads a three-letter name, in any case.
func (f *field) parseName(text string) (int, bool) {
	name := strings.ToUpper(text)
	at := strings.Index(f.names, name)
	if len(text) != 3 || len(name) != 3 || at < 0 || at%3 != 0 {
		return 0, false
	}
	return f.low + at/3, true
}

// parseDigits reads a number without sign. It returns numbers above 1000 as 1000,
// which is too large for every field.
func parseDigits(text string) (n int, ok bool) {
	for _, b := range []byte(text) {
		if !isDigit(b) {
			return 0, false
		}
		n = min(n*10+int(b-'0'), 1000)
	}
	return n, text != ""
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
