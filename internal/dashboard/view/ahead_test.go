package view

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestInterval_HasTheDateIfItIsNotToday(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		from, to time.Duration
		want     string
	}{
		{-time.Hour, 0, "11:00–12:00 UTC"},
		{11 * time.Hour, 13 * time.Hour, "23:00–01:00 UTC"},
		{-36 * time.Hour, -35 * time.Hour, "1 Mar 00:00–01:00 UTC"},
		{-39 * time.Hour, -36 * time.Hour, "28 Feb 21:00–00:00 UTC"},
		{-48 * time.Hour, -12 * time.Hour, "28 Feb 12:00–2 Mar 00:00 UTC"},
	} {
		if got := Interval(now, now.Add(test.from), now.Add(test.to)); got != test.want {
			t.Errorf("from %s to %s: %s, want %s", test.from, test.to, got, test.want)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Interval(now.In(berlin), now.Add(-48*time.Hour), now.Add(-36*time.Hour)), "28 Feb 13:00–1 Mar 01:00 CET"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAhead_CountsRunsAndNamesTheJobsOfQuietSteps(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 30, 0, 0, time.UTC)
	name := "Nightly report"
	a := &Ahead{
		Bounds: []time.Time{now, now.Add(30 * time.Minute), now.Add(90 * time.Minute), now.Add(150 * time.Minute)},
		Steps: []job.DueStep{
			{Count: 2, First: []job.DueJob{{Number: 1, Name: &name}, {Number: 2, Host: "example.com"}}},
			{Count: 1000, Partly: true, First: []job.DueJob{{Number: 3}}},
			{},
		},
		Runs: []int64{0, 20, 7},
	}
	for i, want := range []string{"Nightly report, example.com", "at least 1,020", ""} {
		if note := a.Note(i); note != want {
			t.Errorf("the note of step %d is %q, want %q", i, note, want)
		}
	}
	if want := "1,029+ planned until 15:00 UTC; most, 1,020+, at 13:00–14:00 UTC."; a.Summary() != want {
		t.Errorf("the summary is %q, want %q", a.Summary(), want)
	}
}
