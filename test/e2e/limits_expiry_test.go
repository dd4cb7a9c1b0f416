package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestLimits_HeldJobExpires(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/held", `{"paused":true}`).Want(201)
	job := create(a.Client, `{"url":"`+target.URL+`","limits":["held"],"expires_in":2}`)
	run := create(a.Client, `{"url":"`+target.URL+`","limits":["held"],"repeat_every":3,"catch_up":"none"}`)
	kept := create(a.Client, `{"url":"`+target.URL+`","limits":["held"],"expires_in":[1,"hour"]}`)
	s.Kill()
	s.Restart(t)
	for _, expired := range []harness.JSON{job, run} {
		awaitState(t, a.Client, expired, "discarded")
		record := a.Get(jobPath(expired)).Want(200).Data()
		wantSame(t, "attempted_at", record.Get("job.attempted_at"), `null`)
	}
	a.Do("PUT", "/api/limits/held", `{"paused":false}`).Want(200)
	awaitState(t, a.Client, kept, "completed")
	harness.Eventually(t, soon, "the later runs to start", func() bool { return len(target.Hits()) >= 2 })
}

func TestLimits_PointsPassedMeanwhileHaveTheReasonLimit(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/held", `{"paused":true}`).Want(201)
	run := create(a.Client, `{"url":"`+target.URL+`","limits":["held"],"repeat_every":1}`)
	passed(t, instant(t, run.Get("job.scheduled_at")).Add(2*time.Second)) // two points
	a.Do("PUT", "/api/limits/held", `{"paused":false}`).Want(200)
	awaitState(t, a.Client, run, "completed")
	var skipped []harness.JSON
	harness.Eventually(t, soon, "the log of the skipped points", func() bool {
		skipped = payloads(t, a.Client, run.Get("schedule_id").Str(), "worker.schedule.skipped")
		return len(skipped) > 0
	})
	if n := skipped[0].Get("count").Int(); n < 2 || skipped[0].Get("reason").Str() != "limit" {
		t.Errorf("skipped: %s, want at least 2 for the reason limit", skipped[0])
	}
}
