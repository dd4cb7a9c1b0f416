package retry

import (
	"strings"
	"time"
)

// httpDates are the date formats of HTTP (RFC 9110, section 5.6.7): the current
// one and the two obsolete ones.
var httpDates = [...]string{
	"Mon, 02 Jan 2006 15:04:05 GMT",
	"Monday, 02-Jan-06 15:04:05 GMT",
	time.ANSIC,
}

// RetryAfter parses the value of a Retry-After header (RFC 9110, section
// 10.2.3), a number of seconds or a date, and returns the wait from now on. It
// is at most [LongestRetryAfter], and 0 if the value is absent, malformed or
// past.
func RetryAfter(value string, now time.Time) time.Duration {
	value = strings.Trim(value, " \t")
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		return seconds(value)
	}
	for _, form := range httpDates {
		if date, err := time.Parse(form, value); err == nil {
			return min(max(date.Sub(now), 0), LongestRetryAfter)
		}
	}
	return 0
}

// seconds parses a number of seconds of any length.
func seconds(digits string) time.Duration {
	const most = int64(LongestRetryAfter / time.Second)
	n := int64(0)
	for _, b := range []byte(digits) {
		n = min(n*10+int64(b-'0'), most)
	}
	return time.Duration(n) * time.Second
}
