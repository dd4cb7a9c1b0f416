package naturaltime

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// now is a Wednesday.
var now = time.Date(2026, 3, 4, 10, 30, 0, 0, time.UTC)

// show returns a timing as text.
func show(timing Timing) string {
	var parts []string
	if timing.In != nil {
		parts = append(parts, "in "+timing.In.Amount+" "+timing.In.Unit)
	}
	if !timing.At.IsZero() {
		parts = append(parts, "at "+timing.At.Format(time.RFC3339))
	}
	if timing.Every != nil {
		parts = append(parts, "every "+timing.Every.Amount+" "+timing.Every.Unit)
	}
	if timing.Cron != "" {
		parts = append(parts, strings.TrimSpace("cron "+timing.Cron+" "+timing.Zone))
	}
	return strings.Join(parts, ", ")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "now": "", "  Now. ": "", "at once": "", "immediately": "",

		"in 30 minutes": "in 30 minutes", "In 30 Minutes.": "in 30 minutes", "30 minutes": "in 30 minutes",
		"30 minutes from now": "in 30 minutes",
		"in an hour":          "in 1 hours", "in half an hour": "in 0.5 hours", "in 1.5 days": "in 1.5 days", "in two weeks": "in 2 weeks",
		"in 1h30m": "in 90 minutes", "in 1 hour and 30 minutes": "in 90 minutes", "1 day 2 hours 3 seconds": "in 93603 seconds",
		"in 90s": "in 90 seconds", "in 007 days": "in 7 days", "after 5 min": "in 5 minutes",

		"at 17:00": "at 2026-03-04T17:00:00Z", "at 9": "at 2026-03-05T09:00:00Z", "9:15pm": "at 2026-03-04T21:15:00Z",
		"at noon":     "at 2026-03-04T12:00:00Z",
		"at midnight": "at 2026-03-05T00:00:00Z", "tomorrow at 9": "at 2026-03-05T09:00:00Z", "tomorrow 9:30 am": "at 2026-03-05T09:30:00Z",
		"today at 18:45:30": "at 2026-03-04T18:45:30Z", "at 9 tomorrow": "at 2026-03-05T09:00:00Z",
		"friday at 8":         "at 2026-03-06T08:00:00Z",
		"next wednesday at 8": "at 2026-03-11T08:00:00Z", "on monday at 12 am": "at 2026-03-09T00:00:00Z",
		"on monday at 12 pm": "at 2026-03-09T12:00:00Z",
		"2026-12-24 18:00":   "at 2026-12-24T18:00:00Z", "2026-12-24T18:00:00+02:00": "at 2026-12-24T16:00:00Z",
		"on 2026-12-24 at 18:00": "at 2026-12-24T18:00:00Z",
		"december 24 at 6 pm":    "at 2026-12-24T18:00:00Z", "24 december at 18:00": "at 2026-12-24T18:00:00Z",
		"on the 1st of march 2027 at 7:00": "at 2027-03-01T07:00:00Z",
		"march 1st at 7":                   "at 2027-03-01T07:00:00Z", "29 february at 7": "at 2028-02-29T07:00:00Z",
		"tomorrow at 9 Europe/Berlin": "at 2026-03-05T09:00:00+01:00", "tomorrow at 9 (europe/berlin)": "at 2026-03-05T09:00:00+01:00",
		"tomorrow at 9 in America/New_York": "at 2026-03-05T09:00:00-05:00", "tomorrow at 9 UTC": "at 2026-03-05T09:00:00Z",

		"every 5 minutes": "every 5 minutes", "every minute": "every 1 minute", "every hour": "every 1 hour", "each day": "every 1 day",
		"every other day": "every 2 days", "every 90 s": "every 90 seconds", "every 1h30m": "every 90 minutes",
		"every 2 weeks":                      "every 2 weeks",
		"every 5 minutes starting in 1 hour": "in 1 hours, every 5 minutes",
		"every day starting tomorrow at 9":   "at 2026-03-05T09:00:00Z, every 1 day",
		"every 2 hours from now":             "every 2 hours",

		"every weekday at 9:00 Europe/Berlin": "cron 0 9 * * 1-5 Europe/Berlin", "every weekday at 9": "cron 0 9 * * 1-5",
		"weekdays at 9":               "cron 0 9 * * 1-5",
		"every day at 9:00 and 17:00": "cron 0 9,17 * * *", "daily at 6:30": "cron 30 6 * * *", "daily at noon": "cron 0 12 * * *",
		"every monday at 8:15": "cron 15 8 * * 1", "mondays at 8:15": "cron 15 8 * * 1",
		"on mondays and thursdays at 8:15":           "cron 15 8 * * 1,4",
		"every monday, wednesday and friday at 7 pm": "cron 0 19 * * 1,3,5", "every monday to thursday at 7": "cron 0 7 * * 1-4",
		"every mon-thu at 7":  "cron 0 7 * * 1-4",
		"every weekend at 10": "cron 0 10 * * 6,7", "every week on sunday at 10": "cron 0 10 * * 7",
		"weekly on friday at 16:00":   "cron 0 16 * * 5",
		"every friday to monday at 1": "cron 0 1 * * 1,5-7", "every tuesday at 9": "cron 0 9 * * 2", "tuesdays at 9": "cron 0 9 * * 2",
		"every month on the 1st at 6:00": "cron 0 6 1 * *", "monthly on the 1st and 15th at noon": "cron 0 12 1,15 * *",
		"every 15th of the month at 6":   "cron 0 6 15 * *",
		"on the 1st of every month at 6": "cron 0 6 1 * *", "every year on march 1 at 9": "cron 0 9 1 3 *",
		"every january 1st at midnight":    "cron 0 0 1 1 *",
		"every last day of the month at 9": "cron 0 9 L * *", "every month on the last day at 9": "cron 0 9 L * *",
		"on the 15th and the last day of every month at 9": "cron 0 9 15,L * *",
		"every last weekday of the month at 9":             "cron 0 9 LW * *", "every last friday of the month at 9": "cron 0 9 * * 5L",
		"on the last sunday of every month at noon": "cron 0 12 * * 7L",
		"every month on the first monday at 9":      "cron 0 9 * * 1#1", "on the second tuesday of every month at 9": "cron 0 9 * * 2#2",
		"every 3rd wednesday of the month at 9": "cron 0 9 * * 3#3",
		"every hour at :15":                     "cron 15 * * * *", "hourly at minute 5": "cron 5 * * * *", "hourly": "cron 0 * * * *",
		"every weekday at 9 starting 2026-04-01 at 0:00": "at 2026-04-01T00:00:00Z, cron 0 9 * * 1-5",

		"0 9 * * 1-5": "cron 0 9 * * 1-5", "*/15 * * * * Europe/Berlin": "cron */15 * * * * Europe/Berlin", "@daily": "cron @daily",
		"cron 5 4 * * SUN": "cron 5 4 * * SUN",
	} {
		got, err := Parse(text, now, time.UTC)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if show(got) != want {
			t.Errorf("%q is %q, want %q", text, show(got), want)
		}
	}
}

