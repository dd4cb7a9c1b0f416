package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The first run is shown, not the beginning of the grid, and none if there is none.
func TestScheduleFacts_ShowTheFirstRun(t *testing.T) {
	begin := time.Date(2026, 3, 1, 10, 20, 30, 0, time.UTC)
	for args, want := range map[string]string{
		`{"url":"https://x","cron":"@daily"}`:                                        "2026-03-02T00:00:00",
		`{"url":"https://x","cron":"@daily","timezone":"Asia/Tokyo"}`:                "2026-03-01T15:00:00",
		`{"url":"https://x","repeat_every":60}`:                                      "2026-03-01T10:20:30",
		`{"url":"https://x","repeat_every":60,"except":["2026-03-01"]}`:              "2026-03-02T00:00:30",
		`{"url":"https://x","cron":"@daily","ends_at":"2026-03-01T12:00:00Z"}`:       "",
		`{"url":"https://x","repeat_every":3600,"ends_at":"2026-03-01T12:00:00Z"}`:   "2026-03-01T10:20:30",
		`{"url":"https://x","repeat_every":60,"ends_at":"2026-03-01T09:00:00.000Z"}`: "",
	} {
		s := &job.Schedule{ID: uuid.New(), FirstDue: begin, InsertedAt: begin, Args: rawjson.Value(args)}
		var page strings.Builder
		d := &Schedule{ScheduleRow: ScheduleRow{Schedule: s, Spec: job.ReadSpec(s.Args)}}
		if err := scheduleFacts(d).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		_, fact, shown := strings.Cut(page.String(), "First due")
		if fact, _, _ = strings.Cut(fact, "</dd>"); shown != (want != "") || shown && !strings.Contains(fact, `datetime="`+want) {
			t.Errorf("%s: first due %s, want %q", args, fact, want)
		}
	}
}
