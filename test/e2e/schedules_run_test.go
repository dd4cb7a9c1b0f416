package e2e

import (
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// ticks returns the due times of requests, in seconds after the first due time
// of their schedule.
func ticks(t *testing.T, first harness.JSON, hits []harness.Hit) []float64 {
	t.Helper()
	due := instant(t, first.Get("job.scheduled_at"))
	var ticks []float64
	for _, hit := range hits {
		ticks = append(ticks, scheduledAt(t, hit).Sub(due).Seconds())
	}
	return ticks
}

// wantFollowing verifies that each run of a schedule with an interval of a second is
// the one that follows the run before, by the times in its record: a busy machine may
// record an end late, and so pass over points.
func wantFollowing(t *testing.T, c *harness.Client, first harness.JSON, hits []harness.Hit) {
	t.Helper()
	base, got := instant(t, first.Get("job.scheduled_at")), ticks(t, first, hits)
	for i, hit := range hits[1:] {
		before := c.Get("/api/jobs/" + hits[i].Header.Get("X-Punctual-Job-Id")).Want(200).Data()
		began, ended := instant(t, before.Get("job.attempted_at")).Sub(base), instant(t, before.Get("job.completed_at")).Sub(base)
		want := got[i] + 1
		if ended.Seconds() >= want { // that point has passed: the latest one since the start, or the next ahead
			if want = math.Floor(ended.Seconds()); want <= began.Seconds() {
				want++
			}
		}
		if got[i+1] != want {
			t.Errorf("runs were due %v s after the first; want %v after %v, which took from %s to %s", got, want, got[i], began, ended)
		}
		if hit.At.Before(scheduledAt(t, hit)) {
			t.Errorf("run %d was made at %s, before it was due", i+1, hit.At)
		}
	}
}

func wantTicks(t *testing.T, first harness.JSON, hits []harness.Hit, want ...float64) {
	t.Helper()
	got := ticks(t, first, hits)
	if !slices.Equal(got[:min(len(want), len(got))], want) {
		t.Errorf("runs were due %v s after the first, want %v", got, want)
	}
	for i, hit := range hits {
		if hit.At.Before(scheduledAt(t, hit)) {
			t.Errorf("run %d was made at %s, before it was due", i, hit.At)
		}
	}
}

func TestScheduleRun_EachIsAJobAndOneIsAlwaysUnfinished(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(300*time.Millisecond, harness.Status(200)))
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	schedule := first.Get("schedule_id").Str()
	looks := 0
	harness.Eventually(t, soon, "four runs", func() bool {
		if left := unfinished(a.Client, schedule); len(left) != 1 {
			t.Errorf("want one unfinished job: %s", left)
		}
		looks++
		return len(target.Hits()) >= 4
	})
	a.Post("/api/schedules/"+schedule+"/disable", nil).Want(200)
	hits := target.Hits()
	wantFollowing(t, a.Client, first, hits[:4])
	seen := map[string]bool{}
	for _, hit := range hits {
		id := hit.Header.Get("X-Punctual-Job-Id")
		job := a.Get("/api/jobs/" + id).Want(200).Data()
		wantSame(t, "schedule_id", job.Get("schedule_id"), quote(schedule))
		seen[id] = true
	}
	if len(seen) != len(hits) {
		t.Errorf("%d runs have %d jobs", len(hits), len(seen))
	}
	t.Logf("looked %d times", looks)
}

func TestScheduleRun_NextIsCreatedWhenTheLastEnds(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	for name, test := range map[string]struct {
		state   string
		handler http.Handler
	}{"completed": {"completed", harness.Status(200)}, "discarded": {"discarded", harness.Status(500)}} {
		target.Respond(test.handler)
		job := create(a.Client, `{"retries":0,"repeat_every":[1,"hour"],"url":"`+target.URL+`"}`)
		awaitState(t, a.Client, job, test.state)
		left := unfinished(a.Client, job.Get("schedule_id").Str())
		if len(left) != 1 {
			t.Fatalf("%s: want one unfinished job: %s", name, left)
		}
		due := instant(t, job.Get("job.scheduled_at")).Add(time.Hour)
		if got := instant(t, left[0].Get("job.scheduled_at")); !got.Equal(due) {
			t.Errorf("%s: the next is due %s, want %s", name, got, due)
		}
	}
}

