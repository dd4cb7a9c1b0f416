package job

import (
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// ReadNext reads when the next run of a schedule is due, from a response: a
// duration from now, or a time as scheduled_at accepts it. A number of up to
// MaxAhead in seconds is a duration, a larger one a unix timestamp, unless that is
// further in the past than MaxAhead: then a duration was meant that is too long. wrong
// completes a sentence that begins with the member's name; it is "" if the value is
// right.
func ReadNext(v rawjson.Value, now time.Time) (at time.Time, wrong string) {
	if kind := v.Kind(); kind == '[' || kind == '0' {
		wait, ok := ReadDuration(v, "", 0, MaxAhead, func(_, detail string) { wrong = detail })
		if ok {
			return now.Add(wait), ""
		}
		if kind == '[' || v[0] == '-' {
			return time.Time{}, wrong
		}
	}
	var err error
	switch v.Kind() {
	case '"':
		at, err = schedule.ParseInstant(rawjson.Text(v))
	case '0':
		at, err = schedule.ParseUnix(string(v))
	default:
		return time.Time{}, "must be a duration or a time"
	}
	switch {
	case err != nil:
		return time.Time{}, err.Error()
	case at.After(now.Add(MaxAhead)), v.Kind() == '0' && at.Before(now.Add(-MaxAhead)):
		return time.Time{}, "must be at most " + durationText(MaxAhead) + " ahead"
	}
	return at, ""
}