func TestParseRefusesAndAsks(t *testing.T) {
	for text, want := range map[string]string{
		"soon": `"soon"`, "in a while": "how long", "in 5": "how long", "5": `"5"`, "tomorrow": "at what time",
		"every weekday": "at what time", "daily": "at what time",
		"every week at 9": "which day of the week", "every month at 9": "which day of the month",
		"every year at 9": "which day of the year", "every last at 9": "last friday", "every 6th monday of the month at 9": "at most 5",
		"every last day on monday at 9": "only one kind",
		"every second monday at 9":      `"monday"`, "every 1st and 3rd wednesday at 9": "only one kind",
		"at 25:00": "0 to 23", "at 9:75": `"9:75"`, "at 13 pm": "1 to 12", "at nine thirty": `"nine"`,
		"today at 9": "in the past", "2020-01-01 at 9:00": "in the past", "february 30 at 9": "does not exist",
		"every day at 9:00 and 17:30": "different minutes", "every day at 9:00:30": "seconds",
		"every monday on the 1st at 9": "only one kind",
		"tomorrow at 9 or so":          `"or"`, "every 5 minutes on weekdays": `"on"`, "0 9 * * 8": "cron", "every": "at what time",
		"at 9 at 10":                      "two times",
		"2026-07-01T09:00Z Europe/Berlin": "time of day",
		"tomorrow at 9 Mars/Olympus":      `"mars/olympus"`, strings.Repeat("x", 301): "longer", "half hour": "half an hour",
	} {
		if got, err := Parse(text, now, time.UTC); err == nil {
			t.Errorf("%q is taken as %q", text, show(got))
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q does not speak of %s", text, err, want)
		}
	}
}

func TestTimesAreReadInTheZoneGiven(t *testing.T) {
	berlin, err := schedule.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"at 11:00": "at 2026-03-05T11:00:00+01:00", "every weekday at 9": "cron 0 9 * * 1-5 Europe/Berlin",
		"every weekday at 9 UTC": "cron 0 9 * * 1-5",
		"every hour":             "every 1 hour", "2026-07-01 at 9:00": "at 2026-07-01T09:00:00+02:00",
		"2026-07-01 09:00": "at 2026-07-01T09:00:00+02:00", "2026-07-01T09:00:30": "at 2026-07-01T09:00:30+02:00",
		"2026-07-01T09:00:00.25": "at 2026-07-01T09:00:00+02:00", "2026-07-01 09:00 UTC": "at 2026-07-01T09:00:00Z",
		"2026-07-01T09:00 America/New_York": "at 2026-07-01T09:00:00-04:00", "2026-07-01T09:00Z": "at 2026-07-01T09:00:00Z",
		"2026-07-01T09:00:00-05": "at 2026-07-01T14:00:00Z", "2020-01-01T09:00": "at 2020-01-01T09:00:00+01:00",
	} {
		got, err := Parse(text, now, berlin)
		if err != nil || show(got) != want {
			t.Errorf("%q is %q, want %q; %v", text, show(got), want, err)
		}
	}
}

// FuzzParse verifies that the API accepts every result.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"in 30 minutes", "every weekday at 9:00 Europe/Berlin", "on the 1st of every month at 6", "1h30m",
		"2026-12-24 18:00", "*/5 * * * *", "half an hour", "at :5", "every -",
		"every last weekday of the month at 9", "on the second tuesday of every month at 9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text, now, time.UTC)
		if err != nil {
			if err.Error() == "" {
				t.Fatalf("%q is refused without a word", text)
			}
			return
		}
		if got.In != nil && !got.At.IsZero() || got.Every != nil && got.Cron != "" {
			t.Fatalf("%q asks for two things: %s", text, show(got))
		}
		for _, span := range []*Span{got.In, got.Every} {
			if span == nil {
				continue
			}
			seconds, ok := schedule.UnitSeconds(span.Unit)
			if _, err := schedule.ParseAmount(span.Amount, seconds); !ok || err != nil {
				t.Fatalf("%q gives the span %v: %v", text, *span, err)
			}
		}
		if got.Cron != "" {
			if _, err := schedule.ParseCron(got.Cron, nil); err != nil {
				// Dates such as 30 February are well formed and never come.
				if !strings.Contains(err.Error(), "never fires") {
					t.Fatalf("%q gives the cron expression %q: %v", text, got.Cron, err)
				}
			}
		}
	})
}
