package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// recurring stores a schedule and gives its first job and its path.
func recurring(c *harness.Client, members string) (job harness.JSON, path string) {
	job = create(c, with(`{"url":"https://example.com/hook"}`, members))
	return job, "/api/schedules/" + job.Get("schedule_id").Str()
}

// unfinished gives the pending and executing jobs of a schedule.
func unfinished(c *harness.Client, schedule string) []harness.JSON {
	var found []harness.JSON
	list := c.Get("/api/jobs?limit=100&schedule_id=" + schedule).Want(200).Data()
	for _, record := range list.Items() {
		switch record.Get("job.state").Str() {
		case "available", "retryable", "executing":
			found = append(found, record)
		}
	}
	return found
}

func TestDisableCancelsThePendingJobAndKeepsItsFirstTimestamp(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	first := a.Post(path+"/disable", nil).Want(200).Data()
	wantMatch(t, "disabled_at", first.Get("disabled_at"), zonedPattern)
	wantSame(t, "the job", a.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"cancelled"`)
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Errorf("a disabled schedule has unfinished jobs: %s", left)
	}
	at, err := time.Parse(time.RFC3339, first.Get("disabled_at").Str())
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "the next second", func() bool { return time.Since(at) > 1100*time.Millisecond })
	wantSame(t, "a second call", a.Post(path+"/disable", nil).Want(200).Data(), first.Raw())
	wantSame(t, "read", a.Get(path).Want(200).Data(), first.Raw())
}

func TestEnableStoresTheNextRunAtTheFirstGridPointFromNowOn(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ name, members, want string }{
		{"a first due time still ahead", `"scheduled_at":"` + far + `","repeat_every":60`, "2031-05-06T07:08:09.000000Z"},
		{"a cron tick after a start ahead", `"scheduled_at":"` + far + `","cron":"0 0 1 1 *"`, "2032-01-01T00:00:00.000000Z"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := a.For(t)
			job, path := recurring(c, test.members)
			c.Post(path+"/disable", nil).Want(200)
			wantSame(t, "disabled_at", c.Post(path+"/enable", nil).Want(200).Data().Get("disabled_at"), "null")
			left := unfinished(c, job.Get("schedule_id").Str())
			if len(left) != 1 || left[0].Get("id").Str() == job.Get("id").Str() {
				t.Fatalf("want one new unfinished job: %s", left)
			}
			wantSame(t, "due", left[0].Get("job.scheduled_at"), quote(test.want))
			before := c.Get(path).Want(200).Data()
			wantSame(t, "a call on an enabled one", c.Post(path+"/enable", nil).Want(200).Data(), before.Raw())
			if again := unfinished(c, job.Get("schedule_id").Str()); len(again) != 1 || again[0].Raw() != left[0].Raw() {
				t.Errorf("a call on an enabled one changed the jobs: %s", again)
			}
		})
	}
}

func TestEnableKeepsToTheGridOfAStartThatHasPassed(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"scheduled_at":"2026-01-01T00:00:07Z","repeat_every":[1,"hour"],"url":"`+target.URL+`"}`)
	path := "/api/schedules/" + job.Get("schedule_id").Str()
	awaitState(t, a.Client, job, "completed")
	a.Post(path+"/disable", nil).Want(200)
	before := time.Now()
	a.Post(path+"/enable", nil).Want(200)
	left := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(left) != 1 {
		t.Fatalf("want one unfinished job: %s", left)
	}
	due := instant(t, left[0].Get("job.scheduled_at"))
	wantBetween(t, "due", due, before, time.Now().Add(time.Hour))
	if due.Minute() != 0 || due.Second() != 7 {
		t.Errorf("due %s, off the grid", due)
	}
}

func TestDeleteCancelsThePendingJobAndLeavesJobsAndLogsReadable(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"repeat_every":[1,"day"],"url":"`+target.URL+`"}`)
	awaitState(t, a.Client, first, "completed")
	schedule := first.Get("schedule_id").Str()
	pending := unfinished(a.Client, schedule)
	if len(pending) != 1 {
		t.Fatalf("want the next run stored: %s", pending)
	}
	path := "/api/schedules/" + schedule
	a.Do("DELETE", path, nil).Want(204)
	a.Get(path).WantProblem(404)
	a.Post(path+"/enable", nil).WantProblem(404)
	a.Do("DELETE", path, nil).WantProblem(404)
	wantSame(t, "the list", a.Get("/api/schedules").Want(200).Data(), "[]")
	wantSame(t, "the pending job", a.Get(jobPath(pending[0])).Want(200).Data().Get("job.state"), `"cancelled"`)
	wantSame(t, "a job's schedule_id", a.Get(jobPath(first)).Want(200).Data().Get("schedule_id"), quote(schedule))
	if logs := a.Get("/api/logs?job_id=" + first.Get("id").Str()).Want(200).Data().Items(); len(logs) != 2 {
		t.Errorf("want the two logs of the run: %s", logs)
	}
}

func TestCancellingThePendingJobSkipsThatRun(t *testing.T) {
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

func TestDisableLetsARunUnderWayFinishAndStoresNoNext(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	job := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	a.Post("/api/schedules/"+job.Get("schedule_id").Str()+"/disable", nil).Want(200)
	wantSame(t, "the run under way", a.Get(jobPath(job)).Data().Get("job.state"), `"executing"`)
	release()
	awaitState(t, a.Client, job, "completed")
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Errorf("a next run was stored: %s", left)
	}
}
