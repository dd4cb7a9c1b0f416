package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestAccountSuspension_RefusesCalls(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a, b := s.Account(t), s.Account(t)
	create(a.Client, waiting)
	s.Command(t, "accounts", "suspend", a.Email, "--reason", "spam")
	harness.Eventually(t, soon, "the account to be suspended", func() bool { return a.Get("/api/jobs").Status == 403 })
	for _, call := range [][2]string{{"GET", "/api/jobs"}, {"POST", "/api/jobs"}, {"GET", "/api/account"}, {"GET", "/api/events"},
		{"DELETE", "/api/schedules/" + noUUID}} {
		refused := a.Do(call[0], call[1], nil).WantProblem(403)
		if detail := refused.JSON.Get("detail").Str(); !strings.Contains(detail, "suspended (spam)") {
			t.Errorf("%v: %s", call, detail)
		}
	}
	a.Get("/api/ping").Want(200)
	b.Get("/api/jobs").Want(200)
	s.Command(t, "accounts", "resume", a.Email)
	harness.Eventually(t, soon, "the account to be resumed", func() bool { return a.Get("/api/jobs").Status == 200 })
	create(a.Client, waiting)
}

// TestAccountSuspension_EndsAttemptsUntilResumed suspends an account with a
// request under way and a job that becomes due meanwhile.
func TestAccountSuspension_EndsAttemptsUntilResumed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	suspended, other := s.Account(t), s.Account(t).Client
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	pending, marker := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	running := create(suspended.Client, `{"retries":0,"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	later := create(suspended.Client, `{"schedule_in":12,"url":"`+pending.URL+`"}`)
	s.Command(t, "accounts", "suspend", suspended.Email)
	began := time.Now()
	harness.Eventually(t, soon, "the request of the suspended account to end", func() bool {
		return metric(t, other, `punctual_runs_in_use{kind="job"}`) == 0
	})
	if took := time.Since(began); took > harness.Allowed(3*time.Second, began) {
		t.Errorf("the request went on for %s", took)
	}
	create(other, `{"scheduled_at":"`+instant(t, later.Get("job.scheduled_at")).Add(time.Second).Format(time.RFC3339Nano)+`","url":"`+
		marker.URL+`"}`)
	marker.AwaitEnds(t, 1, soon)
	if n, m := len(target.Hits()), len(pending.Hits()); n != 1 || m != 0 {
		t.Errorf("while it was suspended the account made %d and %d requests, want the first one only", n, m)
	}
	s.Command(t, "accounts", "resume", suspended.Email)
	target.AwaitEnds(t, 2, soon)
	pending.AwaitEnds(t, 1, soon)
	// Nodes cache accounts and keys for a second.
	harness.Eventually(t, soon, "the key to work again", func() bool {
		a, err := suspended.Try("GET", "/api/jobs", nil)
		return err == nil && a.Status == 200
	})
	awaitState(t, suspended.Client, running, "completed")
	awaitState(t, suspended.Client, later, "completed")
}
