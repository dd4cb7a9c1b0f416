package ui

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRelative(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, x := range []struct {
		after time.Duration
		want  string
	}{
		{0, "now"}, {999 * time.Millisecond, "now"}, {-time.Second, "1 s ago"}, {59*time.Second + 900*time.Millisecond, "in 59 s"},
		{time.Minute, "in 1 min"}, {-59*time.Minute - 59*time.Second, "59 min ago"}, {time.Hour, "in 1 h"},
		{time.Hour + 30*time.Minute, "in 1 h 30 min"},
		{-3*time.Hour - 30*time.Minute, "3 h ago"}, {24 * time.Hour, "in 1 d"}, {50 * time.Hour, "in 2 d 2 h"},
		{59 * 24 * time.Hour, "in 59 d"},
		{60 * 24 * time.Hour, "in 2 months"}, {-800 * 24 * time.Hour, "2 years ago"},
	} {
		if got := Relative(now, now.Add(x.after)); got != x.want {
			t.Errorf("%s: %q, want %q", x.after, got, x.want)
		}
	}
}

func TestMillis(t *testing.T) {
	for d, want := range map[time.Duration]string{
		400 * time.Microsecond: "0.4 ms", 12340 * time.Microsecond: "12 ms", 999 * time.Millisecond: "999 ms",
		1250 * time.Millisecond: "1.25 s", 90 * time.Second: "1 min", 0: "0.0 ms",
	} {
		if got := Millis(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestShorten_KeepsBothEnds(t *testing.T) {
	if got := Shorten("https://example.com/short", 72); got != "https://example.com/short" {
		t.Errorf("a short text became %q", got)
	}
	got := Shorten("https://example.com/a/long/päth/to/somewhere?token=abcdef", 30)
	if want := "https://example.com…ken=abcdef"; got != want || utf8.RuneCountInString(got) != 30 {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClip_EndsAtACharacter(t *testing.T) {
	if kept, left := Clip("añb", 2); kept != "a" || left != 3 {
		t.Errorf("kept %q, left out %d", kept, left)
	}
	if kept, left := Clip("abc", 3); kept != "abc" || left != 0 {
		t.Errorf("kept %q, left out %d", kept, left)
	}
	if kept, left := Clip(`a"b<c`, 10); kept != `a"b` || left != 2 {
		t.Errorf("kept %q, left out %d", kept, left)
	}
}

func TestPretty(t *testing.T) {
	for in, want := range map[string]string{
		`5`: `5`, `"a"`: `"a"`, `{}`: `{}`, `[]`: `[]`,
		`{"n":1.10,"when":[30,"minutes"]}`: "{\n  \"n\": 1.10,\n  \"when\": [30, \"minutes\"]\n}",
		`[{"a":12345678901234567890,"b":{"c":"a text that is long enough to fill most of a line"}}]`: "[\n  {\n    \"a\": 12345678901234567890,\n    \"b\": {\"c\": \"a text that is long enough to fill most of a line\"}\n  }\n]",
	} {
		if got := Pretty(rawjson.Value(in)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", in, got, want)
		}
	}
	deep := strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000)
	if got := strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' {
			return -1
		}
		return r
	}, Pretty(rawjson.Value(deep))); got != deep {
		t.Error("a deep value is not what it was")
	}
}

// TestPretty_DeepLists: 450 KB nested 1,000 deep must not become 450 MB.
func TestPretty_DeepLists(t *testing.T) {
	in := strings.Repeat("[", 1000) + "1" + strings.Repeat(",1", 225_000) + strings.Repeat("]", 1000)
	if got := Pretty(rawjson.Value(in)); got != in {
		t.Errorf("%d bytes became %d", len(in), len(got))
	}
	flat := `{"a":[` + strings.Repeat(`"x, [{",`, 10_000) + `"\\"]}`
	got := Pretty(rawjson.Value(flat))
	if !strings.HasPrefix(got, "{\n  \"a\": [\n    \"x, [{\",\n") || len(got) > 2*len(flat) {
		t.Errorf("%d bytes became %d: %.60s", len(flat), len(got), got)
	}
}
