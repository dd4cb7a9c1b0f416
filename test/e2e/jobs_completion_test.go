package e2e

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const publicURL = "https://punctual.example.com"

// completions starts a service whose targets can complete attempts, and returns an
// account on it and a client without a key.
func completions(t *testing.T, opts ...harness.Option) (owner *harness.Account, anyone *harness.Client) {
	t.Helper()
	s := harness.Start(t, append(opts, harness.Flag("public-url", publicURL))...)
	return s.Account(t), s.Client(t, "")
}

// completionPath returns the path at which a request's target reports.
func completionPath(t *testing.T, hit harness.Hit) string {
	t.Helper()
	path, found := strings.CutPrefix(hit.Header.Get("X-Punctual-Complete"), publicURL)
	if !found || !strings.HasPrefix(path, "/api/completions/") || len(path) < len("/api/completions/")+43 {
		t.Fatalf("X-Punctual-Complete is %q", hit.Header.Get("X-Punctual-Complete"))
	}
	return path
}

// accepting creates a job whose target responds with 202, and returns it once it
// awaits its completion, with its target and the path to report at.
func accepting(t *testing.T, c *harness.Client, members string) (job harness.JSON, target *harness.Route, path string) {
	t.Helper()
	target = harness.SharedTarget(t).Route(t).Respond(harness.Status(202))
	job = create(c, `{"method":"post","url":"`+target.URL+`",`+members+`}`)
	path = completionPath(t, target.Await(t, 1, soon)[0])
	harness.Eventually(t, soon, "the 202 to be stored", func() bool { return awaitsCompletion(c, job) })
	return job, target, path
}

// awaitsCompletion reports whether a log of a job says that it awaits its completion. It
// need not be the last: an attempt may be given up before a busy machine looks.
func awaitsCompletion(c *harness.Client, job harness.JSON) bool {
	return slices.ContainsFunc(logsOf(c, job), func(log harness.JSON) bool { return log.Get("payload.awaiting").Raw() == "true" })
}

func TestCompletion_TheCommandLineShowsProgress(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	job, _, path := accepting(t, owner.Client, `"completion":{"within":[1,"hour"]}`)
	anyone.Post(path, `{"progress":40.5,"message":"half way"}`).Want(200)
	id := job.Get("job_id").Raw()
	wantSaid(t, jobs(t, owner, "show", id), 0, "executing")
	watching := spawn(t, clientOf(owner), "jobs", "watch", id)
	watching.await("is executing, and its target reports later: 40.5 %")
	anyone.Post(path, `{"result":null}`).Want(200)
	if status := watching.end(); status != 0 || !strings.Contains(watching.said(), "is completed") {
		t.Errorf("ended with status %d and said %s", status, watching.said())
	}
}

func TestCompletion_AResultCompletesTheJob(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	receiver := harness.SharedTarget(t).Route(t)
	job, target, path := accepting(t, owner.Client, `"completion":{"within":[1,"hour"]},"callback_url":"`+receiver.URL+`"`)
	wantSame(t, "the state while it is awaited", owner.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"executing"`)
	wantSame(t, "progress", anyone.Post(path, `{"progress":40,"message":"half way"}`).Want(200).Data().Get("progress.progress"), `40`)
	anyone.Post(path, `{"result":{"rows":1.10,"files":[{"a":1,"b":2}]}}`).Want(200)
	awaitState(t, owner.Client, job, "completed")
	anyone.Post(path, `{"result":{"rows":1.10,"files":[{"a":1,"b":2}]}}`).Want(200)
	anyone.Post(path, `{"result":{"files":[{"b":2,"a":1}],"rows":1.10}}`).Want(200)
	anyone.Post(path, `{"result":{"files":[{"b":2,"a":2}],"rows":1.10}}`).WantProblem(409)
	anyone.Post(path, `{"result":2}`).WantProblem(409)
	anyone.Post(path, `{"progress":50}`).WantProblem(410)
	logs := logsOf(owner.Client, job)
	last := logs[len(logs)-1]
	wantSame(t, "the log", last.Get("event"), `"worker.completion"`)
	wantSame(t, "the logged result", last.Get("payload.result"), `{"rows":1.10,"files":[{"a":1,"b":2}]}`)
	callback := receiver.Await(t, 1, soon)[0].JSON()
	wantSame(t, "the callback's error", callback.Get("error"), `null`)
	wantSame(t, "the callback's result", callback.Get("result"), `{"rows":1.10,"files":[{"a":1,"b":2}]}`)
	wantSame(t, "the callback's status", callback.Get("response.status"), `202`)
	if n := len(target.Hits()); n != 1 {
		t.Errorf("the target got %d requests", n)
	}
}

func TestCompletion_LogsNeverShowTheToken(t *testing.T) {
	t.Parallel()
	owner, _ := completions(t)
	job, _, path := accepting(t, owner.Client, `"completion":{"within":60}`)
	token := strings.TrimPrefix(path, "/api/completions/")
	for _, log := range logsOf(owner.Client, job) {
		if strings.Contains(log.Raw(), token) {
			t.Errorf("a log has the token: %s", log.Raw())
		}
	}
	if text := owner.Service.Stderr(); strings.Contains(text, token) {
		t.Errorf("the service's log has the token: %s", text)
	}
}

func TestCompletion_SurvivesKills(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	job, target, path := accepting(t, owner.Client, `"completion":{"within":[1,"hour"]}`)
	late, _, _ := accepting(t, owner.Client, `"retries":0,"completion":{"within":4}`)
	for range 2 {
		owner.Service.Kill()
		owner.Service.Restart(t)
	}
	wantSame(t, "the state after the kills", owner.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"executing"`)
	anyone.Post(path, `{"result":1}`).Want(200)
	awaitState(t, owner.Client, job, "completed")
	awaitState(t, owner.Client, late, "discarded")
	if n := len(target.Hits()); n != 1 {
		t.Errorf("the target got %d requests", n)
	}
}

