package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// afterOf returns a job that waits for others.
func afterOf(url, on string, others ...harness.JSON) string {
	var ids []string
	for _, j := range others {
		ids = append(ids, strconv.FormatInt(j.Get("job_id").Int(), 10))
	}
	return fmt.Sprintf(`{"url":%q,"method":"post","after":{"jobs":[%s],"on":%q}}`, url, strings.Join(ids, ","), on)
}

func wantWaitingFor(t *testing.T, c *harness.Client, job harness.JSON, want string) {
	t.Helper()
	wantSame(t, "waiting_for", c.Get(jobPath(job)+"/details").Want(200).Data().Get("waiting_for"), want)
}

func TestAfter_AChainStartsInOrder(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	const length = 40
	jobs := []harness.JSON{create(a.Client, `{"url":"`+target.URL+`","method":"post","body":0,"metadata":false}`)}
	for i := 1; i < length; i++ {
		body := fmt.Sprintf(`"body":%d,"metadata":false`, i)
		if i%2 == 0 { // an id is as good as a number
			jobs = append(jobs, create(a.Client, `{"url":"`+target.URL+`","method":"post","after":{"jobs":["`+jobs[i-1].Get("id").Str()+
				`"]},`+body+`}`))
			continue
		}
		jobs = append(jobs, create(a.Client, with(afterOf(target.URL, "completed", jobs[i-1]), body)))
	}
	wantWaitingFor(t, a.Client, jobs[2], fmt.Sprintf(`["job:%d"]`, jobs[1].Get("job_id").Int()))
	release()
	var got, want []string
	for i, hit := range target.AwaitEnds(t, length, soon) {
		got, want = append(got, string(hit.Body)), append(want, strconv.Itoa(i))
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the jobs of the chain started in the order %v", got)
	}
	last := awaitState(t, a.Client, jobs[length-1], "completed")
	wantWaitingFor(t, a.Client, last, `[]`)
}

func TestAfter_CancelEditRerunAndRunNow(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	awaited := create(a.Client, waiting)
	job := create(a.Client, afterOf(target.URL, "completed", awaited))
	wantSame(t, "args", job.Get("args.after"), fmt.Sprintf(`{"jobs":[%d],"on":"completed"}`, awaited.Get("job_id").Int()))
	wantSame(t, "next_attempt_at", a.Get(jobPath(job)+"/details").Want(200).Data().Get("next_attempt_at"), "null")

	a.Do("PATCH", jobPath(job), `{"after":{"jobs":[1]}}`).WantProblem(422).WantPointers("#/after")
	edited := a.Do("PATCH", jobPath(job), `{"schedule_in":3600,"description":"d"}`).Want(200).Data()
	if edited.Get("job.state").Str() != "available" || edited.Get("description").Str() != "d" {
		t.Errorf("the edited job is %s", edited.Raw())
	}
	wantWaitingFor(t, a.Client, job, fmt.Sprintf(`["job:%d"]`, awaited.Get("job_id").Int()))

	// Run now ends the wait; what waits for a cancelled job is orphaned, and so on.
	operation := a.Post("/api/operations", fmt.Sprintf(`{"action":"run","job_ids":[%d]}`, job.Get("job_id").Int()))
	if operation.Status == 422 { // operations take filters
		operation = a.Post("/api/operations", `{"action":"run","filter":{"host":"127.0.0.1","state":"available"}}`)
	}
	operation.Want(202)
	awaitState(t, a.Client, job, "completed")
	first := create(a.Client, with(afterOf(target.URL, "completed", awaited), `"schedule_in":3600`))
	second := create(a.Client, afterOf(target.URL, "completed", first))
	third := create(a.Client, afterOf(target.URL, "final", first, second))
	a.Post(jobPath(awaited)+"/cancel", nil).Want(200)
	awaitState(t, a.Client, third, "completed")
	for _, orphan := range []harness.JSON{first, second} {
		orphan = awaitState(t, a.Client, orphan, "cancelled")
		wantEvents(t, logsOf(a.Client, orphan), "job.orphaned")
	}
	wantSame(t, "the payload", logsOf(a.Client, second)[0].Get("payload"),
		fmt.Sprintf(`{"job_id":%d,"state":"cancelled"}`, first.Get("job_id").Int()))
	again := a.Post(jobPath(first)+"/rerun", nil).Want(201).Data()
	if len(again.Get("args.after")) > 0 {
		t.Errorf("the rerun waits: %s", again.Raw())
	}
	awaitState(t, a.Client, again, "completed")
}

