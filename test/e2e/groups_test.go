package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// group defines a group with a target for each URL, named t0, t1 and so on.
func group(c *harness.Client, name string, urls ...string) {
	var targets []string
	for i, url := range urls {
		n := strconv.Itoa(i)
		targets = append(targets, `{"name":"t`+n+`","url":"`+url+`","headers":{"X-Target":"secret-`+n+`"}}`)
	}
	c.Do("PUT", "/api/groups/"+name, `{"targets":[`+strings.Join(targets, ",")+`]}`)
}

func TestGroups_RequestBecomesAJobForEachTarget(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	one, two := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	group(a.Client, "both", one.URL, two.URL)
	group(other.Client, "both", one.URL)
	body := `{"group":"both","method":"post","body":{"a":1},"headers":{"x-target":"job","X-Own":"b"},"idempotency_key":"k"}`
	made := a.Post("/api/jobs", body).Want(201).Data().Items()
	if len(made) != 2 {
		t.Fatalf("%d jobs were made: %s", len(made), made)
	}
	for i, route := range []*harness.Route{one, two} {
		hit := route.Await(t, 1, soon)[0]
		if want := "secret-" + strconv.Itoa(i); hit.Header.Get("X-Target") != want || hit.Header.Get("X-Own") != "b" ||
			!strings.HasPrefix(string(hit.Body), `{"a":1,`) {
			t.Errorf("target %d got %v %s", i, hit.Header, hit.Body)
		}
		awaitState(t, a.Client, made[i], "completed")
	}
	if again := a.Post("/api/jobs", body).Want(201).Data().Items(); again[0].Get("job_id").Int() == made[0].Get("job_id").Int() {
		t.Error("the key was not free though the jobs are final")
	}
	a.Post("/api/jobs/batch", `[{"group":"both"}]`).WantProblem(422)
	a.Post("/api/jobs", `{"group":"none"}`).WantProblem(422)
	other.Get(jobPath(made[0])).WantProblem(404)
}

// TestGroups_RepeatedCallHasItsFirstJobs repeats calls with a request_id and with the
// header after their jobs have ended, when an idempotency key is free again.
func TestGroups_RepeatedCallHasItsFirstJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	one, two := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	group(a.Client, "both", one.URL, two.URL)
	for i, call := range []func(body string) *harness.Answer{
		func(body string) *harness.Answer { return a.Post("/api/jobs", `{"request_id":"r",`+body) },
		func(body string) *harness.Answer {
			return a.Post("/api/jobs", `{"request_id":"s","idempotency_key":"k",`+body)
		},
		func(body string) *harness.Answer {
			return a.Post("/api/jobs", `{`+body, harness.Header("Idempotency-Key", "h"))
		},
	} {
		made := call(`"group":"both"}`).Want(201).Data().Items()
		for _, record := range made {
			awaitState(t, a.Client, record, "completed")
		}
		for range 2 {
			repeated := call(`"group":"both"}`).Want(200).Data().Items()
			if len(made) != 2 || len(repeated) != 2 || repeated[0].Get("job_id").Int() != made[0].Get("job_id").Int() ||
				repeated[1].Get("job_id").Int() != made[1].Get("job_id").Int() {
				t.Errorf("call %d returns %s, at first %s", i, repeated, made)
			}
		}
		call(`"group":"both","retries":3}`).WantProblem(422)
		if len(one.Hits()) != i+1 || len(two.Hits()) != i+1 {
			t.Errorf("after call %d the targets were requested %d and %d times", i, len(one.Hits()), len(two.Hits()))
		}
	}
	// Also when the request would be refused now.
	a.Do("DELETE", "/api/groups/both", nil).Want(204)
	if repeated := a.Post("/api/jobs", `{"request_id":"r","group":"both"}`).Want(200).Data().Items(); len(repeated) != 2 {
		t.Errorf("without the group %d jobs are returned", len(repeated))
	}
}

func TestGroups_RunBecomesItsJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	one, two := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	group(a.Client, "both", one.URL, two.URL)
	run := create(a.Client, `{"group":"both","method":"post","body":"hi","cron":"0 0 1 1 *","redact":["headers","body"]}`)
	schedule := "/api/schedules/" + run.Get("schedule_id").Str()
	a.Do("DELETE", "/api/groups/both", nil).WantProblem(409)
	a.Post(schedule+"/run", nil).Want(200)
	awaitState(t, a.Client, run, "completed")
	one.Await(t, 1, soon)
	two.Await(t, 1, soon)
	details := a.Get(jobPath(run) + "/details").Want(200).Data()
	children := details.Get("children").Items()
	listed := a.Get("/api/jobs?parent=" + run.Get("job_id").Raw()).Want(200)
	if len(children) != 2 || len(listed.Data().Items()) != 2 {
		t.Fatalf("the run has the children %s, and the list %s", children, listed)
	}
	for _, child := range listed.Data().Items() {
		wantSame(t, "schedule_id", child.Get("schedule_id"), "null")
		wantSame(t, "parent", a.Get(jobPath(child)+"/details").Want(200).Data().Get("parent"), run.Get("job_id").Raw())
	}
	// What redact names is hidden in the jobs, too, with the headers of the group's targets.
	for _, path := range []string{"/api/jobs", "/api/logs", schedule} {
		if text := string(a.Get(path).Want(200).Body); strings.Contains(text, "secret-") || strings.Contains(text, `"hi"`) {
			t.Errorf("GET %s shows what is redacted: %s", path, text)
		}
	}
	if hits := [][]harness.Hit{one.Await(t, 1, soon), two.Await(t, 1, soon)}; hits[0][0].Header.Get("X-Target") != "secret-0" ||
		string(hits[1][0].Body) != `"hi"` {
		t.Errorf("the targets got %v %s", hits[0][0].Header, hits[1][0].Body)
	}
}

