package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// putAlert creates an alert with the name of the test.
func putAlert(c *harness.Client, definition string) {
	c.Do("PUT", "/api/alerts/a", definition).Want(201)
}

// messages returns the types of the messages that a receiver got, each once. A kill
// may cut off the body of one.
func messages(hits []harness.Hit) string {
	var types []string
	seen := map[string]bool{}
	for _, h := range hits {
		name, whole := strings.CutPrefix(h.JSON().Get("type").Str(), "alert.")
		if id := h.Header.Get("Webhook-Id"); whole && !seen[id] {
			seen[id] = true
			types = append(types, name)
		}
	}
	return strings.Join(types, " ")
}

// finish creates a job that the target answers with a status, and waits until the
// job is final.
func finish(t *testing.T, c *harness.Client, target *harness.Route, status int, members string) harness.JSON {
	t.Helper()
	target.RespondOnce(harness.Reply(status, "text/plain", "told by the target"))
	j := create(c, with(`{"url":"`+target.URL+`","retries":0}`, members))
	harness.Eventually(t, soon, "the job is final", func() bool {
		state := c.Get(jobPath(j)).Data().Get("job.state").Str()
		return state == "completed" || state == "discarded"
	})
	return j
}

func TestAlert_CreateReplaceListDelete(t *testing.T) {
	t.Parallel()
	a := account(t)
	const definition = `{"on":["failed"],"to":[{"slack":"https://example.com/s"}],"late_by":[2,"minutes"]}`
	created := a.Do("PUT", "/api/alerts/a", definition).Want(201)
	if got := created.Header.Get("Location"); got != "/api/alerts/a" {
		t.Errorf("Location %q", got)
	}
	const want = `{"name":"a","on":["failed"],"after":1,"late_by":[2,"minutes"],"match":{},"to":[{"slack":"https://example.com/s"}],"remind_every":null,"inserted_at":`
	if got := a.Get("/api/alerts/a").Want(200).Data().Raw(); !strings.HasPrefix(got, want) {
		t.Errorf("the alert is %s, want %s…", got, want)
	}
	a.Do("PUT", "/api/alerts/a", definition).Want(200)
	a.Do("PUT", "/api/alerts/b", with(definition, `"after":7`)).Want(201)
	if got := strings.Join(a.Get("/api/alerts").Want(200).Data().Pluck("name"), " "); got != `"a" "b"` {
		t.Errorf("the list has %s", got)
	}
	page := a.Get("/api/alerts?limit=1").Want(200)
	if got := a.Get(page.Next()).Want(200).Data().Pluck("name"); len(got) != 1 || got[0] != `"b"` {
		t.Errorf("the second page has %s", got)
	}
	other := account(t)
	other.Get("/api/alerts/a").WantProblem(404)
	other.Post("/api/alerts/a/test", nil).WantProblem(404)
	other.Do("DELETE", "/api/alerts/a", nil).WantProblem(404)
	a.Do("DELETE", "/api/alerts/a", nil).Want(204)
	a.Get("/api/alerts/a").WantProblem(404)
	public := harness.Shared(t).Public(t)
	public.Get("/api/alerts").WantProblem(403)
	public.Do("PUT", "/api/alerts/a", definition).WantProblem(403)
}

func TestAlert_RefusedWithPointersAndNothingStored(t *testing.T) {
	t.Parallel()
	a := account(t)
	put := func(definition string, pointers ...string) {
		t.Helper()
		a.Do("PUT", "/api/alerts/a", definition).WantProblem(422).WantPointers(pointers...)
	}
	put(`{"on":["failed","nope"],"to":[{"webhook":"http://example.com/"},{"email":"a@example.com"}],"aftr":1}`,
		"#/on/1", "#/to/0/webhook", "#/to/1/email", "#/aftr")
	put(`{"on":["failed"],"match":{"schedule_id":"0198c0de-0000-7000-8000-000000000001"},"to":[{"slack":"https://example.com/"}]}`,
		"#/match/schedule_id")
	a.Do("PUT", "/api/alerts/-a", `{"on":["failed"],"to":[{"slack":"https://example.com/"}]}`).WantProblem(422).WantParameters("name")
	a.Get("/api/alerts/a").WantProblem(404)
}