func TestAfter_Refused(t *testing.T) {
	t.Parallel()
	a := account(t)
	awaited := create(a.Client, waiting)
	one := afterOf("https://example.com/", "completed", awaited)
	for members, pointer := range map[string]string{
		`"cron":"0 9 * * *"`: "#/after", `"idempotency_key":"k","on_conflict":"replace"`: "#/on_conflict",
		`"idempotency_key":"k","on_conflict":"debounce","schedule_in":1,"max_wait":5`: "#/on_conflict",
	} {
		a.Post("/api/jobs", with(one, members)).WantProblem(422).WantPointers(pointer)
	}
	a.Do("PUT", "/api/schedules/key:s", with(one, `"cron":"0 9 * * *"`)).WantProblem(422).WantPointers("#/after")
	other := create(account(t).Client, waiting)
	a.Post("/api/jobs", `{"url":"https://example.com/","after":{"jobs":["`+other.Get("id").Str()+
		`","11111111-1111-4111-8111-111111111111"]}}`).
		WantProblem(422).WantPointers("#/after/jobs/0", "#/after/jobs/1")
	var ids []string
	for range 100 {
		ids = append(ids, strconv.FormatInt(awaited.Get("job_id").Int(), 10))
	}
	a.Post("/api/jobs", `{"url":"https://example.com/","after":{"jobs":[`+strings.Join(ids, ",")+`]}}`).Want(201) // one job, named often
}

func TestThen_BodiesGetTheSummary(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	for then, want := range map[string]string{
		`"body":{"a":1.10},"metadata":false`:                       `{"a":1.10,"$batch":SUMMARY}`,
		`"body":{"a":1,"$batch":2},"metadata":false`:               `{"a":1,"$batch":SUMMARY}`,
		`"body":{"s":"secret"},"redact":["body"],"metadata":false`: `{"s":"secret","$batch":SUMMARY}`,
		`"metadata":false`:               `{"$batch":SUMMARY}`,
		`"body":"text","metadata":false`: `"text"`,
		`"body_base64":"AAE="`:           "\x00\x01",
	} {
		route := harness.SharedTarget(t).Route(t)
		ok, bad := `{"url":"`+target.URL+`"}`, `{"url":"`+failing.URL+`","retries":0}`
		answer := a.Post(batchPath, `{"jobs":[`+ok+`,`+bad+`,`+ok+`],"then":{"url":"`+route.URL+`","method":"post",`+then+`}}`).Want(201)
		number := answer.Data().Items()[1].Get("job_id").Int()
		hit := route.Await(t, 1, soon)[0]
		want = strings.ReplaceAll(want, "SUMMARY", fmt.Sprintf(`{"completed":2,"discarded":1,"cancelled":0,"failed_jobs":[%d]}`, number))
		if string(hit.Body) != want {
			t.Errorf("%s: the body is %s, want %s", then, hit.Body, want)
		}
		if strings.Contains(then, "redact") {
			got := a.Get(fmt.Sprintf("/api/jobs/%d", answer.JSON.Get("then.job_id").Int())).Want(200)
			wantSame(t, "the hidden body", got.Data().Get("args.body"), `"[redacted]"`)
		}
	}
}

func TestThen_InPartAndMinimal(t *testing.T) {
	t.Parallel()
	a := account(t)
	route := harness.SharedTarget(t).Route(t)
	body := `{"jobs":[` + waiting + `,{"url":5}],"then":{"url":"` + route.URL + `","method":"post"}}`
	a.Post(batchPath, body).WantProblem(422).WantPointers("#/jobs/1/url")
	answer := a.Post(batchPath+"?atomic=false", body, harness.Header("Prefer", "return=minimal")).Want(200)
	items := answer.Data().Items()
	if len(items) != 2 || items[0].Get("status").Int() != 201 || items[1].Get("status").Int() != 422 {
		t.Errorf("the items: %s", answer.JSON)
	}
	then := answer.JSON.Get("then")
	if keys := strings.Join(then.Keys(), " "); keys != "id job_id" {
		t.Errorf("then has %s", keys)
	}
	first := items[0].Get("job")
	wantWaitingFor(t, a.Client, then, fmt.Sprintf(`["job:%d"]`, first.Get("job_id").Int()))
	a.Post(jobPath(first)+"/cancel", nil).Want(200)
	if hit := route.Await(t, 1, soon)[0]; !strings.Contains(string(hit.Body), `"cancelled":1`) {
		t.Errorf("the body of then: %s", hit.Body)
	}
	// Nothing was stored for it to wait for.
	answer = a.Post(batchPath+"?atomic=false", `{"jobs":[{"url":5}],"then":{"url":"`+route.URL+`","method":"post"}}`).Want(200)
	awaitState(t, a.Client, answer.JSON.Get("then"), "completed")
	a.Post(batchPath+"?atomic=false", `{"jobs":[`+waiting+`],"then":{"url":5}}`).WantProblem(422).WantPointers("#/then/url")
}

// TestAfter_AKillLosesNothing kills the service while the jobs end that others wait for.
func TestAfter_AKillLosesNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	done := harness.SharedTarget(t).Route(t)
	a := s.Public(t)
	var then []harness.JSON
	for range 5 {
		job := `{"url":"` + target.URL + `"}`
		body := `{"jobs":` + array(slicesOf(20, job)...) + `,"then":{"url":"` + done.URL + `","method":"post"}}`
		then = append(then, a.Post(batchPath, body, harness.Header("Prefer", "return=minimal")).Want(201).JSON.Get("then"))
	}
	for range 3 {
		target.Await(t, 1, soon)
		release()
		s.Kill()
		s.Restart(t)
	}
	a = s.Public(t)
	for _, job := range then {
		awaitState(t, a, job, "completed")
	}
}