// TestGroups_TargetsFitTheAuthAndSecretsOfTheirJobs verifies that no request goes out with
// the header Authorization of a target and that of auth, and that a secret is checked
// against the hosts of the targets.
func TestGroups_TargetsFitTheAuthAndSecretsOfTheirJobs(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("public-url", issuerURL), harness.Flag("secrets-key-file", newKeyFile(t)))
	a := s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	group(a.Client, "free", target.URL)
	run := create(a.Client, `{"group":"free","auth":{"oidc":{}},"cron":"0 0 1 1 *","idempotency_key":"s"}`)
	a.Do("PUT", "/api/groups/free", `{"targets":[{"name":"a","url":"`+target.URL+`","headers":{"authorization":"Basic eA=="}}]}`).Want(200)
	a.Post("/api/jobs", `{"group":"free","auth":{"oidc":{}}}`).WantProblem(422).WantPointers("#/auth")
	a.Do("PUT", "/api/schedules/key:s2", `{"group":"free","auth":{"oidc":{}},"cron":"0 0 1 1 *"}`).WantProblem(422).WantPointers("#/auth")
	a.Post("/api/schedules/"+run.Get("schedule_id").Str()+"/run", nil).Want(200)
	if got := target.Await(t, 1, soon)[0].Header.Values("Authorization"); len(got) != 1 || !strings.HasPrefix(got[0], "Bearer ey") {
		t.Errorf("the target got Authorization %q", got)
	}
	a.Do("PUT", "/api/secrets/elsewhere", `{"value":"v4lue-of-a-secret","hosts":["example.com"]}`).Want(201)
	a.Post("/api/jobs", `{"group":"free","headers":{"X-Key":"{{secret.elsewhere}}"}}`).WantProblem(422).WantPointers("#/headers/X-Key")
}

// TestGroups_AreBounded verifies that a run stores all of its jobs or none within
// max-pending, and that a request counts once for each target.
func TestGroups_AreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("max-pending", "2"), harness.Flag("rate-limit", "50"))
	a := s.Account(t)
	group(a.Client, "three", "https://example.com/a", "https://example.com/b", "https://example.com/c")
	group(a.Client, "two", "https://example.com/a", "https://example.com/b")
	run := create(a.Client, `{"group":"three","cron":"0 0 1 1 *","retries":0}`)
	a.Post("/api/schedules/"+run.Get("schedule_id").Str()+"/run", nil).Want(200)
	awaitState(t, a.Client, run, "discarded")
	logs := a.Get("/api/logs?job_id=" + run.Get("job_id").Raw()).Want(200).Data().Items()
	if !slices.ContainsFunc(logs, func(l harness.JSON) bool {
		return l.Get("payload.kind").Str() == "group" && strings.Contains(l.Get("payload.message").Str(), "max-pending")
	}) {
		t.Errorf("the logs don't say why: %s", logs)
	}
	if jobs := a.Get("/api/jobs?parent=" + run.Get("job_id").Raw()).Want(200).Data().Items(); len(jobs) != 0 {
		t.Errorf("%d of the jobs were stored", len(jobs))
	}
	wantFull(t, a.Post("/api/jobs", `{"group":"three","scheduled_at":"`+far+`"}`), "max-pending")
	// A request counts as often as it has targets: here as often as the rate allows at all.
	b := s.Account(t)
	s.Command(t, "accounts", "limit", b.Email, "--max-pending", "0")
	group(b.Client, "many", slices.Repeat([]string{"https://example.com/"}, 60)...)
	var made *harness.Answer
	harness.Eventually(t, soon, "the jobs", func() bool {
		made = b.Post("/api/jobs", `{"group":"many","scheduled_at":"`+far+`"}`)
		return made.Status == 201
	})
	if left := made.Header.Get("RateLimit"); !strings.Contains(left, "r=0;") {
		t.Errorf("after a request for 60 targets, RateLimit is %s", left)
	}
}