func TestAlert_FailedAndRecoveredOnceEachWithoutSecrets(t *testing.T) {
	t.Parallel()
	a := account(t)
	routes := func() *harness.Route { return harness.SharedTarget(t).Route(t) }
	target, receiver, slack, teams, pager := routes(), routes(), routes(), routes(), routes()
	const pagerKey = "R0123456789012345678901234567890"
	putAlert(a.Client, `{"on":["failed","recovered"],"after":2,"match":{"tags":["x"]},"to":[{"webhook":"`+receiver.URL+`"},{"slack":"`+
		slack.URL+`"},
		{"teams":"`+teams.URL+`"},{"pagerduty":"`+pager.URL+`?routing_key=`+pagerKey+`"}]}`)
	const members = `"tags":["x"],"method":"post","headers":{"Authorization":"hush"},"body":{"pin":4711}`
	for _, status := range []int{500, 200, 500} {
		finish(t, a.Client, target, status, members)
	}
	finish(t, a.Client, target, 500, "") // another tag
	last := finish(t, a.Client, target, 503, members)
	receiver.Await(t, 1, soon) // a later message may overtake it
	slack.Await(t, 1, soon)
	teams.Await(t, 1, soon)
	pager.Await(t, 1, soon)
	for _, status := range []int{500, 200, 200} {
		finish(t, a.Client, target, status, members)
	}
	hits := receiver.Await(t, 2, soon)
	if got := messages(hits); got != "failed recovered" {
		t.Errorf("the receiver got %s", got)
	}
	wantSigned(t, hits[0], a.Secret)
	want := fmt.Sprintf(`{"alert":"a","schedule":null,"job":%d,"failures":2,"status":503,"error":{"kind":"status","message":"the target responded with 503"},`+
		`"excerpt":"told by the target","url":"%s"}`, last.Get("job_id").Int(), target.URL)
	if got := hits[0].JSON().Get("data").Raw(); got != want {
		t.Errorf("data is\n%s, want\n%s", got, want)
	}
	texts := slack.Await(t, 2, soon)
	if text := texts[0].JSON().Get("text").Str(); !strings.Contains(text, "[a] failed 2 times in a row: job ") ||
		!strings.Contains(text, "told by the target") {
		t.Errorf("Slack got %q", text)
	}
	cards, events := teams.Await(t, 2, soon), pager.Await(t, 2, soon)
	if text := string(cards[0].Body); !strings.Contains(text, "[a] failed 2 times in a row: job ") {
		t.Errorf("Teams got %s", cards[0].Body)
	}
	opened, resolved := events[0].JSON(), events[1].JSON()
	if opened.Get("event_action").Str() != "trigger" || resolved.Get("event_action").Str() != "resolve" ||
		opened.Get("dedup_key").Str() != resolved.Get("dedup_key").Str() {
		t.Errorf("PagerDuty got %s and %s; expected an incident that is resolved", events[0].Body, events[1].Body)
	}
	if got := opened.Get("routing_key").Str(); got != pagerKey || strings.Contains(events[0].RawQuery, pagerKey) {
		t.Errorf("PagerDuty got the key %q, and the query %q", got, events[0].RawQuery)
	}
	for _, h := range slices.Concat(hits, texts, cards, events) {
		if strings.Contains(string(h.Body), "hush") || strings.Contains(string(h.Body), "4711") {
			t.Errorf("a message has what the request had: %s", h.Body)
		}
	}
	if !receiver.Quiet(time.Second) {
		t.Error("the receiver got more messages")
	}
}

