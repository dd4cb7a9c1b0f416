package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestRunNow_MakesAPendingJobDue(t *testing.T) {
	now := due.Add(-time.Minute)
	c := RunNow(snapshot(oneOff(`{"url":"https://x","schedule_in":60}`), false))
	if !c.Job.DueAt.Equal(now) || !c.Job.ScheduledAt.Equal(now) || !c.UpdateDefinition ||
		string(c.Job.Args) != `{"url":"https://x","schedule_in":60}` {
		t.Errorf("available: %+v", c.Job)
	}
	again := snapshot(oneOff(`{"url":"https://x"}`), false)
	again.Job.State, again.Job.Attempt, again.Job.ScheduledAt = job.Retryable, 2, due.Add(-time.Hour)
	c = RunNow(again)
	if !c.Job.DueAt.Equal(now) || !c.Job.ScheduledAt.Equal(due.Add(-time.Hour)) || c.Job.State != job.Retryable || c.Job.Attempt != 2 ||
		c.UpdateDefinition {
		t.Errorf("retryable: %+v", c.Job)
	}
	if again.Job.DueAt.Equal(now) {
		t.Error("the job that was read has changed")
	}
}

func TestRunNow_KeepsAClaimedDueOrFinishedJob(t *testing.T) {
	final := snapshot(oneOff(`{"url":"https://x"}`), false)
	final.Job.State = job.Discarded
	late := snapshot(oneOff(`{"url":"https://x"}`), false)
	late.Job.DueAt = late.Now
	for name, m := range map[string]*store.Snapshot{"final": final, "claimed": snapshot(oneOff(`{"url":"https://x"}`), true), "due": late} {
		if c := RunNow(m); c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestRunSchedule_MakesOneRunNow(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600}`
	m := snapshot(recurring(args), false)
	if c := RunSchedule(m); !c.Job.DueAt.Equal(m.Now) || c.Next != nil || c.Schedule != nil {
		t.Errorf("pending: %+v", c)
	}
	if c := RunSchedule(snapshot(recurring(args), true)); c != nil {
		t.Errorf("under way: %+v", c)
	}
	disabled := snapshot(recurring(args), false)
	disabled.Job, disabled.Schedule.DisabledAt = nil, due
	c := RunSchedule(disabled)
	if c.Job != nil || c.Schedule != nil || c.Next.Schedule != nil || !c.Next.Job.ScheduledAt.Equal(disabled.Now) ||
		c.Next.Job.ScheduleID != disabled.Schedule.ID {
		t.Errorf("disabled: %+v", c)
	}
}

// The next run is due at the first grid point after the moved run, never before
// the schedule's first due time.
func TestFinish_ARescheduledRunKeepsTheGrid(t *testing.T) {
	for name, x := range map[string]struct{ moved, want time.Duration }{
		"forward":                  {10 * time.Minute, time.Hour},
		"forward past grid points": {150 * time.Minute, 3 * time.Hour},
		"back":                     {-5 * time.Minute, 0},
		"back past grid points":    {-150 * time.Minute, 0},
		"not at all":               {0, time.Hour},
	} {
		item := recurring(`{"url":"https://x","repeat_every":3600}`)
		began := due.Add(x.moved)
		item.Job.ScheduledAt, item.Job.DueAt, item.Due = began, began, began
		ended := began.Add(time.Second)
		c := Begin(item, began, nil).Finish(1, respond(200, ``),
			Span{Began: began, Ended: ended}).Decide(&store.Snapshot{Now: ended, Job: item.Job, Schedule: item.Schedule})
		if got := c.Next.Job.ScheduledAt; !got.Equal(due.Add(x.want)) {
			t.Errorf("%s: the next run is due at %v, want %v", name, got, due.Add(x.want))
		}
	}
}

// The schedule's frequency and request may have changed during the run.
func TestFinish_TheNextRunUsesTheCurrentSchedule(t *testing.T) {
	item := recurring(`{"url":"https://x","repeat_every":3600}`)
	changed := *item.Schedule
	changed.Args = rawjson.Value(`{"url":"https://x","repeat_every":60}`)
	for name, c := range map[string]*store.Changes{
		"success": end(item, respond(200, ``), &changed),
		"failure": end(item, failed(job.KindBlocked), &changed),
	} {
		if next := c.Next.Job; !next.ScheduledAt.Equal(due.Add(time.Minute)) || string(next.Args) != string(changed.Args) {
			t.Errorf("%s: next due %v with %s", name, next.ScheduledAt, next.Args)
		}
	}
}