func TestCompletion_AReportBeforeTheResponseSurvivesAKill(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	target := harness.SharedTarget(t).Route(t)
	target.Hold(harness.Status(202))
	job := create(owner.Client, `{"url":"`+target.URL+`","completion":{"within":60}}`)
	path := completionPath(t, target.Await(t, 1, soon)[0])
	anyone.Post(path, `{"result":{"early":true}}`).Want(200)
	owner.Service.Kill()
	owner.Service.Restart(t)
	harness.Eventually(t, 3*soon, "the killed attempt to be completed", func() bool {
		return owner.Get(jobPath(job)).Want(200).Data().Get("job.state").Str() == "completed"
	})
	anyone.Post(path, `{"result":{"early":true}}`).Want(200)
	if n := len(target.Hits()); n != 1 {
		t.Errorf("the target got %d requests", n)
	}
}

func TestCompletion_SilentTargetsFailTheAttempt(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	job, target, path := accepting(t, owner.Client, `"retries":1,"backoff":[1],"completion":{"within":60,"heartbeat":1}`)
	target.Await(t, 2, soon)
	anyone.Post(path, `{"result":1}`).WantProblem(410)
	job = awaitState(t, owner.Client, job, "discarded")
	logs := logsOf(owner.Client, job)
	for _, i := range []int{2, 5} {
		wantSame(t, "the log's kind", logs[i].Get("payload.kind"), `"abandoned"`)
	}
	wantSame(t, "the last retry", logs[5].Get("payload.retry_at"), `null`)
}

func TestCompletion_RacesHaveOneOutcome(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t)
	for name, race := range map[string]func(*testing.T, harness.JSON, string){
		"with a cancel": func(t *testing.T, job harness.JSON, _ string) {
			owner.For(t).Post(jobPath(job)+"/cancel", nil).Want(200)
		},
		"with another outcome": func(t *testing.T, _ harness.JSON, path string) {
			if status := anyone.For(t).Post(path, `{"error":"no","retry":false}`).Status; status != 200 && status != 409 {
				t.Errorf("the other outcome is answered with %d", status)
			}
		},
		"with itself": func(t *testing.T, _ harness.JSON, path string) { anyone.For(t).Post(path, `{"result":1}`).Want(200) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				job, target, path := accepting(t, owner.For(t),
					`"completion":{"within":60},"webhook_url":"`+harness.SharedTarget(t).Route(t).URL+`"`)
				var group sync.WaitGroup
				group.Go(func() { race(t, job, path) })
				status := anyone.For(t).Post(path, `{"result":1}`).Status
				group.Wait()
				state := owner.For(t).Get(jobPath(job)).Want(200).Data().Get("job.state").Str()
				if completed := state == "completed"; completed != (status == 200) || !completed && state != "cancelled" &&
					state != "discarded" {
					t.Errorf("the result is answered with %d, the job is %s", status, state)
				}
				ends := 0
				for _, log := range logsOf(owner.For(t), job) {
					if event := log.Get("event").Str(); event == "worker.completion" || event == "worker.http.error" {
						ends++
					}
				}
				if ends != 1 || len(target.Hits()) != 1 {
					t.Errorf("%d logs of an end, %d requests", ends, len(target.Hits()))
				}
			}
		})
	}
}

