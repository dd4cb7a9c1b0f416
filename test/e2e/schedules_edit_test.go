package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestScheduleEdit_NewFrequencyReschedulesThePendingRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":[1,"hour"],"name":"n","idempotency_key":"k"`)
	for _, x := range []struct{ body, frequency, due, args string }{
		{`{"cron":"0 9 * * *","timezone":"Europe/Berlin"}`, `{"cron":"0 9 * * *","timezone":"Europe/Berlin"}`,
			`"2031-05-07T07:00:00.000000Z"`,
			`{"url":"https://example.com/hook","scheduled_at":"` + far +
				`","cron":"0 9 * * *","timezone":"Europe/Berlin","method":"get","headers":{}}`},
		{`{"cron":"30 * * * *","timezone":null}`, `{"cron":"30 * * * *"}`, `"2031-05-06T07:30:00.000000Z"`,
			`{"url":"https://example.com/hook","scheduled_at":"` + far + `","cron":"30 * * * *","method":"get","headers":{}}`},
		{`{"repeat_every":[2,"days"],"description":"d"}`, `{"repeat_every":[2,"days"]}`, `"2031-05-06T07:08:09.000000Z"`,
			`{"url":"https://example.com/hook","scheduled_at":"` + far + `","repeat_every":[2,"days"],"method":"get","headers":{}}`},
	} {
		schedule := edit(a.Client, path, x.body).Want(200).Data()
		wantSame(t, "frequency", schedule.Get("frequency"), x.frequency)
		wantSame(t, "args", schedule.Get("args"), x.args)
		wantSame(t, "read", a.Get(path).Want(200).Data(), schedule.Raw())
		left := unfinished(a.Client, job.Get("schedule_id").Str())
		if len(left) != 1 {
			t.Fatalf("want one unfinished job: %s", left)
		}
		wantSame(t, "the same job", left[0].Get("id"), job.Get("id").Raw())
		wantSame(t, "due", left[0].Get("job.scheduled_at"), x.due)
		wantSame(t, "args of the run", left[0].Get("args"), x.args)
	}
	wantSame(t, "key", a.Get(jobPath(job)).Want(200).Data().Get("idempotency_key"), `"k"`)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
	next := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(next) != 1 {
		t.Fatalf("want one unfinished job: %s", next)
	}
	wantSame(t, "the run after it", next[0].Get("job.scheduled_at"), `"2031-05-08T07:08:09.000000Z"`)
	wantSame(t, "description", next[0].Get("description"), `"d"`)
}