func TestAlert_TestReturnsWhatEachReceiverSaid(t *testing.T) {
	t.Parallel()
	a := account(t)
	receiver := harness.SharedTarget(t).Route(t).RespondOnce(harness.Reply(200, "text/plain", "thanks"), harness.Status(418))
	putAlert(a.Client, `{"on":["failed"],"to":[{"webhook":"`+receiver.URL+`"},{"slack":"https://127.0.0.1:1/"}]}`)
	for _, want := range []string{`"status":200,"response":"thanks","error":null`, `"status":418,"response":""`} {
		got := a.Post("/api/alerts/a/test", nil).Want(200).Data()
		results := got.Get("results").Items()
		if len(results) != 2 || !strings.Contains(results[0].Raw(), want) || results[1].Get("error.kind").Str() != "connect" {
			t.Errorf("the test says %s", got.Raw())
		}
	}
	if hit := receiver.Await(t, 2, soon)[0]; hit.JSON().Get("type").Str() != "alert.test" {
		t.Errorf("the receiver got %s", hit.Body)
	} else {
		wantSigned(t, hit, a.Secret)
	}
}

// TestAlert_LateWhileARunHasNotStarted occupies the only slot, so that a job of
// another receiver is late.
// A stranger's tests of alerts whose receivers hang must not keep others from testing.
func TestAlert_EightTestsAtOnceOfAnAccount(t *testing.T) {
	t.Parallel()
	const most = 8
	a, other := account(t), account(t)
	receiver := harness.SharedTarget(t).Route(t)
	release := receiver.Hold(harness.Status(204))
	for _, c := range []*harness.Client{a.Client, other.Client} {
		c.Do("PUT", "/api/alerts/a", `{"on":["failed"],"to":[{"webhook":"`+receiver.URL+`"}]}`).Want(201)
	}
	test := func(c *harness.Client) (int, error) {
		answer, err := c.Try("POST", "/api/alerts/a/test", nil)
		if err != nil {
			return 0, err
		}
		return answer.Status, nil
	}
	var held sync.WaitGroup
	hold := func(c *harness.Client) {
		held.Go(func() {
			if status, err := test(c); err != nil || status != 200 {
				t.Errorf("a test under way ends with %d, %v", status, err)
			}
		})
	}
	for range most {
		hold(a.Client)
	}
	receiver.Await(t, most, 9*time.Second)
	if got := a.Post("/api/alerts/a/test", nil).WantProblem(429); got.Header.Get("Retry-After") == "" {
		t.Errorf("it does not say when to try again: %s", got)
	}
	hold(other.Client)
	receiver.Await(t, most+1, 9*time.Second)
	release()
	held.Wait()
	if status, err := test(a.Client); err != nil || status != 200 {
		t.Errorf("after the others have ended: %d, %v", status, err)
	}
	if n := len(receiver.Hits()); n != most+2 {
		t.Errorf("%d tests were sent, want %d", n, most+2)
	}
}

func TestAlert_LateWhileARunHasNotStarted(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "1"))
	c := s.Account(t).Client
	busy, target, receiver := harness.NewTarget(t).Route(t), harness.NewTarget(t).Route(t), harness.NewTarget(t).Route(t)
	release := busy.Hold(harness.Status(200))
	create(c, `{"timeout":900,"url":"`+busy.URL+`"}`)
	busy.Await(t, 1, soon)
	putAlert(c, `{"on":["late"],"late_by":1,"match":{"tags":["x"]},"to":[{"webhook":"`+receiver.URL+`"}]}`)
	var late harness.JSON
	for i := range 3 {
		j := create(c, fmt.Sprintf(`{"url":"%s/%d","tags":["%s"]}`, target.URL, i, []string{"y", "x", "y"}[i]))
		if i == 1 {
			late = j
		}
	}
	hit := receiver.Await(t, 1, soon)[0]
	if got, want := hit.JSON().Get("data.job").Int(), late.Get("job_id").Int(); messages([]harness.Hit{hit}) != "late" || got != want {
		t.Errorf("got %s, want late of job %d", hit.Body, want)
	}
	if len(target.Hits()) != 0 {
		t.Error("the message came after a start")
	}
	if !receiver.Quiet(2500 * time.Millisecond) {
		t.Error("the receiver got more messages")
	}
	release()
	target.Await(t, 3, soon)
}

