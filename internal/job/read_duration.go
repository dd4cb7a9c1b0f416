package job

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// ReadDuration reads a duration: a number of seconds, or [amount, unit]. pointer is
// the JSON pointer to v. It reports what is wrong to refuse, with the pointer of the
// element, and then returns false. Amounts may be fractions; what is finer than a
// microsecond is cut. least and most are the bounds, inclusive; least must not be
// negative.
func ReadDuration(v rawjson.Value, pointer string, least, most time.Duration, refuse func(pointer, detail string)) (time.Duration, bool) {
	const shape = "must be a number of seconds or [amount, unit]"
	amount, unit := v, int64(1)
	if v.Kind() == '[' {
		pair := rawjson.Elements(v)
		if len(pair) != 2 {
			refuse(pointer, shape)
			return 0, false
		}
		var known bool
		if unit, known = schedule.UnitSeconds(rawjson.Text(pair[1])); !known {
			refuse(pointer+"/1", "must be a unit: second, minute, hour, day or week, singular or plural")
		}
		amount, pointer = pair[0], pointer+"/0"
		if amount.Kind() != '0' {
			refuse(pointer, "must be a number")
			return 0, false
		}
		if !known {
			if amount[0] == '-' {
				refuse(pointer, "must not be negative")
			}
			return 0, false
		}
	}
	if amount.Kind() != '0' {
		if form := SuggestDuration(rawjson.Text(amount)); form != "" {
			refuse(pointer, shape+", here "+form)
		} else {
			refuse(pointer, shape)
		}
		return 0, false
	}
	d, wrong := readAmount(string(amount), unit, least, most)
	if wrong != "" {
		refuse(pointer, wrong)
	}
	return d, wrong == ""
}

// readAmount returns a length, or what is wrong with it.
func readAmount(literal string, unit int64, least, most time.Duration) (d time.Duration, wrong string) {
	micros, err := schedule.ParseAmount(literal, unit)
	switch {
	case err != nil && literal[0] != '-', micros > most.Microseconds():
		return 0, "must be at most " + durationText(most)
	case err != nil || micros < 0 || literal[0] == '-' && micros != 0:
		return 0, "must not be negative"
	case micros < least.Microseconds():
		return 0, "must be at least " + durationText(least)
	}
	return time.Duration(micros) * time.Microsecond, ""
}

// DurationOf returns the length of a duration that ReadDuration accepted.
func DurationOf(v rawjson.Value) time.Duration {
	amount, unit := v, int64(1)
	if pair := rawjson.Elements(v); len(pair) == 2 {
		amount = pair[0]
		unit, _ = schedule.UnitSeconds(rawjson.Text(pair[1]))
	}
	micros, _ := schedule.ParseAmount(string(amount), unit)
	return time.Duration(micros) * time.Microsecond
}

// durationText writes a bound in its largest unit: "1 second", "3,652 days".
func durationText(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d < unit.length || d%unit.length != 0 {
			continue
		}
		n := int64(d / unit.length)
		text := strconv.FormatInt(n, 10)
		if n >= 1000 {
			text = text[:len(text)-3] + "," + text[len(text)-3:]
		}
		if n != 1 {
			return text + " " + unit.name + "s"
		}
		return text + " " + unit.name
	}
	return d.String()
}

// duration reads a duration of a field within bounds.
func (r *reader) duration(f *Field, v rawjson.Value, least, most time.Duration) (time.Duration, bool) {
	return ReadDuration(v, Pointer(f.Name), least, most, func(pointer, detail string) { r.refuse(pointer, "%s", detail) })
}
