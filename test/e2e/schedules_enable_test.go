package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestScheduleEnable_CreatesARunAtTheNextGridPoint(t *testing.T) {
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

func TestScheduleEnable_KeepsTheGridOfAPastStart(t *testing.T) {
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
