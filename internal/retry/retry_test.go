package retry

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestJobBackoff(t *testing.T) {
	want := []time.Duration{
		10 * time.Second, time.Minute, 6 * time.Minute, 36 * time.Minute,
		3*time.Hour + 36*time.Minute, 6 * time.Hour, 6 * time.Hour,
	}
	for i, w := range want {
		if got := JobBackoff(i + 1); got != w {
			t.Errorf("JobBackoff(%d) = %v, want %v", i+1, got, w)
		}
	}
	for attempt, w := range map[int]time.Duration{
		math.MinInt: 10 * time.Second, 0: 10 * time.Second, 20: 6 * time.Hour, math.MaxInt: 6 * time.Hour,
	} {
		if got := JobBackoff(attempt); got != w {
			t.Errorf("JobBackoff(%d) = %v, want %v", attempt, got, w)
		}
	}
}

func TestDeliveryBackoff(t *testing.T) {
	want := []time.Duration{
		5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	}
	for i, w := range want {
		if got, again := DeliveryBackoff(i + 1); got != w || !again {
			t.Errorf("DeliveryBackoff(%d) = %v, %t, want %v", i+1, got, again, w)
		}
	}
	for _, attempt := range []int{len(want) + 1, 100, math.MaxInt} {
		if got, again := DeliveryBackoff(attempt); got != 0 || again {
			t.Errorf("DeliveryBackoff(%d) = %v, %t, want to give up", attempt, got, again)
		}
	}
	if got, again := DeliveryBackoff(math.MinInt); got != 5*time.Second || !again {
		t.Errorf("DeliveryBackoff(lowest) = %v, %t", got, again)
	}
}

func TestLengthen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(365*24*time.Hour)).Draw(t, "d"))
		random := rapid.Float64Range(0, 1).Draw(t, "random")
		if got := Lengthen(d, random); got < d || got > d+d/10 {
			t.Fatalf("Lengthen(%v, %v) = %v", d, random, got)
		}
	})
	if got := Lengthen(time.Minute, 0.5); got != 63*time.Second {
		t.Errorf("Lengthen(1m, 0.5) = %v, want 1m3s", got)
	}
}

func TestAfter(t *testing.T) {
	own := []time.Duration{time.Second, 2 * time.Minute}
	for _, c := range []struct {
		waits      []time.Duration
		attempt    int
		retryAfter time.Duration
		random     float64
		want       time.Duration
	}{
		{nil, 1, 0, 0, 10 * time.Second},
		{nil, 1, 0, 0.5, 10*time.Second + 500*time.Millisecond},
		{nil, 1, 9 * time.Second, 0, 10 * time.Second},
		{nil, 1, 11 * time.Second, 0, 11 * time.Second},
		{nil, 2, 30 * time.Second, 0, time.Minute},
		{nil, 1, -time.Hour, 0, 10 * time.Second},
		{nil, 9, 100 * time.Hour, 0, 24 * time.Hour},
		{nil, 9, 100 * time.Hour, 0.5, 25*time.Hour + 12*time.Minute},
		{own, 1, 0, 0, time.Second}, {own, 2, 0, 0.5, 126 * time.Second}, {own, 3, 0, 0, 2 * time.Minute},
		{own, math.MaxInt, 0, 0, 2 * time.Minute},
		{own, math.MinInt, 0, 0, time.Second}, {own, 1, 3 * time.Second, 0, 3 * time.Second},
	} {
		if got := After(c.waits, c.attempt, c.retryAfter, c.random); got != c.want {
			t.Errorf("After(%v, %d, %v, %v) = %v, want %v", c.waits, c.attempt, c.retryAfter, c.random, got, c.want)
		}
	}
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":        0,
		" ":       0,
		"0":       0,
		"120":     2 * time.Minute,
		" 120\t":  2 * time.Minute,
		"007":     7 * time.Second,
		"86399":   24*time.Hour - time.Second,
		"86400":   24 * time.Hour,
		"86401":   24 * time.Hour,
		"-1":      0,
		"+1":      0,
		"1.5":     0,
		"1e3":     0,
		"1 2":     0,
		"120, 60": 0,
		"١٢":      0,
		"soon":    0,

		"18446744073709551617":    24 * time.Hour,
		strings.Repeat("9", 5000): 24 * time.Hour,
		strings.Repeat("0", 5000): 0,

		"Sun, 01 Mar 2026 12:01:30 GMT":    90 * time.Second,
		"Sunday, 01-Mar-26 12:01:30 GMT":   90 * time.Second,
		"Sun Mar  1 12:01:30 2026":         90 * time.Second,
		"Sun, 01 Mar 2026 12:00:00 GMT":    0,
		"Sun, 01 Mar 2026 11:59:59 GMT":    0,
		"Fri, 01 Mar 0001 12:00:00 GMT":    0,
		"Mon, 02 Mar 2026 12:00:01 GMT":    24 * time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT":    24 * time.Hour,
		"Mon, 30 Feb 2026 12:00:00 GMT":    0,
		"Sun, 01 Mar 2026 12:01:30 +0000":  0,
		"Sun, 01 Mar 2026 12:01:30 GMT, 3": 0,
		"2026-03-01T12:01:30Z":             0,
	} {
		if got := RetryAfter(value, now); got != want {
			t.Errorf("RetryAfter(%.40q) = %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"", "0", "120", "99999999999999999999", "-5", "1.5",
		"Sun, 01 Mar 2026 12:01:30 GMT", "Sunday, 01-Mar-26 12:01:30 GMT", "Sun Mar  1 12:01:30 2026",
	} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait := RetryAfter(value, now)
		if wait < 0 || wait > LongestRetryAfter {
			t.Errorf("RetryAfter(%q) = %v", value, wait)
		}
		if again := RetryAfter(" "+value+" ", now); again != wait {
			t.Errorf("RetryAfter(%q) = %v, but %v with spaces around", value, wait, again)
		}
	})
}
