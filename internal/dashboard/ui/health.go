package ui

import (
	"strings"
	"time"
)

// causes are the words for why an attempt failed, by job.Cause. Statuses are not among
// them.
var causes = map[string]string{
	"dns": "DNS", "connect": "connection failed", "tls": "TLS", "timeout": "timeout", "closed": "connection closed",
	"protocol": "invalid response",
	"redirect": "redirect", "blocked": "blocked address", "cancelled": "cancelled", "secret": "secret unavailable",
	"too_large":   "request too large",
	"interrupted": "interrupted", "unstored": "result not stored", "internal": "internal error", "expired": "expired",
	"poisoned": "can't be run",
	"answer":   "reported by the target", "abandoned": "no result in time", "status": "unexpected status",
}

// IsStatus reports whether an attempt failed by the status of its response.
func IsStatus(cause string) bool { return cause != "" && cause[0] >= '0' && cause[0] <= '9' }

// Cause returns why an attempt failed in words: "HTTP 500", "timeout".
func Cause(cause string) string {
	if IsStatus(cause) {
		return "HTTP " + cause
	}
	if words := causes[cause]; words != "" {
		return words
	}
	return "unknown error"
}

// CauseWord returns the cause of a failure in a word or two: "500", "timeout", "DNS".
func CauseWord(cause string) string { return strings.TrimPrefix(Cause(cause), "HTTP ") }

// Clock formats the time of day of an instant, with its date unless it is within a day
// of now: "22:18 UTC", "21 Nov 22:18 UTC". The zone is that of now.
func Clock(now, t time.Time) string {
	t = t.In(now.Location())
	if now.Sub(t).Abs() < 24*time.Hour {
		return t.Format("15:04 MST")
	}
	return t.Format("2 Jan 15:04 MST")
}
