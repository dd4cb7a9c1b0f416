package qstash

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// FuzzReadOptions reads headers, one in a line, and verifies that what is created from
// them is JSON that the core reads or refuses with problems.
func FuzzReadOptions(f *testing.F) {
	for _, seed := range []string{
		"", "Upstash-Delay: 1h2m", "Upstash-Not-Before: 1796000000\nUpstash-Retries: 3", "Upstash-Retry-Delay: pow(2, retried)*1000",
		"Upstash-Forward-A: b\nUpstash-Forward-A: c\nUpstash-Label: x, y",
		"Upstash-Callback: https://example.com\nUpstash-Callback-Retries: 1",
		"Upstash-Flow-Control-Key: k\nUpstash-Flow-Control-Value: rate=10, parallelism=2, period=1m", "Upstash-Deduplication-Id: \u2603",
		"Upstash-Content-Based-Deduplication: true", "Upstash-Redact-Fields: body, header[authorization]",
		"Upstash-Cron: CRON_TZ=Europe/Berlin 0 9 * * *",
		"Upstash-Timeout: 99999999999999999999h", "Upstash-Method: \x00",
	} {
		f.Add(seed, "https://example.com/a?b=c")
	}
	f.Add("", "group")
	f.Add("", "https%3A%2F%2Fexample.com")
	f.Fuzz(func(t *testing.T, lines, to string) {
		header := http.Header{}
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			header.Add(name, strings.TrimSpace(value))
		}
		options, err := ReadOptions(header)
		if err != nil {
			return
		}
		m := &message{Options: options, body: []byte(lines)}
		if m.to, err = readDestination(to); err != nil || m.prepare() != nil {
			return
		}
		for _, body := range []rawjson.Value{m.create("192.0.2.1"), m.schedule("")} {
			if _, err := rawjson.Read(body); err != nil {
				t.Fatalf("the create request is no JSON: %v: %s", err, body)
			}
			_, _ = job.Read(body, job.ReadOptions{})
		}
	})
}

func TestReadOptions_Timeout(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1m30s": 90 * time.Second, "30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "0": 0,
		"": -1, ".": -1, "1.2.3": -1, "-1": -1, "1e3": -1, "0x10": -1, "NaN": -1, "99999999999": -1, "1.5s": -1, "5 s": -1,
	} {
		o, err := ReadOptions(http.Header{"Upstash-Timeout": {value}})
		if err != nil {
			o = &Options{Timeout: -1}
		}
		if o.Timeout != want {
			t.Errorf("%q is %v, want %v", value, o.Timeout, want)
		}
	}
}

func TestTargetOf(t *testing.T) {
	targets := []rawjson.Value{rawjson.Value(`{"name":"a","url":"https://a/"}`), rawjson.Value(`{"name":"b","url":"https://b/"}`)}
	for e, want := range map[endpoint]int{{Name: "a"}: 0, {Name: "b", URL: "https://a/"}: 1, {URL: "https://b/"}: 1,
		{Name: "c", URL: "https://a/"}: -1, {URL: "https://c/"}: -1} {
		if got := targetOf(targets, e); got != want {
			t.Errorf("%+v is target %d, want %d", e, got, want)
		}
	}
}