func TestCompletion_GuessesAndHugeReportsAreRefused(t *testing.T) {
	t.Parallel()
	owner, anyone := completions(t, harness.Flag("anonymous-rate-limit", "1"))
	job, _, path := accepting(t, owner.Client, `"completion":{"within":60}`)
	for _, guess := range []string{"x", path[len("/api/completions/"):] + "A", strings.Repeat("A", 43), strings.Repeat("A", 5000)} {
		anyone.Post("/api/completions/"+guess, `{"result":1}`).WantProblem(404)
	}
	anyone.Post(path, `{"result":"`+strings.Repeat("x", 256<<10)+`"}`).WantPointers("#/result")
	anyone.Post(path, `{"result":"`+strings.Repeat("x", 1<<20)+`"}`).WantProblem(413)
	// 50 at once and 50 a second are accepted; a slow machine doesn't send more.
	var accepted atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range 200 {
		wg.Go(func() {
			switch answer, err := anyone.Try("POST", path, `{"progress":1}`); {
			case err != nil:
				t.Error(err)
			case answer.Status == 200:
				accepted.Add(1)
			case answer.WantProblem(429).Header.Get("Retry-After") == "":
				t.Errorf("it does not say when to try again: %s", answer)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); float64(accepted.Load()) > 51+50*took.Seconds() {
		t.Errorf("of 200 reports at once %d are accepted within %s", accepted.Load(), took)
	}
	large := `{"result":"` + strings.Repeat("x", 200<<10) + `"}`
	harness.Eventually(t, soon, "a report to be accepted again", func() bool { return anyone.Post(path, large).Status == 200 })
	awaitState(t, owner.Client, job, "completed")
}

func TestCompletion_NeedsAPublicURL(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	c.Post("/api/jobs", `{"url":"https://example.com/","completion":{"within":60}}`).WantPointers("#/completion")
}

func TestCompletion_IsOverWhenTheServiceHasNoPublicURLAnyMore(t *testing.T) {
	t.Parallel()
	owner, _ := completions(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(owner.Client, `{"url":"`+target.URL+`","schedule_in":5,"retries":0,"completion":{"within":60}}`)
	owner.Service.Stop()
	other := harness.Start(t, harness.Database(owner.Service.DatabaseURL))
	c := other.Client(t, owner.Key)
	awaitState(t, c, job, "discarded")
	if n := len(target.Hits()); n != 0 {
		t.Errorf("the target got %d requests", n)
	}
}

func TestOutcome_ResponsesSteerTheirSchedule(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	for _, x := range []struct{ body, next, logs string }{
		{`{"$next":"2031-02-03T04:05:06Z"}`, `"2031-02-03T04:05:06.000000Z"`, "worker.http.request worker.http.response"},
		{`{"$next":1930000000}`, `"2031-02-27T23:06:40.000000Z"`, "worker.http.request worker.http.response"},
		{`{"$stop":true}`, ``, "worker.http.request worker.http.response worker.schedule.ended"},
		{`{"$next":"soon"}`, `grid`, "worker.http.request worker.http.response worker.state.rejected"},
		{`{"$stop":"yes","$next":-1}`, `grid`, "worker.http.request worker.http.response worker.state.rejected worker.state.rejected"},
		{`{"$fail":5,"$stop":false,"$next":null}`, `grid`, "worker.http.request worker.http.response worker.state.rejected"},
		{`{"$set":[1]}`, `grid`, "worker.http.request worker.http.response worker.state.rejected"},
		{`{"$set":null}`, `grid`, "worker.http.request worker.http.response"},
	} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(x.body))
		job := create(c, `{"url":"`+target.URL+`","repeat_every":[1,"week"]}`)
		schedule := job.Get("schedule_id").Str()
		first := awaitState(t, c, job, "completed")
		var events []string
		for _, log := range logsOf(c, job) {
			events = append(events, log.Get("event").Str())
		}
		if got := strings.Join(events, " "); got != x.logs {
			t.Errorf("%s: logs %s, want %s", x.body, got, x.logs)
		}
		pending := c.Get("/api/jobs?state=scheduled&schedule_id=" + schedule).Want(200).Data().Items()
		switch {
		case x.next == "":
			if len(pending) != 0 || c.Get("/api/schedules/"+schedule).Want(200).Data().Get("disabled_at").IsNull() {
				t.Errorf("%s: the schedule goes on", x.body)
			}
			c.Post("/api/schedules/"+schedule+"/enable", nil).WantProblem(422)
		case len(pending) != 1:
			t.Errorf("%s: %d pending runs", x.body, len(pending))
		case x.next == "grid":
			due, _ := time.Parse(time.RFC3339Nano, first.Get("job.scheduled_at").Str())
			wantSame(t, x.body, pending[0].Get("job.scheduled_at"), `"`+due.AddDate(0, 0, 7).Format("2006-01-02T15:04:05.000000Z")+`"`)
		default:
			wantSame(t, x.body, pending[0].Get("job.scheduled_at"), x.next)
		}
	}
}

func TestOutcome_FailInAResponseFailsTheAttempt(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"$fail":"` + strings.Repeat("é", 1200) + `","$set":{"a":1}}`))
	_, payload := finished(t, c, `{"url":"`+target.URL+`","retries":0}`, "discarded")
	wantKeys(t, "the response's log", payload, "status", "headers", "body", "duration_ms", "truncated", "error", "attempt", "retry_at")
	wantSame(t, "the error", payload.Get("error"), `{"kind":"answer","message":"`+strings.Repeat("é", 1000)+`"}`)
}

func TestCompletion_CopyRefusesAwaitingJobs(t *testing.T) {
	t.Parallel()
	owner, _ := completions(t)
	accepting(t, owner.Client, `"completion":{"within":60}`)
	owner.Service.Stop()
	result := harness.Command(t, nil, "copy", "--from", owner.Service.DatabaseURL, "--to", harness.NewDatabase(t))
	if output := result.Stdout + result.Stderr; result.Code == 0 || !strings.Contains(output, "can't be copied (found 1)") {
		t.Errorf("the copy ends with %d: %s", result.Code, output)
	}
}
