package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// cancel cancels a job and returns the record of the response.
func cancel(c *harness.Client, job harness.JSON) harness.JSON {
	return c.Post(jobPath(job)+"/cancel", nil).Want(200).Data()
}

// wantTimes fails the test unless exactly these timestamps of a job are set.
func wantTimes(t *testing.T, job harness.JSON, set ...string) {
	t.Helper()
	is := map[string]bool{}
	for _, name := range set {
		is[name] = true
	}
	for _, name := range []string{"attempted_at", "cancelled_at", "completed_at", "discarded_at"} {
		if got := job.Get("job." + name).Str(); (got != "") != is[name] {
			t.Errorf("%s of a %s job is %q", name, job.Get("job.state").Str(), got)
		}
	}
}

func TestCancel_AvailableJobIsNeverAttempted(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := cancel(a.Client, create(a.Client, waiting))
	wantSame(t, "state", job.Get("job.state"), `"cancelled"`)
	wantTimes(t, job, "cancelled_at")
	wantEvents(t, logsOf(a.Client, job))
}

func TestCancel_RetryableJobIsNotRetried(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	job := awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "retryable")
	wantTimes(t, job, "attempted_at")
	cancelled := cancel(a.Client, job)
	wantTimes(t, cancelled, "attempted_at", "cancelled_at")
	wantSame(t, "attempted_at stays", cancelled.Get("job.attempted_at"), job.Get("job.attempted_at").Raw())
	if !target.Quiet(12 * time.Second) {
		t.Error("a cancelled job was tried again")
	}
	wantSame(t, "read later", a.Get(jobPath(job)).Want(200).Data(), cancelled.Raw())
	wantEvents(t, logsOf(a.Client, job), "http.request", "http.response")
}

func TestCancel_AbortsAndLogsARequestUnderWay(t *testing.T) {
	t.Parallel()
	a := account(t)
	for name, handler := range map[string]http.Handler{
		"before the answer": harness.Hang(), "within the answer": harness.HangInBody(200, "half"),
	} {
		t.Run(name, func(t *testing.T) {
			c := a.For(t)
			target := harness.SharedTarget(t).Route(t).Respond(handler)
			job := create(c, `{"timeout":900,"url":"`+target.URL+`"}`)
			target.Await(t, 1, soon)
			cancelled := cancel(c, job)
			wantTimes(t, cancelled, "attempted_at", "cancelled_at")
			if hit := target.AwaitEnds(t, 1, soon)[0]; !hit.Aborted {
				t.Error("the request was not aborted")
			}
			logs := logsOf(c, job)
			wantEvents(t, logs, "http.request", "http.error")
			wantSame(t, "kind", logs[1].Get("payload.kind"), `"cancelled"`)
			wantSame(t, "retry_at", logs[1].Get("payload.retry_at"), "null")
			wantSame(t, "read later", c.Get(jobPath(job)).Want(200).Data(), cancelled.Raw())
			if !target.Quiet(time.Second) {
				t.Error("a cancelled job was tried again")
			}
		})
	}
}

func TestCancel_ExecutingRunCreatesTheNext(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	job := create(a.Client, `{"repeat_every":1,"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	cancel(a.Client, job)
	target.Await(t, 2, soon)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	runs := runsOf(t, a.Client, job.Get("schedule_id").Str())
	wantSame(t, "the first", runs[0].Get("job.state"), `"cancelled"`)
	harness.Eventually(t, soon, "the second run to end and none to follow", func() bool {
		return len(unfinished(a.Client, job.Get("schedule_id").Str())) == 0
	})
}

func TestCancel_FreesTheJobsSlot(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "1"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Hang(), harness.Hang(), harness.Hang())
	for range 3 {
		n := len(target.Hits())
		job := create(c, `{"timeout":900,"url":"`+target.URL+`"}`)
		target.Await(t, n+1, soon)
		cancel(c, job)
	}
	finished(t, c, `{"url":"`+target.URL+`"}`, "completed")
}

func TestCancel_PendingRunCreatesTheNextAtOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"schedule_in":4,"repeat_every":1,"url":"`+target.URL+`"}`)
	cancel(a.Client, job)
	hit := target.Await(t, 1, soon)[0]
	if want := instant(t, job.Get("job.scheduled_at")).Add(time.Second); !scheduledAt(t, hit).Equal(want) {
		t.Errorf("after a skipped run the one due %s was made, want %s", scheduledAt(t, hit), want)
	}
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
}

func TestCancel_SeveralJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	first, second, kept := create(a.Client, waiting), create(a.Client, with(waiting, `"repeat_every":60`)), create(a.Client, waiting)
	ids := fmt.Sprintf(`[%d,%s,"%d",%s]`, first.Get("job_id").Int(), second.Get("id").Raw(), first.Get("job_id").Int(),
		first.Get("id").Raw())
	foreign := create(account(t).Client, waiting)
	for _, unknown := range []string{noInt, `"` + noUUID + `"`, foreign.Get("job_id").Raw(), foreign.Get("id").Raw()} {
		answer := a.Post("/api/jobs/cancel", `{"job_ids":[`+ids[1:len(ids)-1]+`,`+unknown+`]}`).WantProblem(404)
		if p := answer.Problems(); len(p) != 1 || p[0].Pointer != "#/job_ids/4" {
			t.Errorf("the problems are %v", p)
		}
	}
	wantSame(t, "after refusals", a.Get(jobPath(first)).Want(200).Data(), first.Raw())
	got := a.Post("/api/jobs/cancel", `{"job_ids":`+ids+`}`).Want(200).Data().Items()
	if len(got) != 4 {
		t.Fatalf("%d records, want 4", len(got))
	}
	for i, want := range []harness.JSON{first, second, first, first} {
		wantSame(t, "id", got[i].Get("id"), want.Get("id").Raw())
		wantSame(t, "state", got[i].Get("job.state"), `"cancelled"`)
	}
	if left := unfinished(a.Client, second.Get("schedule_id").Str()); len(left) != 1 {
		t.Errorf("the schedule has the unfinished jobs %s, want one", left)
	}
	wantSame(t, "one that was not named", a.Get(jobPath(kept)).Want(200).Data(), kept.Raw())
	again := a.Post("/api/jobs/cancel", `{"job_ids":`+ids+`}`).Want(200).Data().Items()
	wantSame(t, "cancelled again", again[0], got[0].Raw())
}