func TestScheduleEdit_NewNameAppliesToThePendingRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60,"name":"old","description":"old"`)
	schedule := edit(a.Client, path, `{"name":"new","description":null}`).Want(200).Data()
	run := a.Get(jobPath(job)).Want(200).Data()
	for _, record := range []harness.JSON{schedule, run} {
		wantSame(t, "name", record.Get("name"), `"new"`)
		wantSame(t, "description", record.Get("description"), "null")
		wantSame(t, "args", record.Get("args"), job.Get("args").Raw())
	}
	wantSame(t, "the timing", run.Get("job"), job.Get("job").Raw())
}

func TestScheduleEdit_DisabledScheduleKeepsItsNewFrequency(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	a.Post(path+"/disable", nil).Want(200)
	edit(a.Client, path, `{"cron":"0 0 1 1 *"}`).Want(200)
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Errorf("a disabled schedule has unfinished jobs: %s", left)
	}
	a.Post(path+"/enable", nil).Want(200)
	left := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(left) != 1 {
		t.Fatalf("want one unfinished job: %s", left)
	}
	wantSame(t, "due", left[0].Get("job.scheduled_at"), `"2032-01-01T00:00:00.000000Z"`)
}

func TestScheduleEdit_RefusesReadOnlyFields(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	before := a.Get(path).Want(200).Data()
	for body, pointers := range map[string][]string{
		`[]`: {"#"}, `{"idempotency_key":"k"}`: {"#/idempotency_key"}, `{"url":null}`: {"#/url"}, `{"repeat_every":0}`: {"#/repeat_every"},
		`{"cron":"* * * * *","repeat_every":1}`: {"#/cron", "#/repeat_every"}, `{"timezone":"UTC"}`: {"#/timezone"},
		`{"cron":"x","timezone":"Nowhere","name":1}`: {"#/cron", "#/timezone", "#/name"},
	} {
		edit(a.Client, path, body).WantPointers(pointers...)
	}
	edit(account(t).Client, path, `{"name":"x"}`).WantProblem(404)
	wantSame(t, "the schedule", a.Get(path).Want(200).Data(), before.Raw())
	wantSame(t, "the job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
}

func TestScheduleEdit_StateIsReadReplacedAndCleared(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"$set":{"b":2.50},"last":7}`))
	job := create(a.Client, `{"method":"post","url":"`+target.URL+`","body":{},"scheduled_at":"`+far+`","repeat_every":[1,"hour"]}`)
	path := "/api/schedules/" + job.Get("schedule_id").Str() + "/state"
	wantSame(t, "none", a.Get(path).Want(200).JSON, `{"data":{"state":{},"previous":null}}`)
	put := func(body string) *harness.Answer { return a.Do(http.MethodPut, path, body) }
	wantSame(t, "put", put(`{ "a": 1.10, "n": 12345678901234567890 }`).Want(200).JSON,
		`{"data":{"state":{"a":1.10,"n":12345678901234567890},"previous":null}}`)
	a.Post(jobPath(job)+"/run", nil).Want(200)
	awaitState(t, a.Client, job, "completed")
	wantSame(t, "seen by the run", target.Hits()[0].JSON().Get("$state"), `{"a":1.10,"n":12345678901234567890}`)
	wantSame(t, "after the run", a.Get(path).Want(200).Data(),
		`{"state":{"a":1.10,"n":12345678901234567890,"b":2.50},"previous":{"$set":{"b":2.50},"last":7}}`)
	for _, body := range []string{`[]`, `"x"`, `null`, `{"a":"` + strings.Repeat("x", 64<<10) + `"}`} {
		put(body).WantPointers("#")
	}
	put(`{"a":1,"a":2}`).WantProblem(400)
	put(`{"a":"` + strings.Repeat("x", (64<<10)-8) + `"}`).Want(200)
	a.Do(http.MethodDelete, path, nil).Want(204)
	a.Do(http.MethodDelete, path, nil).Want(204)
	wantSame(t, "cleared", a.Get(path).Want(200).Data().Get("state"), `{}`)
	wantSame(t, "previous stays", a.Get(path).Want(200).Data().Get("previous.last"), `7`)
	other := account(t)
	other.Get(path).WantProblem(404)
	other.Do(http.MethodPut, path, `{}`).WantProblem(404)
	other.Do(http.MethodDelete, path, nil).WantProblem(404)
}

// TestScheduleEdit_RaceWithFinish changes a schedule at about the time its run
// is claimed, sent and finished: there is always one unfinished job, and the
// last one matches the schedule.
func TestScheduleEdit_RaceWithFinish(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	race(t, rounds(700), nil, func(r *rand.Rand, n int) error {
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"repeat_every":[1,"hour"],"url":"%s"}`, r.Float64()*0.2,
			target.URL))
		if err != nil {
			return err
		}
		aside(r, 220*time.Millisecond)
		for _, body := range []string{`{"repeat_every":[3,"hours"]}`, `{"repeat_every":[2,"hours"],"name":"n"}`} {
			if answer, err := a.Try(http.MethodPatch, schedulePath(job), body); err != nil || answer.Status != 200 {
				return fmt.Errorf("changing: %v %v", answer, err)
			}
			aside(r, 5*time.Millisecond)
		}
		left, err := try(a.Client, http.MethodGet, "/api/jobs?limit=100&schedule_id="+job.Get("schedule_id").Str())
		if err != nil {
			return err
		}
		if n := countUnfinished(left); n != 1 {
			return fmt.Errorf("%d unfinished jobs: %s", n, left.Raw())
		}
		return nil
	})
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinished(t, l, 1)
	for id, job := range l.jobs {
		if job.Get("job.state").Str() == "available" &&
			(job.Get("args.repeat_every").Raw() != `[2,"hours"]` || job.Get("name").Raw() != `"n"`) {
			t.Errorf("the pending run %d is not of the schedule as it is: %s", id, job.Raw())
		}
	}
}

func countUnfinished(list harness.JSON) int {
	n := 0
	for _, record := range list.Items() {
		switch record.Get("job.state").Str() {
		case "available", "retryable", "executing":
			n++
		}
	}
	return n
}

func edit(c *harness.Client, path, body string) *harness.Answer {
	return c.Do(http.MethodPatch, path, body)
}
