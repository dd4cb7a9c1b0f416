package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestRunNowFiresAPendingJobAtOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","scheduled_at":"`+far+`","name":"n"}`)
	before := time.Now()
	now := a.Post(jobPath(job)+"/run", "not read").Want(200).Data()
	wantBetween(t, "due", instant(t, now.Get("job.scheduled_at")), before, time.Now())
	wantSame(t, "args", now.Get("args"), job.Get("args").Raw())
	done := awaitState(t, a.Client, job, "completed")
	wantBetween(t, "attempted", instant(t, done.Get("job.attempted_at")), before, time.Now())
	target.Await(t, 1, soon)
	final := a.Post(jobPath(job)+"/run", nil).WantProblem(422)
	wantSame(t, "afterwards", a.Get(jobPath(job)).Want(200).Data(), done.Raw())
	if final.JSON.Get("errors").Exists() {
		t.Errorf("a problem without a place has one: %s", final)
	}
}

func TestRunNowMakesTheNextAttemptOfARetryableJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	failed := awaitState(t, a.Client, job, "retryable")
	now := a.Post(jobPath(job)+"/run", nil).Want(200).Data()
	wantSame(t, "due", now.Get("job.scheduled_at"), failed.Get("job.scheduled_at").Raw())
	awaitState(t, a.Client, job, "completed")
	if got := target.Hits()[1].Header.Get("X-Punctual-Attempt"); got != "2" {
		t.Errorf("the attempt made now is %s, want 2", got)
	}
}

