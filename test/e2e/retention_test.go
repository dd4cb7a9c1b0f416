package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// present returns which of the records can still be read.
func present(c *harness.Client, jobs map[string]harness.JSON) map[string]bool {
	there := map[string]bool{}
	for name, job := range jobs {
		there[name] = c.Get(jobPath(job)).Status == 200
	}
	return there
}

// TestRetention_RemovesOnlyFinalJobsAndTheirLogs restarts the service, since
// removal begins at the start.
func TestRetention_RemovesOnlyFinalJobsAndTheirLogs(t *testing.T) {
	t.Parallel()
	s, c := crashed(t, harness.Flag("retention", "2s"))
	target := harness.SharedTarget(t).Route(t)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	hanging := harness.SharedTarget(t).Route(t).Respond(harness.Hang())
	receiver := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	jobs := map[string]harness.JSON{
		"cancelled": cancel(c, create(c, waiting)),
		"available": create(c, waiting),
		"run":       create(c, `{"repeat_every":[1,"hour"],"url":"`+target.URL+`"}`),
	}
	jobs["completed"], _ = finished(t, c, `{"url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`, "completed")
	jobs["discarded"], _ = finished(t, c, `{"retries":0,"url":"`+failing.URL+`"}`, "discarded")
	jobs["retryable"], _ = finished(t, c, `{"url":"`+failing.URL+`"}`, "retryable")
	jobs["executing"] = create(c, `{"timeout":900,"url":"`+hanging.URL+`"}`)
	hanging.Await(t, 1, soon)
	awaitState(t, c, jobs["run"], "completed")
	passed(t, time.Now().Add(2100*time.Millisecond))
	s.Kill()
	s.Restart(t)
	gone := []string{"cancelled", "completed", "discarded", "run"}
	harness.Eventually(t, soon, "final jobs to be removed", func() bool {
		there := present(c, jobs)
		for _, name := range gone {
			if there[name] {
				return false
			}
		}
		return true
	})
	there := present(c, jobs)
	for _, name := range []string{"available", "retryable", "executing"} {
		if !there[name] {
			t.Errorf("the %s job was removed", name)
		}
	}
	for _, name := range gone {
		harness.Eventually(t, soon, "the logs of the "+name+" job to be removed", func() bool { return len(logsOf(c, jobs[name])) == 0 })
	}
	wantSame(t, "the schedule", c.Get(schedulePath(jobs["run"])).Want(200).Data().Get("disabled_at"), "null")
	if left := unfinished(c, jobs["run"].Get("schedule_id").Str()); len(left) != 1 {
		t.Errorf("want the schedule's next run: %s", left)
	}
	receiver.Await(t, 2, 2*soon) // the callback of a job that is gone is delivered all the same
}

// TestRetention_WorksWhileTheServiceRunsAndDelaysNothing waits for the next
// round of removal, which comes every minute.
func TestRetention_WorksWhileTheServiceRunsAndDelaysNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	_, c := crashed(t, harness.Flag("retention", "5s"))
	target := harness.SharedTarget(t).Route(t)
	began := time.Now()
	first := create(c, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	harness.Eventually(t, 90*time.Second, "the first run to be removed", func() bool {
		return c.Get(jobPath(first)).Status == 404
	})
	harness.Eventually(t, soon, "its logs to be removed", func() bool { return len(logsOf(c, first)) == 0 })
	if got := metric(t, c, `punctual_pruned_total{record="job"}`); got < 1 {
		t.Errorf("the metric counts %v removed jobs", got)
	}
	before := len(target.Hits())
	hits := target.Await(t, before+2, soon)
	allowed := harness.Allowed(time.Second, began)
	c.Post(schedulePath(first)+"/disable", nil).Want(200)
	slow := 0
	for i, hit := range hits {
		late := hit.At.Sub(scheduledAt(t, hit))
		if late < 0 {
			t.Errorf("run %d was %s early", i, -late)
		}
		if late > allowed {
			slow++
		}
		if i == 0 {
			continue
		}
		if step := scheduledAt(t, hit).Sub(scheduledAt(t, hits[i-1])); step < time.Second || step%time.Second != 0 {
			t.Errorf("run %d is %s after the one before", i, step)
		}
	}
	if 10*slow > len(hits) { // a busy machine may delay one now and then
		t.Errorf("%d of %d runs were over %s late", slow, len(hits), allowed)
	}
}

func TestRetention_ByDefaultAndAt0RemovesNothing(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]harness.Option{nil, {harness.Flag("retention", "0")}} {
		s, c := crashed(t, opts...)
		target := harness.SharedTarget(t).Route(t)
		job, _ := finished(t, c, `{"url":"`+target.URL+`"}`, "completed")
		s.Stop()
		s.Restart(t)
		if !harness.Stays(time.Second, func() bool { return c.Get(jobPath(job)).Status == 200 }) {
			t.Error("a final job was removed")
		}
		wantEvents(t, logsOf(c, job), "http.request", "http.response")
	}
}