func TestAlert_SkippedWhenARunCoversDueTimes(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	putAlert(a.Client, `{"on":["skipped"],"to":[{"webhook":"`+receiver.URL+`"}]}`)
	release := target.Hold(harness.Status(200))
	j := create(a.Client, `{"url":"`+target.URL+`","repeat_every":1}`)
	target.Await(t, 1, soon)
	passed(t, instant(t, j.Get("job.scheduled_at")).Add(2*time.Second)) // two due times
	release()
	hit := receiver.Await(t, 1, soon)[0]
	if got, want := hit.JSON().Get("data.schedule").Str(), j.Get("schedule_id").Str(); messages([]harness.Hit{hit}) != "skipped" ||
		got != want {
		t.Errorf("got %s, want skipped of %s", hit.Body, want)
	}
	a.Do("DELETE", "/api/schedules/"+j.Get("schedule_id").Str(), nil).Want(204)
}

// TestAlert_EachChangeIsSentOnceThroughKills kills the service around the moment
// at which an outcome is stored.
func TestAlert_EachChangeIsSentOnceThroughKills(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(seeded(t), 0))
	s := harness.Start(t)
	a := s.Account(t)
	target, receiver := harness.NewTarget(t).Route(t), harness.NewTarget(t).Route(t)
	putAlert(a.Client, `{"on":["failed","recovered"],"to":[{"webhook":"`+receiver.URL+`"}]}`)
	rounds := 12
	if !strings.HasPrefix(s.DatabaseURL, "sqlite:") {
		rounds = 4 // what was under way waits until the lease of the killed process expires
	}
	var want []string
	for i := range rounds {
		status, change := 500, "failed"
		if i%2 == 1 {
			status, change = 200, "recovered"
		}
		want = append(want, change)
		target.Respond(harness.Status(status))
		before := len(target.Hits())
		create(a.Client, `{"url":"`+target.URL+`","retries":0}`)
		target.AwaitEnds(t, before+1, soon)
		aside(random, 20*time.Millisecond) // anywhere around the commits
		s.Kill()
		s.Restart(t)
		if !harness.Within(afterKill, func() bool { return messages(receiver.Hits()) == strings.Join(want, " ") }) {
			t.Fatalf("round %d: the receiver got %s, want %v", i, messages(receiver.Hits()), want)
		}
	}
	// A message that was sent just before a kill may come again, with the same id.
	if !harness.Stays(time.Second, func() bool { return messages(receiver.Hits()) == strings.Join(want, " ") }) {
		t.Errorf("the receiver got %s", messages(receiver.Hits()))
	}
}

// TestAlert_OvertakenFailureIsNotSent: a receiver is down while a job fails and another
// succeeds; up again, it does not hear of the failure after the recovery.
func TestAlert_OvertakenFailureIsNotSent(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	receiver.RespondOnce(harness.Status(500)) // the first message, which would be sent again after 5 s
	putAlert(a.Client, `{"on":["failed","recovered"],"to":[{"webhook":"`+receiver.URL+`"}]}`)
	finish(t, a.Client, target, 500, "")
	receiver.Await(t, 1, soon)
	finish(t, a.Client, target, 200, "")
	// On a slow machine the failure may be sent again before the success.
	harness.Eventually(t, soon, "the recovery to be sent", func() bool { return messages(receiver.Hits()) == "failed recovered" })
	sent := len(receiver.Hits())
	if !receiver.Quiet(7 * time.Second) {
		t.Errorf("the receiver got %s", receiver.Hits()[sent].Body)
	}
}