func TestRunNowLeavesAnExecutingJobAlone(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	before := a.Get(jobPath(job)).Want(200).Data()
	wantSame(t, "run", a.Post(jobPath(job)+"/run", nil).Want(200).Data(), before.Raw())
	release()
	awaitState(t, a.Client, job, "completed")
	if n := len(target.Hits()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

func TestARunOfAScheduleMadeNowLeavesTheGridAlone(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","scheduled_at":"`+far+`","repeat_every":[1,"hour"]}`)
	a.Post(jobPath(job)+"/run", nil).Want(200)
	awaitState(t, a.Client, job, "completed")
	left := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(left) != 1 {
		t.Fatalf("want the next run stored: %s", left)
	}
	wantSame(t, "the next run", left[0].Get("job.scheduled_at"), `"2031-05-06T07:08:09.000000Z"`)
}

func TestRerunMakesTheSameRequestOnceAsANewJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","method":"POST","body":{"n":1.10},"query":{"a":1},"scheduled_at":"`+far+
		`","cron":"0 9 * * *","timezone":"Europe/Berlin","idempotency_key":"k","name":"n","description":"d","retries":0}`)
	answer := a.Post(jobPath(job)+"/rerun", nil).Want(201)
	again := answer.Data()
	if got := answer.Header.Get("Location"); got != jobPath(again) || got == jobPath(job) {
		t.Errorf("Location is %s", got)
	}
	wantSame(t, "schedule_id", again.Get("schedule_id"), "null")
	wantSame(t, "key", again.Get("idempotency_key"), "null")
	wantSame(t, "name", again.Get("name"), `"n"`)
	wantSame(t, "description", again.Get("description"), `"d"`)
	wantSame(t, "args", again.Get("args"), `{"url":"`+target.URL+`","method":"post","body":{"n":1.10},"query":{"a":1},"retries":0,"headers":{}}`)
	awaitState(t, a.Client, again, "completed")
	wantSame(t, "the first job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
	a.Post(jobPath(again)+"/rerun", nil).Want(201)
}

func reschedule(c *harness.Client, path, body string) *harness.Answer {
	return c.Post(path+"/reschedule", body)
}

func TestMovingAJobGivesItAnotherDueTime(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","schedule_in":[1,"week"],"idempotency_key":"k"}`)
	moved := reschedule(a.Client, jobPath(job), `{"scheduled_at":"2031-05-06T09:08:09+02:00"}`).Want(200).Data()
	wantSame(t, "due", moved.Get("job.scheduled_at"), `"2031-05-06T07:08:09.000000Z"`)
	wantSame(t, "args", moved.Get("args"), `{"url":"`+target.URL+`","scheduled_at":"2031-05-06T09:08:09+02:00","method":"get","headers":{}}`)
	wantSame(t, "read", a.Get(jobPath(job)).Want(200).Data(), moved.Raw())
	wantSame(t, "found by key", a.Get("/api/jobs?idempotency_key=k").Want(200).Data().Get("0"), moved.Raw())
	sooner := reschedule(a.Client, jobPath(moved), `{"schedule_in":0.2}`).Want(200).Data()
	due := instant(t, sooner.Get("job.scheduled_at"))
	done := awaitState(t, a.Client, job, "completed")
	if attempted := instant(t, done.Get("job.attempted_at")); attempted.Before(due) {
		t.Errorf("attempted at %s, due %s", attempted, due)
	}
	reschedule(a.Client, jobPath(job), `{"scheduled_at":"`+far+`"}`).WantPointers("#/scheduled_at")
	wantSame(t, "after the refusal", a.Get(jobPath(job)).Want(200).Data(), done.Raw())
}

func TestMovingRefusesWhatIsNoDueTimeAndChangesNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, waiting)
	for body, pointers := range map[string][]string{
		`{}`: {"#"}, `[]`: {"#"}, `{"schedule_in":-1}`: {"#/schedule_in"}, `{"url":"https://example.com"}`: {"#/url"},
		`{"schedule_in":1,"scheduled_at":2}`: {"#/schedule_in", "#/scheduled_at"}, `{"schedule_on":1}`: {"#/schedule_on"},
	} {
		reschedule(a.Client, jobPath(job), body).WantPointers(pointers...)
	}
	reschedule(a.Client, jobPath(job), `{`).WantProblem(400)
	reschedule(account(t).Client, jobPath(job), `{"schedule_in":1}`).WantProblem(404)
	wantSame(t, "the job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
}

func TestCancellingSeveralJobs(t *testing.T) {
	t.Parallel()
	a := account(t)
	first, second, kept := create(a.Client, waiting), create(a.Client, with(waiting, `"repeat_every":60`)), create(a.Client, waiting)
	ids := fmt.Sprintf(`[%d,%s,"%d",%s]`, first.Get("job_id").Int(), second.Get("id").Raw(), first.Get("job_id").Int(), first.Get("id").Raw())
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

func TestCancellingSeveralJobsRefusesWhatIsNoListOfIds(t *testing.T) {
	t.Parallel()
	a := account(t)
	many := "1"
	for range 100 {
		many += ",1"
	}
	for body, pointers := range map[string][]string{
		`{}`: {"#/job_ids"}, `[1]`: {"#"}, `{"job_ids":[]}`: {"#/job_ids"}, `{"job_ids":1}`: {"#/job_ids"}, `{"job_ids":[` + many + `]}`: {"#/job_ids"},
		`{"job_ids":[1,0,"x",1.5,null,{}]}`: {"#/job_ids/1", "#/job_ids/2", "#/job_ids/3", "#/job_ids/4", "#/job_ids/5"},
		`{"ids":[1]}`:                       {"#/ids"}, `{"job_ids":[1],"x":1}`: {"#/x"}, `{"job_ids":null}`: {"#/job_ids"},
	} {
		a.Post("/api/jobs/cancel", body).WantPointers(pointers...)
	}
}

// mayFail makes a call that may be refused because it comes too late.
func mayFail(c *harness.Client, method, path, body string) error {
	answer, err := c.Try(method, path, body)
	if err == nil && answer.Status != 200 && answer.Status != 422 {
		err = fmt.Errorf("%s %s: %s", method, path, answer)
	}
	return err
}

func TestRaceOfRunNowAndFire(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	race(t, 1000, func(r *rand.Rand, n int) error {
		every := ""
		if n%2 == 0 {
			every = `,"repeat_every":[1,"hour"]`
		}
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"%s}`, r.Float64()*0.2, target.URL, every))
		if err != nil {
			return err
		}
		aside(r, 200*time.Millisecond)
		return mayFail(a.Client, http.MethodPost, jobPath(job)+"/run", "")
	})
	settle(t, a.Client)
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinishedOfSchedules(t, l)
}

// settle waits until nothing is due within a minute.
func settle(t *testing.T, c *harness.Client) {
	t.Helper()
	harness.Eventually(t, soon, "nothing to be due within a minute", func() bool {
		first := c.Get("/api/jobs?state=scheduled&limit=1&order_by=scheduled_at,asc").Want(200).Data().Get("0.job.scheduled_at")
		return !first.Exists() || instant(t, first).After(time.Now().Add(time.Minute))
	})
}

// wantUnfinishedOfSchedules wants every schedule to have one unfinished job, and
// every other job to be final.
func wantUnfinishedOfSchedules(t *testing.T, l *ledger) {
	t.Helper()
	for id, job := range l.jobs {
		if job.Get("schedule_id").IsNull() {
			if job.Get("job.state").Str() == "available" {
				t.Errorf("job %d was never fired: %s", id, job.Raw())
			}
			delete(l.jobs, id)
		}
	}
	wantUnfinished(t, l, 1)
}

func TestRaceOfMovingAndFire(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	var mu sync.Mutex
	late := map[string]int{}
	race(t, 1000, func(r *rand.Rand, n int) error {
		every := ""
		if n%2 == 0 {
			every = `,"repeat_every":[1,"hour"]`
		}
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"%s}`, r.Float64()*0.2, target.URL, every))
		if err != nil {
			return err
		}
		aside(r, 200*time.Millisecond)
		answer, err := a.Try(http.MethodPost, jobPath(job)+"/reschedule", fmt.Sprintf(`{"schedule_in":%.4f}`, r.Float64()*0.3))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		late[fmt.Sprint(answer.Status)]++
		if answer.Status != 200 && answer.Status != 422 {
			return fmt.Errorf("moving: %s", answer)
		}
		return nil
	})
	settle(t, a.Client)
	l := takeLedger(t, a.Client, target)
	t.Logf("%v %v", l.check(t), late)
	if late["200"] == 0 || late["422"] == 0 {
		t.Errorf("the two never met: %v", late)
	}
	wantUnfinishedOfSchedules(t, l)
}

func TestRaceOfBulkCancelAndFire(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	race(t, 100, func(r *rand.Rand, _ int) error {
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
		}
		return nil
	})
	settle(t, a.Client)
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinishedOfSchedules(t, l)
}
