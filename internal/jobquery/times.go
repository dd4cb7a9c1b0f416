package jobquery

import (
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// readTime reads a moment of the past as people write it: a day, a time of day or both
// ("yesterday 22:00", "monday", "9:30"), how long ago it was ("2h", "3 days ago"), or a
// time as the API takes it. A time of day alone is the latest one that has passed.
func readTime(text string, o Options) (time.Time, bool) {
	zone := o.Zone
	if zone == nil {
		zone = time.UTC
	}
	now := o.Now.In(zone)
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, at.Year() >= 1970
		}
	}
	if at, ok := ago(strings.TrimSuffix(text, " ago"), now); ok {
		return at, true
	}
	if at, ok := dayAndTime(text, now); ok {
		return at, true
	}
	at, err := job.ReadInstant(strings.ToUpper(text))
	return at, err == nil
}

// units are the units of time by their names.
var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second, "m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour, "w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
}

// ago reads how long ago something was, as in "90m" and "3 days". Days are 24 hours.
func ago(text string, now time.Time) (time.Time, bool) {
	if text == "now" {
		return now, true
	}
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits == 0 || digits > 6 {
		return time.Time{}, false
	}
	name := strings.TrimSpace(text[digits:])
	unit, ok := units[name]
	if !ok {
		if unit, ok = units[strings.TrimSuffix(name, "s")]; !ok || len(name) < 3 {
			return time.Time{}, false
		}
	}
	n, err := strconv.Atoi(text[:digits])
	if err != nil || time.Duration(n) > maxAgo/unit {
		return time.Time{}, false
	}
	return now.Add(-time.Duration(n) * unit), true
}

// maxAgo is the longest time ago that is read.
const maxAgo = 20 * 365 * 24 * time.Hour

// dayAndTime reads a day, a time of day or both.
func dayAndTime(text string, now time.Time) (time.Time, bool) {
	first, rest, both := strings.Cut(text, " ")
	back, isDay := daysBack(first, now.Weekday())
	hour, minute, second := 0, 0, 0
	clock := rest
	if !isDay {
		clock = text
	}
	if !isDay || both {
		var ok bool
		if hour, minute, second, ok = timeOfDay(strings.TrimPrefix(clock, "at ")); !ok {
			return time.Time{}, false
		}
	}
	at := time.Date(now.Year(), now.Month(), now.Day()-back, hour, minute, second, 0, now.Location())
	if !isDay && at.After(now) {
		at = time.Date(now.Year(), now.Month(), now.Day()-1, hour, minute, second, 0, now.Location())
	}
	return at, true
}

// daysBack returns how many days ago a named day was.
func daysBack(name string, today time.Weekday) (days int, ok bool) {
	switch name {
	case "today":
		return 0, true
	case "yesterday":
		return 1, true
	}
	for day := time.Sunday; day <= time.Saturday; day++ {
		if full := strings.ToLower(day.String()); name == full || name == full[:3] {
			return (int(today) - int(day) + 7) % 7, true
		}
	}
	return 0, false
}

// timeOfDay reads "22:00", "22:00:30", "9am" and "9:30pm".
func timeOfDay(text string) (hour, minute, second int, ok bool) {
	for _, layout := range []string{"15:04", "15:04:05", "3pm", "3:04pm", "3 pm", "3:04 pm"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Hour(), at.Minute(), at.Second(), true
		}
	}
	return 0, 0, 0, false
}
