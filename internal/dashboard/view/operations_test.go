package view

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestOperation_SaysInPlainWordsWhatItConcernsAndWhatBecameOfIt(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("CET", 3600))
	for filter, want := range map[string]string{
		`{}`:                    "every job",
		`{"state":"discarded"}`: "all failed jobs",
		`{"state":"discarded","host":"api.example.com","since":"2026-03-01T10:00:00Z"}`: "all failed jobs that call api.example.com, created from 2026-03-01 11:00:00 CET",
		`{"tags":["a","b"],"error_kind":"timeout"}`:                                     "all jobs with tags a and b, with error kind timeout",
	} {
		if got := filterSentence(now, rawjson.Value(filter), nil); got != want {
			t.Errorf("%s is %q, want %q", filter, got, want)
		}
	}
	d := &Operation{Outcome: map[job.State]int64{job.Discarded: 2, job.Completed: 1300}, OutcomePartly: true}
	if got, want := d.outcome(), "at least 1,300 completed, 2 failed"; got != want {
		t.Errorf("the outcome is %q, want %q", got, want)
	}
}
