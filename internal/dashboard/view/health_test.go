package view

import (
	"testing"
	"time"

	"github.com/google/uuid"

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
		{job.Schedule{Failures: 14, FailingSince: at(-42), Failure: "500"}, []job.RunSummary{pending(5), done}, "Failing 14 in a row since 22:18 UTC, HTTP 500"},
		{job.Schedule{Failures: 1, FailingSince: at(-3000), Failure: "timeout"}, nil, "Failing Last run failed at 27 Feb 21:00 UTC, timeout"},
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

func TestFailing_TitleSaysWhatSinceWhenAndWhy(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	f := Failing{Schedules: []job.FailingSchedule{
		{Since: now.Add(-42 * time.Minute), Cause: "dns"}, {Since: now, Cause: "500"}, {Since: now, Cause: "500"}, {Since: now, Cause: "timeout"}, {Since: now, Cause: "404"},
	}}
	if got, want := f.title(now), "5 schedules failing · oldest since 22:18 UTC · HTTP 500, DNS, timeout, HTTP 404"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGroupFailures_ByScheduleOrHostAndCause(t *testing.T) {
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	name, nightly := "Nightly", uuid.MustParse("019ca945-0a00-7000-858a-8a1cd15f2e8e")
	groups := GroupFailures([]job.FailedJob{
		{Number: 5, Name: &name, ScheduleID: nightly, Host: "a.example.com", DiscardedAt: now, Cause: "500"},
		{Number: 4, Host: "b.example.com", DiscardedAt: now.Add(-time.Minute), Cause: "dns"},
		{Number: 3, Name: &name, ScheduleID: nightly, Host: "b.example.com", DiscardedAt: now.Add(-2 * time.Minute), Cause: "500"},
		{Number: 2, Name: &name, ScheduleID: nightly, Host: "a.example.com", DiscardedAt: now.Add(-3 * time.Minute), Cause: "timeout"},
		{Number: 1, Host: "b.example.com", DiscardedAt: now.Add(-4 * time.Minute), Cause: "dns"},
	})
	want := []FailureGroup{
		{"Nightly", nightly, "", "HTTP 500", 2, now.Add(-2 * time.Minute), now, 5},
		{"b.example.com", uuid.Nil, "b.example.com", "DNS", 2, now.Add(-4 * time.Minute), now.Add(-time.Minute), 4},
		{"Nightly", nightly, "", "timeout", 1, now.Add(-3 * time.Minute), now.Add(-3 * time.Minute), 2},
	}
	if len(groups) != len(want) {
		t.Fatalf("%d groups: %+v", len(groups), groups)
	}
	for i := range want {
		if groups[i] != want[i] {
			t.Errorf("group %d is %+v, want %+v", i, groups[i], want[i])
		}
	}
}
