package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// listOf returns n times element, as a JSON array.
func listOf(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// nest returns an array that nests so deep.
func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// TestLimitBudget_RequestThatCannotFitIsRefusedOnCreate creates a job of 300 KB
// whose URL would be 10 GB long.
func TestLimitBudget_RequestThatCannotFitIsRefusedOnCreate(t *testing.T) {
	t.Parallel()
	a := account(t)
	long := strings.Repeat("k", 100_000)
	const form = `"method":"post","headers":{"content-type":"application/x-www-form-urlencoded"},`
	for members, pointer := range map[string]string{
		`"query":{"` + long + `":` + listOf(100_000, "1") + `}`:                          "#/query",
		`"query":"` + strings.Repeat("q", 17_000) + `"`:                                  "#/query",
		form + `"body":{"` + long + `":` + listOf(100_000, "1") + `}`:                    "#/body",
		`"headers":{"x-long":["` + strings.Repeat("h", 40_000) + `","` + long + `"]}`:    "#/headers",
		`"query":` + strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65):         "#/query",
		`"method":"post","body":` + nest(128):                                            "#/body",
		`"method":"post","body":` + nest(9_000):                                          "#/body",
		`"method":"post","body":` + nest(200_000):                                        "#/body",
		`"` + strings.Repeat("é", 1000) + `":` + nest(200):                               "#",
		`"query":` + strings.Repeat(`{"a":`, 64) + "[1]" + strings.Repeat("}", 64) + ` `: "#/query",
	} {
		a.Post("/api/jobs", with(waiting, members)).WantProblem(422).WantPointers(pointer)
	}
	a.Post("/api/jobs", with(waiting, `"body":`+strings.Repeat("[", 20_000))).WantProblem(400)
	a.Post("/api/jobs", "url=https://example.com/&"+strings.Repeat("body[]=&", 60_000),
		harness.ContentType("application/x-www-form-urlencoded")).
		WantProblem(422).WantPointers("#")
	create(a.Client, with(waiting, `"method":"post","body":`+nest(127)))
	create(a.Client, with(waiting, `"query":`+strings.Repeat(`{"a":`, 64)+"1"+strings.Repeat("}", 64)))
	if got := len(everyRecord(t, a.Client, "/api/jobs?limit=100")); got != 2 {
		t.Errorf("%d jobs are stored, want 2", got)
	}
	a.Post("/api/echo", nest(129)).WantProblem(422).WantPointers("#")
	if got := a.Post("/api/echo", nest(128)).Want(200); got.JSON.Raw() != nest(128) {
		t.Error("a value 128 deep is not echoed")
	}
}