func TestCancel_SeveralJobsRefusesAnInvalidListOfIDs(t *testing.T) {
	t.Parallel()
	a := account(t)
	many := "1"
	for range 100 {
		many += ",1"
	}
	for body, pointers := range map[string][]string{
		`{}`: {"#/job_ids"}, `[1]`: {"#"}, `{"job_ids":[]}`: {"#/job_ids"}, `{"job_ids":1}`: {"#/job_ids"},
		`{"job_ids":[` + many + `]}`:        {"#/job_ids"},
		`{"job_ids":[1,0,"x",1.5,null,{}]}`: {"#/job_ids/1", "#/job_ids/2", "#/job_ids/3", "#/job_ids/4", "#/job_ids/5"},
		`{"ids":[1]}`:                       {"#/ids"}, `{"job_ids":[1],"x":1}`: {"#/x"}, `{"job_ids":null}`: {"#/job_ids"},
	} {
		a.Post("/api/jobs/cancel", body).WantPointers(pointers...)
	}
}

func TestCancel_SeveralJobsRaceWithStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	o := outcomesOf("cancelled", "cancelled after an attempt", "completed after an attempt")
	race(t, 100, o, func(r *rand.Rand, _ int) error {
		ids := ""
		for n := range 10 {
			every := ""
			if n%2 == 0 {
				every = `,"repeat_every":[1,"hour"]`
			}
			job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"%s}`, r.Float64()*0.1, target.URL, every))
			if err != nil {
				return err
			}
			ids += "," + job.Get("job_id").Raw()
		}
		aside(r, 100*time.Millisecond)
		answer, err := a.Try(http.MethodPost, "/api/jobs/cancel", `{"job_ids":[`+ids[1:]+`]}`)
		if err != nil {
			return err
		}
		for _, record := range answer.Want(200).Data().Items() {
			if state := record.Get("job.state").Str(); state != "cancelled" && state != "completed" {
				return fmt.Errorf("cancelled and %s: %s", state, record.Raw())
			}
			o.saw(storyOf(record.Get("job")))
		}
		return nil
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinishedOfSchedules(t, l)
}

func TestCancel_PendingRunIsSkipped(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, _ := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60,"name":"n","description":"d"`)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
	left := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(left) != 1 {
		t.Fatalf("want the next run stored: %s", left)
	}
	next := left[0]
	wantSame(t, "due", next.Get("job.scheduled_at"), `"2031-05-06T07:09:09.000000Z"`)
	wantSame(t, "name", next.Get("name"), `"n"`)
	wantSame(t, "description", next.Get("description"), `"d"`)
	wantSame(t, "args", next.Get("args"), job.Get("args").Raw())
}

func TestCancel_FinalJobIsUnchanged(t *testing.T) {
	t.Parallel()
	a := account(t)
	good := harness.SharedTarget(t).Route(t)
	bad := harness.SharedTarget(t).Route(t).Respond(harness.Status(404))
	completed := awaitState(t, a.Client, create(a.Client, `{"url":"`+good.URL+`"}`), "completed")
	discarded := awaitState(t, a.Client, create(a.Client, `{"retries":0,"url":"`+bad.URL+`"}`), "discarded")
	cancelled := a.Post(jobPath(create(a.Client, waiting))+"/cancel", nil).Want(200).Data()
	for _, job := range []harness.JSON{completed, discarded, cancelled} {
		wantSame(t, "cancel", a.Post(jobPath(job)+"/cancel", nil).Want(200).Data(), job.Raw())
		wantSame(t, "cancel by UUID", a.Post("/api/jobs/"+job.Get("id").Str()+"/cancel", nil).Want(200).Data(), job.Raw())
		wantSame(t, "read", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
	}
}

func TestCancel_AbortsARequestUnderWay(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Hang())
	job := create(a.Client, `{"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	answer := a.Post(jobPath(job)+"/cancel", nil).Want(200)
	wantSame(t, "state", answer.Data().Get("job.state"), `"cancelled"`)
	if hit := target.AwaitEnds(t, 1, soon)[0]; !hit.Aborted {
		t.Error("the request was not aborted")
	}
	awaitState(t, a.Client, job, "cancelled")
}

func TestCancel_JobNeverRuns(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"schedule_in":4,"url":"`+target.URL+`"}`)
	other := create(a.Client, `{"schedule_in":4.2,"url":"`+target.URL+`/other"}`)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
	awaitState(t, a.Client, other, "completed")
	for _, hit := range target.Hits() {
		if hit.Path == target.Path {
			t.Error("a cancelled job ran")
		}
	}
}
