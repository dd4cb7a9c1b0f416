package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The reference knows nothing of bit sets or of zone periods: it looks at the
// clock every second and asks each field in turn.

// refField is one field of an expression, with the values it allows.
type refField struct {
	text    string
	allowed map[int]bool
	special []func(t time.Time) bool // elements that depend on the month
}

func (f refField) star() bool { return f.text[0] == '*' || f.text == "?" }

func (f refField) matchesDay(value int, t time.Time) bool {
	return f.allowed[value] || slices.ContainsFunc(f.special, func(matches func(time.Time) bool) bool { return matches(t) })
}

// refSpec is an expression: minute, hour, day-of-month, month, day-of-week.
type refSpec [5]refField

func (s refSpec) String() string {
	words := make([]string, len(s))
	for i, f := range s {
		words[i] = f.text
	}
	return strings.Join(words, " ")
}

func (s refSpec) watched() bool { return s[0].star() || s[1].star() }

func (s refSpec) matchesDate(t time.Time) bool {
	day, weekday := s[2].matchesDay(t.Day(), t), s[4].matchesDay(int(t.Weekday()), t)
	if s[2].star() || s[4].star() {
		return s[3].allowed[int(t.Month())] && day && weekday
	}
	return s[3].allowed[int(t.Month())] && (day || weekday)
}

// matches reports whether a clock that shows what t shows is at a tick.
func (s refSpec) matches(t time.Time) bool {
	return t.Second() == 0 && s[0].allowed[t.Minute()] && s[1].allowed[t.Hour()] && s.matchesDate(t)
}

// ticks gives all ticks in (from, to], all times being whole seconds.
func (s refSpec) ticks(zone *time.Location, from, to time.Time) []time.Time {
	if s.watched() {
		return s.watchedTicks(zone, from, to)
	}
	return s.fixedTicks(zone, from, to)
}

