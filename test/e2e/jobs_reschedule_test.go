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

func reschedule(c *harness.Client, path, body string) *harness.Answer {
	return c.Do(http.MethodPatch, path, body)
}

func TestReschedule_ChangesTheDueTime(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","schedule_in":[1,"week"],"idempotency_key":"k"}`)
	moved := reschedule(a.Client, jobPath(job), `{"scheduled_at":"2031-05-06T09:08:09+02:00"}`).Want(200).Data()
	wantSame(t, "due", moved.Get("job.scheduled_at"), `"2031-05-06T07:08:09.000000Z"`)
	wantSame(t, "args", moved.Get("args"), `{"url":"`+target.URL+
		`","scheduled_at":"2031-05-06T09:08:09+02:00","method":"get","headers":{}}`)
	wantSame(t, "read", a.Get(jobPath(job)).Want(200).Data(), moved.Raw())
	wantSame(t, "found by key", a.Get("/api/jobs?idempotency_key=k").Want(200).Data().Get("0"), moved.Raw())
	sooner := reschedule(a.Client, jobPath(moved), `{"schedule_in":0.2}`).Want(200).Data()
	due := instant(t, sooner.Get("job.scheduled_at"))
	done := awaitState(t, a.Client, job, "completed")
	if attempted := instant(t, done.Get("job.attempted_at")); attempted.Before(due) {
		t.Errorf("attempted at %s, due %s", attempted, due)
	}
	reschedule(a.Client, jobPath(job), `{"scheduled_at":"`+far+`"}`).WantProblem(422)
	wantSame(t, "after the refusal", a.Get(jobPath(job)).Want(200).Data(), done.Raw())
}

func TestReschedule_InvalidDueTimeIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, waiting)
	for body, pointers := range map[string][]string{
		`[]`: {"#"}, `{"schedule_in":-1}`: {"#/schedule_in"}, `{"schedule_in":[1,"month"]}`: {"#/schedule_in/1"},
		`{"schedule_in":1,"scheduled_at":2}`: {"#/schedule_in", "#/scheduled_at"}, `{"schedule_on":1}`: {"#/schedule_on"},
	} {
		reschedule(a.Client, jobPath(job), body).WantPointers(pointers...)
	}
	reschedule(a.Client, jobPath(job), `{`).WantProblem(400)
	reschedule(account(t).Client, jobPath(job), `{"schedule_in":1}`).WantProblem(404)
	wantSame(t, "the job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
}

// mayFail makes a call that may be refused because it is too late.
func mayFail(c *harness.Client, method, path, body string) error {
	answer, err := c.Try(method, path, body)
	if err == nil && answer.Status != 200 && answer.Status != 422 {
		err = fmt.Errorf("%s %s: %s", method, path, answer)
	}
	return err
}

// wantUnfinishedOfSchedules fails the test unless every schedule has one
// unfinished job and every other job is final.
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

func TestReschedule_RaceWithStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	var mu sync.Mutex
	late := map[string]int{}
	race(t, rounds(1000), nil, func(r *rand.Rand, n int) error {
		every := ""
		if n%2 == 0 {
			every = `,"repeat_every":[1,"hour"]`
		}
		// On a busy machine, what is due soon has always started before it is moved.
		within := 0.2
		if n%10 > 7 {
			within = 5
		}
		job, err := tryCreate(a.Client, fmt.Sprintf(`{"schedule_in":%.4f,"url":"%s"%s}`, r.Float64()*within, target.URL, every))
		if err != nil {
			return err
		}
		aside(r, 200*time.Millisecond)
		answer, err := a.Try(http.MethodPatch, jobPath(job), fmt.Sprintf(`{"schedule_in":%.4f}`, r.Float64()*0.3))
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
	l := takeLedger(t, a.Client, target)
	t.Logf("%v %v", l.check(t), late)
	if late["200"] == 0 || late["422"] == 0 {
		t.Errorf("the two never met: %v", late)
	}
	wantUnfinishedOfSchedules(t, l)
}
