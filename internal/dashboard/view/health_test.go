package view

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestHealth_OfASchedule(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	done := job.RunSummary{State: job.Completed, ScheduledAt: at(-60)}
	pending := func(due int) job.RunSummary { return job.RunSummary{State: job.Available, DueAt: at(due)} }
	for _, test := range []struct {
		schedule job.Schedule
		runs     []job.RunSummary
		want     string
	}{
		{job.Schedule{Failures: 14, FailingSince: at(-42), Failure: "500"}, []job.RunSummary{pending(5), done},
			"Failing 14 in a row since 22:18 UTC, HTTP 500"},
		{job.Schedule{Failures: 1, FailingSince: at(-3000), Failure: "timeout"}, nil,
			"Failing Last run failed at 27 Feb 21:00 UTC, timeout"},
		{job.Schedule{Failures: 2, DisabledAt: at(-60)}, nil, "Paused since 22:00 UTC"},
		{job.Schedule{DisabledAt: at(-60), Ended: job.EndedMaxRuns}, nil, "Ended " + string(job.EndedMaxRuns)},
		{job.Schedule{}, []job.RunSummary{pending(-3), done}, "Late due 3 min ago"},
		{job.Schedule{}, []job.RunSummary{pending(0), done}, "Healthy "},
		{job.Schedule{}, []job.RunSummary{pending(5)}, "New no completed runs yet"},
	} {
		r := &ScheduleRow{Schedule: &test.schedule, Runs: test.runs}
		if h := r.health(now); h.Label+" "+h.Detail != test.want {
			t.Errorf("got %q, want %q", h.Label+" "+h.Detail, test.want)
		}
	}
}

func TestHealth_BriefHasCountAndCause(t *testing.T) {
	for detail, want := range map[string]string{
		"14 in a row since 22:18 UTC, HTTP 500":       "14 × HTTP 500",
		"1,024 in a row since 25 Nov 22:18 UTC, a, b": "1,024 × a, b",
		"Last run failed at 22:18 UTC, HTTP 500":      "Last run failed at 22:18 UTC, HTTP 500",
		"no completed runs yet":                       "no completed runs yet",
		"":                                            "",
	} {
		if got := (Health{Detail: detail}).brief(); got != want {
			t.Errorf("%q: got %q, want %q", detail, got, want)
		}
	}
}