func (s refSpec) watchedTicks(zone *time.Location, from, to time.Time) (ticks []time.Time) {
	for t := from.Add(time.Second); !t.After(to); t = t.Add(time.Second) {
		if s.matches(t.In(zone)) {
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func (s refSpec) fixedTicks(zone *time.Location, from, to time.Time) (ticks []time.Time) {
	const margin = 30 * time.Hour // more than any jump
	shown := map[int64]time.Time{}
	jumped := map[int64]time.Time{}
	var before int64
	for t := from.Add(-margin); t.Before(to.Add(margin)); t = t.Add(time.Second) {
		wall := t.In(zone)
		_, offset := wall.Zone()
		reading := t.Unix() + int64(offset)
		if _, again := shown[reading]; !again && s.matches(wall) {
			shown[reading] = t
		}
		if before != 0 {
			for missing := before + 1; missing < reading; missing++ {
				if s.matches(time.Unix(missing, 0).UTC()) {
					jumped[missing] = t
				}
			}
		}
		before = reading
	}
	for reading, t := range jumped {
		if _, exists := shown[reading]; !exists {
			shown[reading] = t
		}
	}
	for _, t := range shown {
		if t.After(from) && !t.After(to) {
			ticks = append(ticks, t)
		}
	}
	slices.SortFunc(ticks, time.Time.Compare)
	return slices.CompactFunc(ticks, time.Time.Equal)
}

// drawSpec makes an expression. Dates are often free, so that a short window has
// ticks.
func drawSpec(t *rapid.T) refSpec {
	var spec refSpec
	for i, bounds := range [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
		free := i >= 2 && rapid.IntRange(0, 2).Draw(t, "free") > 0
		spec[i] = drawField(t, bounds[0], bounds[1], free)
	}
	return spec
}

func drawField(t *rapid.T, low, high int, free bool) refField {
	f := refField{text: "*", allowed: map[int]bool{}}
	if free {
		f.allow(low, high, 1)
		if (high == 31 || high == 6) && rapid.Bool().Draw(t, "question mark") {
			f.text = "?"
		}
		return f
	}
	var parts []string
	for range rapid.IntRange(1, 3).Draw(t, "parts") {
		if (high == 31 || high == 6) && rapid.IntRange(0, 2).Draw(t, "special") == 0 {
			text, matches := drawSpecial(t, high == 31)
			parts, f.special = append(parts, text), append(f.special, matches)
			continue
		}
		a := rapid.IntRange(low, high).Draw(t, "a")
		b := rapid.IntRange(a, high).Draw(t, "b")
		step := rapid.IntRange(1, high-low+1).Draw(t, "step")
		switch rapid.IntRange(0, 6).Draw(t, "form") {
		case 0:
			parts = append(parts, "*")
			f.allow(low, high, 1)
		case 1:
			parts = append(parts, fmt.Sprintf("*/%d", step))
			f.allow(low, high, step)
		case 2:
			parts = append(parts, fmt.Sprintf("%d/%d", a, step))
			f.allow(a, high, step)
		case 3:
			parts = append(parts, fmt.Sprintf("%d-%d", a, b))
			f.allow(a, b, 1)
		case 4:
			parts = append(parts, fmt.Sprintf("%d-%d/%d", a, b, step))
			f.allow(a, b, step)
		default:
			parts = append(parts, fmt.Sprint(a))
			f.allow(a, a, 1)
		}
	}
	f.text = strings.Join(parts, ",")
	return f
}

// drawSpecial makes an element that depends on the month, and a slow check of it.
func drawSpecial(t *rapid.T, date bool) (string, func(time.Time) bool) {
	if !date {
		day := rapid.IntRange(0, 7).Draw(t, "day of the week")
		on := func(t time.Time) bool { return int(t.Weekday()) == day%7 }
		if rapid.Bool().Draw(t, "last") {
			return fmt.Sprintf("%dL", day), func(t time.Time) bool { return on(t) && t.AddDate(0, 0, 7).Month() != t.Month() }
		}
		n := rapid.IntRange(1, 5).Draw(t, "n")
		return fmt.Sprintf("%d#%d", day, n), func(t time.Time) bool {
			before := 0
			for d := t; d.Month() == t.Month(); d = d.AddDate(0, 0, -7) {
				before++
			}
			return on(t) && before == n
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return "L", func(t time.Time) bool { return t.AddDate(0, 0, 1).Day() == 1 }
	case 1:
		n := rapid.IntRange(1, 30).Draw(t, "n")
		return fmt.Sprintf("L-%d", n), func(t time.Time) bool {
			return t.AddDate(0, 0, n).Month() == t.Month() && t.AddDate(0, 0, n+1).Day() == 1
		}
	case 2:
		n := rapid.IntRange(1, 31).Draw(t, "n")
		return fmt.Sprintf("%dW", n), func(t time.Time) bool { return nearestWeekday(t, n) }
	default:
		return "LW", func(t time.Time) bool { return nearestWeekday(t, daysIn(t)) }
	}
}

func daysIn(t time.Time) int { return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day() }

// nearestWeekday reports whether t has the smallest distance to day n of its month
// of all days from Monday to Friday.
func nearestWeekday(t time.Time, n int) bool {
	best, least := 0, 100
	for day := 1; day <= daysIn(t); day++ {
		weekday := time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC).Weekday()
		if distance := max(day-n, n-day); weekday != time.Saturday && weekday != time.Sunday && distance < least {
			best, least = day, distance
		}
	}
	return n <= daysIn(t) && t.Day() == best
}

func (f refField) allow(first, last, step int) {
	for n := first; n <= last; n += step {
		f.allowed[n] = true
	}
}

// transitions finds the instants at which the zone's offset changes, from 1880
// to 2110, by comparing days and halving.
func transitions(zone *time.Location) (found []time.Time) {
	offset := func(unix int64) int {
		_, o := time.Unix(unix, 0).In(zone).Zone()
		return o
	}
	const day = 24 * 60 * 60
	end := time.Date(2110, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for low := time.Date(1880, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); low < end; low += day {
		if offset(low) == offset(low+day) {
			continue
		}
		a, b := low, low+day
		for b-a > 1 {
			if m := (a + b) / 2; offset(m) == offset(a) {
				a = m
			} else {
				b = m
			}
		}
		found = append(found, time.Unix(b, 0).UTC())
	}
	return found
}

// TestCronAgainstReference compares windows around changes of the clock with
// what the reference sees there.
func TestCronAgainstReference(t *testing.T) {
	turns := map[string][]time.Time{}
	for _, name := range fixtureZones {
		turns[name] = transitions(zone(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(fixtureZones).Draw(t, "zone")
		location, _ := LoadZone(name)
		from := time.Unix(rapid.Int64Range(-3e9, 5e9).Draw(t, "from"), 0).UTC()
		if all := turns[name]; len(all) > 0 && rapid.IntRange(0, 4).Draw(t, "anywhere") > 0 {
			ahead := rapid.IntRange(0, 6*60*60).Draw(t, "ahead")
			from = rapid.SampledFrom(all).Draw(t, "turn").Add(-time.Duration(ahead) * time.Second)
		}
		to := from.Add(12 * time.Hour)

		spec := drawSpec(t)
		c, err := ParseCron(spec.String(), location)
		if err != nil {
			t.Skip(err)
		}
		var got []time.Time
		for tick := c.Next(time.Time{}, from); !tick.After(to); tick = c.Next(time.Time{}, tick) {
			if n := len(got); n > 0 && !tick.After(got[n-1]) {
				t.Fatalf("%q in %s: %v after %v", c, name, tick, got[n-1])
			}
			got = append(got, tick)
		}
		if want := spec.ticks(location, from, to); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q in %s from %v:\n got %v\nwant %v", c, name, from, got, want)
		}
	})
}

// TestCronFarAhead checks that long jumps pass over no tick.
func TestCronFarAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		c, err := ParseCron(spec.String(), time.UTC)
		if err != nil {
			t.Skip(err)
		}
		from := time.Unix(rapid.Int64Range(-3e9, 5e9).Draw(t, "from"), 0).UTC()
		got := c.Next(time.Time{}, from)

		want := from.Truncate(time.Minute).Add(time.Minute)
		for !spec.matches(want) {
			if spec.matchesDate(want) {
				want = want.Add(time.Minute)
			} else {
				want = time.Date(want.Year(), want.Month(), want.Day()+1, 0, 0, 0, 0, time.UTC)
			}
		}
		if !got.Equal(want) {
			t.Fatalf("%q after %v: %v, want %v", c, from, got, want)
		}
	})
}
