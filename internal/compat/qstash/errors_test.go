package qstash

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// TestSaid_NamesWhatTheClientSent has the service read what headers ask for, and looks for
// their names in what it refuses.
func TestSaid_NamesWhatTheClientSent(t *testing.T) {
	t.Parallel()
	const to = "https://example.com/a"
	for _, test := range []struct {
		to, headers, want string
	}{
		{"https://user:pw@example.com", "", "the destination url must not contain user info; use Upstash-Forward-Authorization instead"},
		{to, "Upstash-Not-Before: 99999999999", "Upstash-Not-Before must be at most 3,652 days ahead"},
		{to, "Upstash-Retry-Delay: foo(", "Upstash-Retry-Delay must be an expression of numbers"},
		{to, "Upstash-Cron: 99 * * * *", `Upstash-Cron has "99" as its minute`},
		{to, "Upstash-Cron: 0 0 30 2 *", "Upstash-Cron never fires"},
		{to, "Upstash-Cron: CRON_TZ=Mars/X 1 * * * *", "the time zone in Upstash-Cron must be an IANA time zone"},
		{to, "Upstash-Label: " + strings.Repeat("x", 300), "Upstash-Label must be a string of 1 to 255 characters"},
		{to, "Upstash-Callback: https://user:pw@example.com", "Upstash-Callback must not contain user info"},
		{to, "Upstash-Failure-Callback: https://user:pw@example.com", "Upstash-Failure-Callback must not contain user info"},
		{to, "Upstash-Callback: https://example.com\nUpstash-Callback-Retry-Delay: foo(", "Upstash-Callback-Retry-Delay must be an expression"},
		{to, "Upstash-Forward-X-Y: a\x01b", "Upstash-Forward-X-Y "},
		{to, "Upstash-Callback: https://example.com\nUpstash-Callback-Forward-X-Y: a\x01b", "Upstash-Callback-Forward-X-Y "},
	} {
		header := http.Header{}
		for line := range strings.Lines(test.headers) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			header.Add(name, value)
		}
		o, err := ReadOptions(header)
		if err != nil {
			t.Fatalf("%s: %v", test.headers, err)
		}
		m := &message{Options: o}
		if m.to, err = readDestination(test.to); err != nil {
			t.Fatalf("%s: %v", test.to, err)
		}
		body := m.create("192.0.2.1")
		if o.Cron != "" {
			body = m.schedule("192.0.2.1")
		}
		_, err = job.Read(body, job.ReadOptions{Now: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)})
		if err == nil || !strings.HasPrefix(said(err), test.want) {
			t.Errorf("%s %q: %v, want %s", test.to, test.headers, err, test.want)
		}
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[string]string{
		"#": "the message", "#/targets/0/url": "endpoints.0.url", "#/limits/0": "Upstash-Flow-Control-Key", "#/parallel": "parallelism",
		"#/dialect/callback/headers/X-A~1b": "Upstash-Callback-Forward-X-A/b", "#/dialect": "the message",
		"#/dialect/failure_callback/timeout": "Upstash-Failure-Callback-Timeout", "#/unheard_of": "the message",
	} {
		if got := subject(pointer); got != want {
			t.Errorf("%s is %s, want %s", pointer, got, want)
		}
	}
	if got := said(fault.Refuse([]fault.Problem{{Parameter: "count", Detail: "is wrong"}})); got != "count is wrong" {
		t.Error(got)
	}
	if got := said(errors.New("plain")); got != "plain" {
		t.Error(got)
	}
}