func TestAlert_RecoveredWithoutFailed(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	putAlert(a.Client, `{"on":["recovered"],"after":2,"to":[{"webhook":"`+receiver.URL+`"}]}`)
	for _, status := range []int{500, 200, 500, 500, 200, 200} {
		finish(t, a.Client, target, status, "")
	}
	receiver.Await(t, 1, soon)
	if !receiver.Quiet(time.Second) || messages(receiver.Hits()) != "recovered" {
		t.Errorf("the receiver got %s", messages(receiver.Hits()))
	}
}

func TestAlert_EndedSaysWhy(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t).Respond(harness.Status(503)), harness.SharedTarget(t).Route(t)
	putAlert(a.Client, `{"on":["ended"],"to":[{"webhook":"`+receiver.URL+`"}]}`)
	failing := create(a.Client, `{"url":"`+target.URL+`","repeat_every":1,"retries":0,"disable_after":1}`)
	data := receiver.Await(t, 1, soon)[0].JSON()
	if data.Get("type").Str() != "alert.ended" || data.Get("data.schedule").Str() != failing.Get("schedule_id").Str() ||
		data.Get("data.reason").Str() != "failures" || data.Get("data.status").Int() != 503 {
		t.Errorf("the receiver got %s", data.Raw())
	}
	target.Respond(harness.Status(200))
	create(a.Client, `{"url":"`+target.URL+`","repeat_every":1,"max_runs":1}`)
	if data := receiver.Await(t, 2, soon)[1].JSON(); data.Get("data.reason").Str() != "max_runs" || !data.Get("data.error").IsNull() {
		t.Errorf("the receiver got %s", data.Raw())
	}
}

func TestAlert_TellsOfWorkflowRuns(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	putAlert(a.Client, `{"on":["failed","recovered"],"after":2,"match":{"tags":["mine"]},"to":[{"webhook":"`+receiver.URL+`"}]}`)
	trigger := func() string {
		header := map[string][]string{"Upstash-Label": {"mine"}, "Upstash-Retries": {"0"}}
		return qstash(t, a, "POST", "/v2/trigger/"+target.URL, `{}`, header).Get("workflowRunId").Str()
	}
	state := func(id, want string) {
		t.Helper()
		harness.Eventually(t, soon, "the run is "+want, func() bool { return a.Get("/api/runs/"+id).Data().Get("state").Str() == want })
	}
	// A response that is no success, whose report succeeds, and one without a next step.
	target.RespondOnce(harness.Reply(500, "text/plain", "told by the target"))
	state(trigger(), "failed")
	harness.Eventually(t, soon, "the failure is reported", func() bool { return len(target.Hits()) == 2 })
	state(trigger(), "failed")
	harness.Eventually(t, soon, "the alert", func() bool { return messages(receiver.Hits()) == "failed" })
	data := receiver.Hits()[0].JSON().Get("data")
	wantSame(t, "failures", data.Get("failures"), `2`)
	wantSame(t, "url", data.Get("url"), `"`+target.URL+`"`)
	if got := data.Get("error.message").Str(); !strings.Contains(got, "without storing a step") {
		t.Errorf("the error is %q", got)
	}
	release := target.Hold(harness.Status(200))
	id := trigger()
	harness.Eventually(t, soon, "the route is called", func() bool { return len(target.Hits()) == 4 })
	if status, text := qstashStatus(t, a, "DELETE", "/v2/workflows/runs/"+id+"?cancel=false", `"done"`, http.Header{}); status != 200 {
		t.Errorf("ending the run: %d %s", status, text)
	}
	release()
	harness.Eventually(t, soon, "the recovery", func() bool { return messages(receiver.Hits()) == "failed recovered" })
	state(id, "succeeded")
}
