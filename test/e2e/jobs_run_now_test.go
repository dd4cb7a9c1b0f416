package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestRunNow_StartsAPendingJobAtOnce(t *testing.T) {
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

func TestRunNow_MakesTheNextAttemptOfARetryableJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	job := create(a.Client, `{"backoff":[3600],"url":"`+target.URL+`"}`)
	failed := awaitState(t, a.Client, job, "retryable")
	now := a.Post(jobPath(job)+"/run", nil).Want(200).Data()
	wantSame(t, "due", now.Get("job.scheduled_at"), failed.Get("job.scheduled_at").Raw())
	awaitState(t, a.Client, job, "completed")
	if got := target.Hits()[1].Header.Get("X-Punctual-Attempt"); got != "2" {
		t.Errorf("the attempt made now is %s, want 2", got)
	}
}

func TestRunNow_LeavesAnExecutingJobUnchanged(t *testing.T) {
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

func TestRunNow_OfARunKeepsTheGrid(t *testing.T) {
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

func TestRunNow_RaceWithStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(2*time.Millisecond, harness.Status(200)))
	race(t, rounds(1000), nil, func(r *rand.Rand, n int) error {
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
	l := takeLedger(t, a.Client, target)
	t.Logf("%v", l.check(t))
	wantUnfinishedOfSchedules(t, l)
}