// TestLimitBudget_RequestThatGrowsBeyondItIsDiscardedUnsent creates a job with
// a body of 13 KB that $state expands to 60 MB.
func TestLimitBudget_RequestThatGrowsBeyondItIsDiscardedUnsent(t *testing.T) {
	t.Parallel()
	a := account(t)
	receiver := harness.SharedTarget(t).Route(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"$set":{"big":"` + strings.Repeat("s", 60_000) + `"}}`))
	first := create(a.Client, `{"method":"post","url":"`+target.URL+`","headers":{"x-mine":"1"},"body":`+listOf(1000, `"$state.big"`)+`,
		"repeat_every":1,"retries":3,"callback_url":"`+receiver.URL+`/callback","webhook_url":"`+receiver.URL+`/webhook"}`)
	awaitState(t, a.Client, first, "completed")

	var second harness.JSON
	if !harness.Within(soon, func() bool {
		for _, job := range a.Get("/api/jobs?schedule_id=" + first.Get("schedule_id").Str() + "&limit=100").Want(200).Data().Items() {
			if job.Get("job.state").Str() == "discarded" {
				second = job
			}
		}
		return second.Exists()
	}) {
		t.Fatal("no run is discarded")
	}
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	number := second.Get("job_id").Raw()
	if hits := target.Hits(); len(hits) != 1 {
		t.Errorf("%d requests were made, want the first run's only", len(hits))
	}
	logs := slices.DeleteFunc(awaitLogs(t, a.Client, second, 2, soon), func(l harness.JSON) bool {
		return l.Get("event").Str() == "worker.schedule.skipped" // a slow machine passes over points
	})
	wantEvents(t, logs, "http.request", "http.error")
	wantSame(t, "the request's log", logs[0].Get("payload"), `{"body":null,"headers":{"x-mine":"1"},"query":{},"url":"`+target.URL+`"}`)
	failure := logs[1].Get("payload")
	wantKeys(t, "the error's log", failure, "kind", "message", "duration_ms", "attempt", "retry_at")
	wantSame(t, "kind", failure.Get("kind"), `"too_large"`)
	wantSame(t, "attempt", failure.Get("attempt"), "1")
	wantSame(t, "retry_at", failure.Get("retry_at"), "null")

	var callback harness.JSON
	told := map[string]harness.JSON{}
	harness.Eventually(t, soon, "every message about the run to arrive", func() bool {
		for _, hit := range receiver.Hits() {
			switch body := hit.JSON(); {
			case body.Get("job.job_id").Raw() == number:
				callback = body
			case body.Get("data.job.job_id").Raw() == number:
				told[body.Get("type").Str()] = body.Get("data")
			}
		}
		return callback.Exists() && told["job.finished"].Exists() && told["job.error"].Exists() && told["job.request"].Exists()
	})
	wantSame(t, "the callback's response", callback.Get("response"), "null")
	wantSame(t, "the callback's error", callback.Get("error.kind"), `"too_large"`)
	wantSame(t, "the webhook's error", told["job.error"].Get("error.kind"), `"too_large"`)
	wantSame(t, "its retry_at", told["job.error"].Get("retry_at"), "null")
	if told["job.response"].Exists() {
		t.Error("job.response was sent")
	}
	wantSame(t, "the state", a.Get("/api/schedules/"+first.Get("schedule_id").Str()).Want(200).Data().Get("id"),
		first.Get("schedule_id").Raw())
}

// TestLimitBudget_RequestOverItIsRecordedOnceDespiteCrashes kills the service
// while such requests are prepared, held and recorded.
func TestLimitBudget_RequestOverItIsRecordedOnceDespiteCrashes(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"$set":{"big":"` + strings.Repeat("s", 60_000) + `"}}`))
	var jobs []harness.JSON
	for range 10 {
		jobs = append(jobs, create(c, `{"method":"post","url":"`+target.URL+`","body":`+listOf(1000, `"$state.big"`)+`,"repeat_every":2}`))
	}
	discarded := func(filter string) []harness.JSON {
		return c.Get("/api/jobs?state=discarded&limit=100" + filter).Want(200).Data().Items()
	}
	harness.Eventually(t, 2*soon, "a run to be discarded", func() bool { return len(discarded("")) > 0 })
	s.Kill()
	s.Restart(t)
	for _, job := range jobs {
		var runs []harness.JSON
		harness.Eventually(t, afterCrash(s), "a run of each schedule to be discarded", func() bool {
			runs = discarded("&schedule_id=" + job.Get("schedule_id").Str())
			return len(runs) > 0
		})
		for _, run := range runs {
			refusals := 0
			for _, log := range logsOf(c, run) {
				if log.Get("payload.kind").Str() == "too_large" {
					refusals++
				}
			}
			if refusals != 1 {
				t.Errorf("a run has %d logs of the kind too_large: %s", refusals, logsOf(c, run))
			}
		}
	}
	for _, hit := range target.Hits() {
		number := hit.Header.Get("X-Punctual-Job-Id")
		if state := c.Get("/api/jobs/" + number).Want(200).Data().Get("job.state").Str(); state != "completed" {
			t.Errorf("the request of job %s, which is %s, was sent", number, state)
		}
	}
}

// TestLimitBudget_ManyDynamicFieldsDelayNoOtherJob sends requests with 80,000
// dynamic fields.
func TestLimitBudget_ManyDynamicFieldsDelayNoOtherJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	answer := `{"items":` + listOf(20_000, "[]") + `}`
	_, hits := sequel(t, a.Client, `"body":`+listOf(40_000, `"$previous.items.7.x"`), answer)
	wantSame(t, "the body", hits[1].JSON(), listOf(40_000, "null"))
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(answer))
	job := create(a.Client, `{"method":"post","repeat_every":1,"url":"`+target.URL+`","body":`+listOf(80_000, `"$previous"`)+`}`)
	harness.Eventually(t, soon, "a run to be refused", func() bool {
		return len(a.Get("/api/jobs?state=discarded&schedule_id="+job.Get("schedule_id").Str()).Want(200).Data().Items()) > 0
	})
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	if got := len(target.Hits()); got != 1 {
		t.Errorf("%d requests were made, want 1", got)
	}
}
