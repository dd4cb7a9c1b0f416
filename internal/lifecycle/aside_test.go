package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestSetAside_DiscardsTheJobAndTheScheduleGoesOn(t *testing.T) {
	item := recurring(`{"url":"https://t/","repeat_every":60,` + hooks + `}`)
	now := due.Add(time.Second)
	c := SetAside("too large", false)(&store.Snapshot{Now: now, Job: item.Job, Schedule: item.Schedule})
	if c.Job.State != job.Discarded || !c.Job.DiscardedAt.Equal(now) || !c.Job.AttemptedAt.Equal(now) || c.Job.Attempt != 1 {
		t.Errorf("the job is %+v", c.Job)
	}
	if len(c.Logs) != 1 || !strings.Contains(string(c.Logs[0].Payload), `"kind":"poisoned","message":"too large"`) {
		t.Errorf("the logs are %+v", c.Logs)
	}
	if got := events(c.Deliveries); got != "finished callback" {
		t.Errorf("messages %q", got)
	}
	if body := string(c.Deliveries[1].Body); !strings.Contains(body, `"request":null,"response":null`) {
		t.Errorf("the callback is %s", body)
	}
	if c.Next == nil || !c.Next.Job.DueAt.Equal(due.Add(time.Minute)) {
		t.Errorf("next %+v", c.Next)
	}
	if s := c.Schedule; s == nil || s.Failures != 1 || !s.FailingSince.Equal(now) || s.Failure != "poisoned" {
		t.Errorf("the schedule is %+v", s)
	}
}

func TestSetAside_WithStopDisablesTheSchedule(t *testing.T) {
	item := recurring(`{"url":"https://t/","repeat_every":60,` + hooks + `}`)
	c := SetAside("it crashed", true)(&store.Snapshot{Now: due, Job: item.Job, Schedule: item.Schedule})
	if c.Job.State != job.Discarded || c.Next != nil || len(c.Deliveries) != 0 {
		t.Errorf("job %+v, next %+v, %d messages", c.Job, c.Next, len(c.Deliveries))
	}
	if s := c.Schedule; s == nil || !s.DisabledAt.Equal(due) || s.Epoch != item.Schedule.Epoch+1 {
		t.Errorf("the schedule is %+v", c.Schedule)
	}
	if item.Schedule.DisabledAt = due; SetAside("", true)(&store.Snapshot{Now: due, Job: c.Job, Schedule: item.Schedule}) != nil {
		t.Error("a final job was changed")
	}
}