// TestScheduleRun_LongOneIsFollowedByOneLateRun blocks the first run for three
// ticks.
func TestScheduleRun_LongOneIsFollowedByOneLateRun(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Delay(3500*time.Millisecond, harness.Status(200)))
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	hits := target.Await(t, 4, soon)
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	wantFollowing(t, a.Client, first, hits)
	if second := ticks(t, first, hits)[1]; second < 3 {
		t.Errorf("the second run was due %v s after the first", second)
	}
	for i := 1; i < len(hits); i++ {
		if hits[i].At.Before(hits[i-1].End) {
			t.Errorf("run %d began before run %d had ended", i, i-1)
		}
	}
}

func TestScheduleRun_EndingBeforeTheNextTickDelaysNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.Respond(harness.Delay(700*time.Millisecond, harness.Status(200)))
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	wantFollowing(t, a.Client, first, target.Await(t, 4, soon))
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
}

func TestScheduleRun_DowntimeIsFollowedByOneLateRun(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*harness.Service){
		"stopped": func(s *harness.Service) { s.Stop() }, "killed": func(s *harness.Service) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t)
			c := s.Account(t).Client
			target := harness.SharedTarget(t).Route(t)
			first := create(c, `{"schedule_in":5,"repeat_every":1,"url":"`+target.URL+`"}`)
			due := instant(t, first.Get("job.scheduled_at"))
			stop(s)
			passed(t, due.Add(3300*time.Millisecond))
			s.Restart(t)
			hits := target.Await(t, 3, soon)
			c.Post(schedulePath(first)+"/disable", nil).Want(200)
			if got := scheduledAt(t, hits[0]); !got.Equal(due) {
				t.Errorf("the late run is the one due %s, want %s", got, due)
			}
			wantFollowing(t, c, first, hits)
		})
	}
}

func TestScheduleRun_RetryDueAtOrAfterTheNextRunIsDropped(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	first := create(a.Client, `{"repeat_every":60,"backoff":[60],"url":"`+target.URL+`"}`)
	discarded := awaitState(t, a.Client, first, "discarded")
	logs := logsOf(a.Client, discarded)
	wantEvents(t, logs, "http.request", "http.response")
	wantSame(t, "retry_at", logs[1].Get("payload.retry_at"), "null")
	left := unfinished(a.Client, first.Get("schedule_id").Str())
	if len(left) != 1 || !instant(t, left[0].Get("job.scheduled_at")).Equal(instant(t, first.Get("job.scheduled_at")).Add(time.Minute)) {
		t.Errorf("the next run does not stand: %s", left)
	}
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
}

func TestScheduleRun_RetryDueBeforeTheNextRunIsMade(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	first := create(a.Client, `{"repeat_every":30,"url":"`+target.URL+`"}`)
	retryable := awaitState(t, a.Client, first, "retryable")
	if left := unfinished(a.Client, first.Get("schedule_id").Str()); len(left) != 1 || left[0].Raw() != retryable.Raw() {
		t.Errorf("want the retryable job to be the unfinished one: %s", left)
	}
	target.Await(t, 2, 2*soon)
	awaitState(t, a.Client, first, "completed")
	hits := target.Await(t, 3, 30*time.Second+soon)
	wantTicks(t, first, hits, 0, 0, 30)
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
}

func TestScheduleRun_RetryableOneIsCancelledByDisableOrDelete(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, how := range []string{"disable", "delete"} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
		job := create(a.Client, `{"repeat_every":[1,"day"],"backoff":[3600],"url":"`+target.URL+`"}`)
		awaitState(t, a.Client, job, "retryable")
		stopSchedule(a.Client, job, how)
		cancelled := a.Get(jobPath(job)).Want(200).Data()
		wantSame(t, how, cancelled.Get("job.state"), `"cancelled"`)
		wantTimes(t, cancelled, "attempted_at", "cancelled_at")
		if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
			t.Errorf("%s left unfinished jobs: %s", how, left)
		}
	}
}

// stopSchedule disables or deletes the schedule of a job.
func stopSchedule(c *harness.Client, job harness.JSON, how string) {
	if how == "delete" {
		c.Do("DELETE", schedulePath(job), nil).Want(204)
		return
	}
	c.Post(schedulePath(job)+"/disable", nil).Want(200)
}
