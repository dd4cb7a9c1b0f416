package retry

import (
	"strings"
	"time"
)

// httpDates are the forms of a date in HTTP (RFC 9110, section 5.6.7): the one
// to be sent and the two obsolete ones to be read.
var httpDates = [...]string{
	"Mon, 02 Jan 2006 15:04:05 GMT",
	"Monday, 02-Jan-06 15:04:05 GMT",
	time.ANSIC,
}

// RetryAfter reads the value of a Retry-After header (RFC 9110, section 10.2.3),
// a number of seconds or a date, and gives the wait from now on. It is at most
// [LongestRetryAfter], and 0 when the value is absent, malformed or past.
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

// seconds reads a number of seconds, which may have any number of digits.
func seconds(digits string) time.Duration {
	const most = int64(LongestRetryAfter / time.Second)
	n := int64(0)
	for _, b := range []byte(digits) {
		n = min(n*10+int64(b-'0'), most)
	}
	return time.Duration(n) * time.Second
}
