package demo

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNothingIsWrongWhenAllWasAsPromised(t *testing.T) {
	t.Parallel()
	if broken := verdict(promised()); len(broken) > 0 {
		t.Errorf("verdict: %q", broken)
	}
}

func TestBeingLateBreaksNoPromise(t *testing.T) {
	t.Parallel()
	e := promised()
	for _, r := range e.runs {
		late := 1500 * time.Millisecond
		r.began, r.fired, r.ended = r.began.Add(late), r.fired.Add(late), r.ended.Add(late)
		if !r.retryAt.IsZero() {
			r.retryAt = r.retryAt.Add(late)
		}
	}
	if broken := verdict(e); len(broken) > 0 {
		t.Errorf("verdict: %q", broken)
	}
}

func TestALongRunMayCoverPointsOfTheGrid(t *testing.T) {
	t.Parallel()
	e := promised()
	runs := e.runsOf(recurring)
	runs[2].ended = runs[2].due.Add(3 * interval / 2)
	for _, r := range runs[3:] {
		for _, t := range []*time.Time{&r.due, &r.began, &r.fired, &r.ended} {
			*t = t.Add(interval)
		}
	}
	if broken := verdict(e); len(broken) > 0 {
		t.Errorf("verdict: %q", broken)
	}
}

func TestARunUnderWayAtTheDisablingLeavesNothingToCancel(t *testing.T) {
	t.Parallel()
	e := promised()
	e.jobs = slices.DeleteFunc(e.jobs, func(j jobRecord) bool { return j.Job.State == "cancelled" })
	if broken := verdict(e); len(broken) > 0 {
		t.Errorf("verdict: %q", broken)
	}
}

func TestEachBrokenPromiseIsDetected(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	first := func(e *evidence, wanted role) *run { return e.runsOf(wanted)[0] }
	retry := func(e *evidence) *run { return e.runsOf(failsOnce)[1] }
	without := func(e *evidence, gone *run) {
		e.runs = slices.DeleteFunc(e.runs, func(r *run) bool { return r == gone })
	}
	for _, test := range []struct {
		name  string
		spoil func(*evidence)
		want  string
	}{
		{"a run fired early", func(e *evidence) { r := first(e, oneOff); r.fired = r.due.Add(-3 * ms / 2) },
			"a run of the one-off job fired 1.5 ms early"},
		{"a run recorded as early", func(e *evidence) { r := first(e, recurring); r.began = r.due.Add(-ms) },
			"a run of the recurring job is recorded as 1.0 ms early"},
		{"the retry early", func(e *evidence) { r := retry(e); r.fired = r.due.Add(-ms) },
			"a run of the job that fails once fired 1.0 ms early"},
		{"a run that never arrived", func(e *evidence) {
			r := first(e, oneOff)
			r.fired, r.failure = time.Time{},
				"tls: unknown authority"
		},
			"a run of the one-off job did not reach the target (tls: unknown authority)"},
		{"no one-off run", func(e *evidence) { without(e, first(e, oneOff)) },
			"the one-off job did not run"},
		{"the one-off job twice", func(e *evidence) { e.runs = append(e.runs, first(e, oneOff)) },
			"the one-off job ran 2 times, not once"},
		{"the one-off job not completed", func(e *evidence) { first(e, oneOff).state = "retryable" },
			"the one-off job ended as retryable, not completed"},
		{"too few recurring runs", func(e *evidence) { without(e, e.runsOf(recurring)[5]) },
			"the recurring job ran 5 times, not 6"},
		{"a recurring run left out", func(e *evidence) { without(e, e.runsOf(recurring)[3]) },
			"a run of the recurring job is missing before run 4"},
		{"a recurring run off the grid", func(e *evidence) { r := e.runsOf(recurring)[4]; r.due = r.due.Add(-ms) },
			"run 5 of the recurring job was due 1.999s after the one before"},
		{"a recurring run due twice", func(e *evidence) { runs := e.runsOf(recurring); runs[4].due = runs[3].due },
			"run 5 of the recurring job was due 0s after the one before"},
		{"a recurring run not completed", func(e *evidence) { e.runsOf(recurring)[1].state = "retryable" },
			"run 2 of the recurring job ended as retryable, not completed"},
		{"a count that stands still", func(e *evidence) { e.runsOf(recurring)[2].count = 2 },
			"run 3 of the recurring job was counted as 2"},
		{"a count that is none", func(e *evidence) { e.runsOf(recurring)[0].count = notCounted + 1 },
			"run 1 of the recurring job was counted as 0"},
		{"no failing run", func(e *evidence) { without(e, retry(e)); without(e, first(e, failsOnce)) },
			"the job that fails once did not run"},
		{"a failure taken for success", func(e *evidence) { first(e, failsOnce).state = "completed" },
			"the job that fails once was completed after status 503, not retryable after 503"},
		{"a retry planned too early", func(e *evidence) { r := first(e, failsOnce); r.retryAt = r.ended.Add(9 * time.Second) },
			"the retry of the job that fails once was planned after 9s, not after 10s to 11s"},
		{"a retry planned too late", func(e *evidence) { r := first(e, failsOnce); r.retryAt = r.ended.Add(12 * time.Second) },
			"the retry of the job that fails once was planned after 12s, not after 10s to 11s"},
		{"no retry", func(e *evidence) { without(e, retry(e)) },
			"the retry of the job that fails once was not made"},
		{"a second retry", func(e *evidence) { e.runs = append(e.runs, retry(e)) },
			"the job that fails once was attempted 3 times, not twice"},
		{"a retry that failed", func(e *evidence) { r := retry(e); r.status, r.state = 500, "discarded" },
			"the retry of the job that fails once ended as discarded with status 500, not completed with 200"},
		{"a request sent twice", func(e *evidence) { e.hits = append(e.hits, e.hits[0]) },
			"the target had a run of the one-off job 2 times"},
		{"a request without a record", func(e *evidence) { e.hits = append(e.hits, hit{job: 99, attempt: 1}) },
			"the target had 1 requests that no log tells of"},
		{"a job too many", func(e *evidence) { e.store("available") },
			"the jobs stored are 8 completed, 1 available, 1 cancelled, not 1 cancelled, 8 completed"},
		{"a job lost", func(e *evidence) { e.jobs = e.jobs[1:] },
			"the jobs stored are 7 completed, 1 cancelled, not 1 cancelled, 8 completed"},
		{"no schedule", func(e *evidence) { e.schedules = nil },
			"the schedules stored are 0, not one that is disabled"},
		{"a schedule that goes on", func(e *evidence) { e.schedules[0].DisabledAt = nil },
			"the schedules stored are 1, not one that is disabled"},
		{"a log lost", func(e *evidence) { e.logs = e.logs[1:] },
			"the logs stored are 9 worker.http.response, 8 worker.http.request, not 9 worker.http.request, 9 worker.http.response"},
		{"nothing at all", func(e *evidence) { *e = evidence{} },
			"the jobs stored are none, not 2 completed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := promised()
			test.spoil(e)
			broken := verdict(e)
			if !slices.ContainsFunc(broken, func(s string) bool { return strings.HasPrefix(s, test.want) }) {
				t.Errorf("verdict:\n%s\nwant\n%s", strings.Join(broken, "\n"), test.want)
			}
		})
	}
}
