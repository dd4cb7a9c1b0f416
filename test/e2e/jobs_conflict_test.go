package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestConflict_ReplaceKeepsTheIdsAndAddsARevision(t *testing.T) {
	t.Parallel()
	a := account(t)
	first := create(a.Client, with(keyed("k"), `"on_conflict":"replace","name":"one"`))
	answer := a.Post("/api/jobs", with(keyed("k"), `"on_conflict":"replace","name":"two","body":2`)).Want(200)
	if got := answer.Data(); got.Get("id").Str() != first.Get("id").Str() || got.Get("name").Str() != "two" ||
		got.Get("job.has_confict").Raw() != "true" {
		t.Errorf("the replaced job is %s", got.Raw())
	}
	details := a.Get(jobPath(first) + "/details").Want(200).Data()
	if details.Get("revision").Int() != 2 || details.Get("job.args.body").Raw() != "2" {
		t.Errorf("the details are %s", details.Raw())
	}
	// An edit is checked as a create is, apart from what was only the call's.
	a.Do("PATCH", jobPath(first), `{"name":"three"}`).Want(200)
	a.Do("PATCH", jobPath(first), `{"on_conflict":"refuse"}`).WantPointers("#/on_conflict")
	debounced := create(a.Client, `{"url":"https://example.com/hook","schedule_in":3600,"idempotency_key":"d","on_conflict":"debounce","max_wait":7200}`)
	a.Do("PATCH", jobPath(debounced), `{"scheduled_at":"`+far+`"}`).Want(200)
}

// TestConflict_AFollowerSurvivesKills: a call behind a started job is kept, while
// the service is killed and the first job is retried.
func TestConflict_AFollowerSurvivesKills(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	call := func(n int) *harness.Answer {
		return s.Public(t).Post("/api/jobs", fmt.Sprintf(
			`{"method":"post","metadata":false,"url":%q,"body":%d,"idempotency_key":"k","on_conflict":"replace"}`, target.URL, n))
	}
	call(1).Want(201)
	harness.Eventually(t, soon, "the first request", func() bool { return len(target.Hits()) == 1 })
	follower := call(2).Want(201).Data()
	s.Kill()
	s.Restart(t)
	changed := call(3).Want(200).Data()
	if changed.Get("id").Str() != follower.Get("id").Str() {
		t.Errorf("after the kill another job was changed: %s", changed.Raw())
	}
	named := s.Public(t).Get("/api/jobs/key:k").Want(200).Data()
	if named.Get("id").Str() != follower.Get("id").Str() {
		t.Errorf("the key names %s, want the follower", named.Raw())
	}
	harness.Eventually(t, 2*soon, "the first job's repeated request", func() bool { return len(target.Hits()) == 2 })
	release()
	harness.Eventually(t, 2*soon, "the follower's request", func() bool { return len(target.Hits()) == 3 })
	if body := string(target.Hits()[2].Body); body != "3" {
		t.Errorf("the follower sent %s, want the last call's body", body)
	}
}

func TestConflict_AKeyInTheHeaderIsRemembered(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	body := fmt.Sprintf(`{"url":%q}`, target.URL)
	key := harness.Header("Idempotency-Key", "invoice")
	first := a.Post("/api/jobs", body, key).Want(201).Data()
	harness.Eventually(t, soon, "the job to complete", func() bool {
		return a.Get(jobPath(first)).Want(200).Data().Get("job.state").Str() == "completed"
	})
	again := a.Post("/api/jobs", body, key).Want(200).Data()
	if again.Get("id").Str() != first.Get("id").Str() || again.Get("job.state").Str() != "completed" {
		t.Errorf("the repeat returned %s", again.Raw())
	}
	inBody := a.Post("/api/jobs", with(body, `"idempotency_key":"invoice"`)).Want(201).Data()
	if inBody.Get("id").Str() == first.Get("id").Str() {
		t.Error("a key in the body found the final job")
	}
	if n := len(target.Hits()); n > 2 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestConflict_RefuseNamesTheHolder(t *testing.T) {
	t.Parallel()
	a := account(t)
	first := create(a.Client, keyed("k"))
	answer := a.Post("/api/jobs", with(keyed("k"), `"on_conflict":"refuse"`)).WantProblem(409)
	if detail := answer.JSON.Get("detail").Str(); !strings.Contains(detail, fmt.Sprint(first.Get("job_id").Int())) {
		t.Errorf("the detail is %q", detail)
	}
	recurring := create(a.Client, with(keyed("s"), `"repeat_every":3600`))
	answer = a.Post("/api/jobs", with(keyed("s"), `"on_conflict":"replace"`)).WantProblem(409)
	if detail := answer.JSON.Get("detail").Str(); !strings.Contains(detail, recurring.Get("schedule_id").Str()) {
		t.Errorf("the detail is %q", detail)
	}
}

// TestConflict_AThrottledKeyIsNoSchedules: a key that is held beyond its job's end
// is held for schedules too.
func TestConflict_AThrottledKeyIsNoSchedules(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, fmt.Sprintf(`{"url":%q,"idempotency_key":"k","throttle":3600}`, target.URL))
	harness.Eventually(t, soon, "the job to complete", func() bool {
		return a.Get(jobPath(first)).Want(200).Data().Get("job.state").Str() == "completed"
	})
	answer := a.Do("PUT", "/api/schedules/key:k", `{"url":"https://example.com/","repeat_every":3600}`).WantProblem(409)
	if detail := answer.JSON.Get("detail").Str(); !strings.Contains(detail, first.Get("id").Str()) {
		t.Errorf("the detail is %q", detail)
	}
	named := a.Get("/api/jobs/key:k").Want(200).Data()
	if named.Get("id").Str() != first.Get("id").Str() {
		t.Errorf("the key names %s", named.Raw())
	}
}

// TestConflict_AReplacedJobKeepsToItsLimits: a job that waits for a limit takes the
// new request, with its limits, and a follower waits for them as well.
func TestConflict_AReplacedJobKeepsToItsLimits(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	a.Do("PUT", "/api/limits/gate", `{"paused":true}`).Want(201)
	call := func(n int, more string) *harness.Answer {
		return a.Post("/api/jobs", fmt.Sprintf(`{"method":"post","metadata":false,"url":%q,"body":%d,"idempotency_key":"k","on_conflict":"replace"%s}`, target.URL, n, more))
	}
	first := call(1, `,"limits":["gate"]`).Want(201).Data()
	if again := call(2, `,"limits":["gate"]`).Want(200).Data(); again.Get("id").Str() != first.Get("id").Str() {
		t.Errorf("the held job was not replaced: %s", again.Raw())
	}
	a.Do("PUT", "/api/limits/gate", `{"parallel":1}`).Want(200)
	harness.Eventually(t, soon, "the replaced job's request", func() bool { return len(target.Hits()) == 1 })
	if body := string(target.Hits()[0].Body); body != "2" {
		t.Errorf("the job sent %s, want the last call's body", body)
	}
}
