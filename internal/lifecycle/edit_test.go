package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func edit(t *testing.T, body string) *job.Edit {
	t.Helper()
	e, err := job.ReadEdit(rawjson.Value(body), due)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The job is due at noon of a Wednesday.
func TestEdit_MovesThePendingRunToTheNewGrid(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600,"scheduled_at":"x","method":"get"}`
	for name, x := range map[string]struct {
		body          string
		firstDue, now time.Duration // from noon
		next          time.Duration
		want          time.Duration
		wantFirst     time.Duration
		wantArgs      string
	}{
		"interval, on the grid of the first": {
			body: `{"repeat_every":[15,"minutes"]}`, firstDue: 0, now: 20 * time.Minute, next: time.Hour, want: 30 * time.Minute, wantFirst: 0,
			wantArgs: `{"url":"https://x","repeat_every":[15,"minutes"],"scheduled_at":"x","method":"get"}`,
		},
		"interval, first still ahead": {
			body: `{"repeat_every":60}`, firstDue: time.Hour, now: 0, next: time.Hour, want: time.Hour, wantFirst: time.Hour,
			wantArgs: `{"url":"https://x","repeat_every":60,"scheduled_at":"x","method":"get"}`,
		},
		"cron, first past": {
			body: `{"cron":"30 * * * *","timezone":"Europe/Berlin"}`, firstDue: 0, now: 40 * time.Minute, next: time.Hour, want: 90 * time.Minute, wantFirst: 0,
			wantArgs: `{"url":"https://x","cron":"30 * * * *","timezone":"Europe/Berlin","scheduled_at":"x","method":"get"}`,
		},
		"cron, first still ahead": {
			body: `{"cron":"30 * * * *"}`, firstDue: 2 * time.Hour, now: 0, next: 2 * time.Hour, want: 150 * time.Minute, wantFirst: 150 * time.Minute,
			wantArgs: `{"url":"https://x","cron":"30 * * * *","scheduled_at":"x","method":"get"}`,
		},
	} {
		item := recurring(args)
		item.Schedule.FirstDue = due.Add(x.firstDue)
		item.Job.ScheduledAt, item.Job.DueAt = due.Add(x.next), due.Add(x.next)
		m := moment(item, false)
		m.Now = due.Add(x.now)
		c := Edit(edit(t, x.body))(m)
		if !c.UpdateDefinition || !c.Job.ScheduledAt.Equal(due.Add(x.want)) || !c.Job.DueAt.Equal(due.Add(x.want)) || string(c.Job.Args) != x.wantArgs {
			t.Errorf("%s: the pending run is due %v with %s", name, c.Job.ScheduledAt.Sub(due), c.Job.Args)
		}
		if !c.Schedule.FirstDue.Equal(due.Add(x.wantFirst)) || string(c.Schedule.Args) != x.wantArgs {
			t.Errorf("%s: the schedule begins %v with %s", name, c.Schedule.FirstDue.Sub(due), c.Schedule.Args)
		}
		if string(item.Schedule.Args) != args || string(item.Job.Args) != args {
			t.Errorf("%s: what was read has changed", name)
		}
	}
}

func TestEdit_DelaysNoRetry(t *testing.T) {
	for every, want := range map[string]time.Duration{"60": time.Minute, "86400": 10 * time.Minute} {
		item := recurring(`{"url":"https://x","repeat_every":3600}`)
		item.Job.State, item.Job.Attempt, item.Job.DueAt = job.Retryable, 1, due.Add(10*time.Minute)
		m := moment(item, false)
		m.Now = due.Add(5 * time.Second)
		c := Edit(edit(t, `{"repeat_every":`+every+`}`))(m)
		if !c.Job.DueAt.Equal(due.Add(want)) || !c.Job.ScheduledAt.Equal(due) || c.Job.State != job.Retryable || c.Job.Attempt != 1 {
			t.Errorf("every %s s: %+v", every, c.Job)
		}
	}
}

func TestEdit_KeepsAClaimedOrDueRun(t *testing.T) {
	e := edit(t, `{"repeat_every":60,"name":"n"}`)
	claimed := moment(recurring(`{"url":"https://x","repeat_every":3600}`), true)
	if c := Edit(e)(claimed); c.Job != nil || !c.UpdateDefinition || *c.Schedule.Name != "n" {
		t.Errorf("claimed: %+v", c)
	}
	late := moment(recurring(`{"url":"https://x","repeat_every":3600}`), false)
	late.Now = due
	if c := Edit(e)(late); !c.Job.DueAt.Equal(due) || !c.Job.ScheduledAt.Equal(due) || *c.Job.Name != "n" {
		t.Errorf("due: %+v", c.Job)
	}
	disabled := moment(recurring(`{"url":"https://x","repeat_every":3600}`), false)
	disabled.Job, disabled.Schedule.DisabledAt = nil, due
	if c := Edit(e)(disabled); c.Job != nil || c.Next != nil || c.Schedule.Live() {
		t.Errorf("disabled: %+v", c)
	}
}

func TestEdit_OfNamesKeepsTheTiming(t *testing.T) {
	old := "old"
	m := moment(recurring(`{"url":"https://x","repeat_every":3600}`), false)
	m.Schedule.Name, m.Schedule.Description, m.Job.Name = &old, &old, &old
	c := Edit(edit(t, `{"name":null}`))(m)
	if c.Schedule.Name != nil || c.Job.Name != nil || *c.Schedule.Description != "old" || *c.Job.Description != "old" {
		t.Errorf("name %v and %v, description %v and %v", c.Schedule.Name, c.Job.Name, c.Schedule.Description, c.Job.Description)
	}
	if !c.Job.DueAt.Equal(due) || string(c.Job.Args) != string(m.Schedule.Args) || !c.Schedule.FirstDue.Equal(due) {
		t.Errorf("the timing has changed: %+v", c.Job)
	}
}

func TestSetState(t *testing.T) {
	m := moment(recurring(`{"url":"https://x","repeat_every":3600}`), false)
	m.Schedule.State, m.Schedule.Previous = rawjson.Value(`{"a":1}`), rawjson.Value(`2`)
	c := SetState(rawjson.Value(`{"b":1.10}`))(m)
	if string(c.Schedule.State) != `{"b":1.10}` || string(c.Schedule.Previous) != `2` || c.Job != nil || c.UpdateDefinition {
		t.Errorf("set: %+v", c)
	}
	if c := SetState(nil)(m); c.Schedule.State != nil {
		t.Errorf("cleared: %s", c.Schedule.State)
	}
	if c := SetState(rawjson.Value(`{"a":1}`))(m); c != nil {
		t.Errorf("the same state again: %+v", c)
	}
}
