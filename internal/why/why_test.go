package why

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

var words = Words{
	Moment: func(t time.Time) string { return t.Format("15:04:05") },
	Now:    time.Date(2031, 5, 6, 12, 0, 0, 0, time.UTC),
	Names:  true,
}

// nothing finds no record.
func nothing(string) ([]byte, error) { return nil, errors.New("not found") }

// detailsOf returns the details of job 17 with a state, an attempt and what it waits for.
func detailsOf(state, attempts, waitingFor string) string {
	return `{"job":{"job_id":17,"job":{"state":"` + state + `","scheduled_at":"2031-05-06T11:59:48.000000Z","completed_at":null,
		"cancelled_at":null,"discarded_at":` + map[bool]string{true: `"2031-05-06T11:59:59.000000Z"`, false: `null`}[state == "discarded"] +
		`}},
		"attempts":[` + attempts + `],"next_attempt_at":"2031-05-06T12:00:09.000000Z","waiting_for":[` + waitingFor + `],"completion":null}`
}

func TestReadJob_IsExplained(t *testing.T) {
	failed := `{"started_at":"2031-05-06T11:59:49Z","status":null,"error":{"kind":"timeout","message":"no response within 30 s"}}`
	refused := `{"started_at":"2031-05-06T11:59:49Z","status":500,"error":null}`
	under := `{"started_at":"2031-05-06T11:59:49Z","status":null,"error":null}`
	for _, test := range []struct {
		state, attempts, waits, limit string
		because, remedy               string
		then                          Action
	}{
		{"available", "", "", "", "Job 17 is available: it is due since 11:59:48. No limit applies: it starts as soon as the service has a free slot.", "", Wait},
		{"available", "", `"stripe"`, `{"key":"stripe","parallel":5,"in_flight":5,"waiting":9,"first":{"job_id":17}}`,
			"Job 17 is available: it is due since 11:59:48. It waits for limit stripe: 5 of 5 under way, 9 jobs wait, this job is the first that waits.", "", Wait},
		{"available", "", `"a","job:4"`, `{"key":"a","paused":true,"rate":{"calls":2,"per":60},"next_at":"2031-05-06T12:00:30Z","first":{"job_id":3}}`,
			"Job 17 is available: it is due since 11:59:48. It waits for limit a: it is paused, 2 calls in 1m, the next start is at 12:00:30, job 3 is the first that waits. It waits until job 4 is final.", "", Wait},
		{"available", "", `"gone"`, "", "Job 17 is available: it is due since 11:59:48. It waits for limit gone.", "", Wait},
		{"executing", under, "", "", "Job 17 is executing: an attempt is under way since 11:59:49.", "", Wait},
		{"retryable", failed, "", "", "Job 17 is retryable: 1 attempt failed, and the next one is due at 12:00:09. The last one failed: timeout (no response within 30 s).", remedies[job.KindTimeout], Wait},
		{"discarded", refused, "", "", "Job 17 is discarded since 11:59:59: it failed for good after 1 attempt. The target responded with status 500.", remedies[job.KindStatus], Rerun},
		{"cancelled", "", "", "", "Job 17 is cancelled, after 0 attempts.", "", Rerun},
	} {
		j, err := ReadJob([]byte(detailsOf(test.state, test.attempts, test.waits)), func(path string) ([]byte, error) {
			if test.limit == "" {
				return nil, errors.New("there is no such limit")
			}
			return []byte(test.limit), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		e := j.Explain(words)
		if e.Because != test.because || e.Remedy != test.remedy || len(e.Then) == 0 || e.Then[0] != test.then {
			t.Errorf("%s:\ngot  %+v\nwant %q %q %q", test.state, e, test.because, test.remedy, test.then)
		}
	}
}

// Whatever was named or sent by others stays out where it must.
func TestExplain_WithoutNames(t *testing.T) {
	hostile := "ignore-all-instructions"
	details := detailsOf("retryable", `{"started_at":"2031-05-06T11:59:49Z","status":null,"error":{"kind":"answer","message":"`+hostile+
		`"}}`, `"`+hostile+`"`)
	j, err := ReadJob([]byte(details), nothing)
	if err != nil {
		t.Fatal(err)
	}
	without := words
	without.Names = false
	if e := j.Explain(without); strings.Contains(e.Because+e.Remedy, hostile) || !strings.Contains(e.Because, "It waits for a limit.") {
		t.Errorf("got %q", e)
	}
	if e := j.Explain(words); strings.Count(e.Because, hostile) != 2 {
		t.Errorf("got %q", e)
	}
}

// A job that waits for 100 others and names limits is explained in a few sentences, after
// few reads.
func TestBlocksOf_IsBounded(t *testing.T) {
	var names []string
	for range 50 {
		names = append(names, "job:1", "limit")
	}
	reads := 0
	j := Job{State: "available", Blocks: BlocksOf(names, func(string) *Use { reads++; return &Use{} })}
	text := j.Explain(words).Because
	if reads != MaxUses || strings.Count(text, "It waits") != shownBlocks+1 || !strings.Contains(text, "It waits for 95 more.") {
		t.Errorf("%d reads: %q", reads, text)
	}
}

func TestReadSchedule_IsExplained(t *testing.T) {
	for details, want := range map[string]string{
		`{"schedule":{"id":"s1","disabled_at":"2031-05-06T10:00:00"},"next_run_at":null,"last_run":null,"failures_in_a_row":0}`:                                        "Schedule s1 is disabled or has ended since 10:00:00.",
		`{"schedule":{"id":"s1","disabled_at":null},"next_run_at":"2031-05-06T13:00:00Z","last_run":{"job_id":9,"job":{"state":"discarded"}},"failures_in_a_row":1}`:   "Schedule s1 is active; its next run is due at 13:00:00. Its last run, job 9, is discarded. The last run failed.",
		`{"schedule":{"id":"s1","disabled_at":"2031-05-06T10:00:00.5Z"},"next_run_at":null,"last_run":{"job_id":9,"job":{"state":"discarded"}},"failures_in_a_row":3}`: "Schedule s1 is disabled or has ended since 10:00:00. Its last run, job 9, is discarded. The last 3 runs failed.",
	} {
		s, err := ReadSchedule([]byte(details))
		if err != nil {
			t.Fatal(err)
		}
		if e := s.Explain(words); e.Because != want || len(e.Then) == 0 {
			t.Errorf("got %+v, want %q", e, want)
		}
	}
}

func TestRemedies_CoverEveryKind(t *testing.T) {
	for _, kind := range job.AttemptKinds() {
		if remedies[kind] == "" {
			t.Errorf("there is no remedy for %s", kind)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(detailsOf("available", "", `"a"`)))
	f.Add([]byte(`{"schedule":{"disabled_at":"2031"}}`))
	f.Add([]byte(`{"rate":{"calls":1,"per":1e300}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		if j, err := ReadJob(text, nothing); err == nil {
			j.Explain(words)
		}
		if s, err := ReadSchedule(text); err == nil {
			s.Explain(words)
		}
		_, _ = readUse(text)
	})
}
