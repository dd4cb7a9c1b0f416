package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var editor = job.Actor{Kind: job.ByKey, ID: "k", Name: "ci"}

// notStarted is a HasStarted for attempts that have not.
func notStarted(*job.Job, *store.ClaimInfo, time.Time) bool { return false }

func editSchedule(t *testing.T, m *store.Snapshot, body string) *store.Changes {
	t.Helper()
	e, err := job.ReadScheduleEdit(m.Schedule, rawjson.Value(body), job.ReadOptions{Now: m.Now})
	if err != nil {
		t.Fatal(err)
	}
	return EditSchedule(e, editor, notStarted)(m)
}

func editJob(t *testing.T, m *store.Snapshot, body string) *store.Changes {
	t.Helper()
	e, err := job.ReadJobEdit(m.Job, rawjson.Value(body), job.ReadOptions{Now: m.Now})
	if err != nil {
		t.Fatal(err)
	}
	return EditJob(e, editor, notStarted)(m)
}

// The first run is due at noon of a Wednesday.
func TestEditSchedule_MovesThePendingRunToTheNewGrid(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600,"schedule_in":5,"method":"get","headers":{}}`
	for name, x := range map[string]struct {
		body          string
		firstDue, now time.Duration // from noon
		next          time.Duration
		want          time.Duration // of the run and the new grid
		wantFirst     time.Duration
	}{
		"interval, first past": {body: `{"repeat_every":[15,"minutes"]}`, now: 20 * time.Minute, next: time.Hour,
			want: 20 * time.Minute, wantFirst: 20 * time.Minute},
		"interval, first ahead": {body: `{"repeat_every":60}`, firstDue: time.Hour, next: time.Hour, want: time.Hour,
			wantFirst: time.Hour},
		"interval, first ahead but removed": {body: `{"repeat_every":60,"schedule_in":null}`, firstDue: time.Hour, next: time.Hour},
		"the same interval written otherwise": {
			body: `{"repeat_every":[1,"hour"]}`, now: 20 * time.Minute, next: time.Hour, want: time.Hour, wantFirst: 0,
		},
		"cron, first past": {body: `{"cron":"30 * * * *","timezone":"Europe/Berlin"}`, now: 40 * time.Minute, next: time.Hour,
			want: 90 * time.Minute, wantFirst: 40 * time.Minute},
		"cron, first ahead": {body: `{"cron":"30 * * * *"}`, firstDue: 2 * time.Hour, next: 2 * time.Hour, want: 150 * time.Minute,
			wantFirst: 2 * time.Hour},
		"first time": {body: `{"schedule_in":[10,"minutes"]}`, now: 20 * time.Minute, next: time.Hour, want: 30 * time.Minute,
			wantFirst: 30 * time.Minute},
		"first time removed": {body: `{"schedule_in":null}`, now: 20 * time.Minute, next: time.Hour, want: time.Hour, wantFirst: 0},
		"first time, interval": {body: `{"scheduled_at":"2026-03-04T15:00:00Z","repeat_every":60}`, now: 20 * time.Minute,
			next: time.Hour, want: 3 * time.Hour, wantFirst: 3 * time.Hour},
		"first time in the past": {body: `{"scheduled_at":"2026-03-04T11:00:00Z"}`, now: 20 * time.Minute, next: time.Hour,
			want: -time.Hour, wantFirst: -time.Hour},
		"only the request": {body: `{"body":1,"retries":2}`, now: 20 * time.Minute, next: time.Hour, want: time.Hour, wantFirst: 0},
	} {
		item := recurring(args)
		item.Schedule.FirstDue = due.Add(x.firstDue)
		item.Job.ScheduledAt, item.Job.DueAt = due.Add(x.next), due.Add(x.next)
		m := snapshot(item, false)
		m.Now = due.Add(x.now)
		c := editSchedule(t, m, x.body)
		wantDue := due.Add(max(x.want, x.now))
		if !c.UpdateDefinition || !c.Job.ScheduledAt.Equal(due.Add(x.want)) || !c.Job.DueAt.Equal(wantDue) ||
			string(c.Job.Args) != string(c.Schedule.Args) {
			t.Errorf("%s: the pending run is due %v with %s", name, c.Job.ScheduledAt.Sub(due), c.Job.Args)
		}
		if !c.Schedule.FirstDue.Equal(due.Add(x.wantFirst)) || c.Schedule.Revision != 1 || len(c.Revisions) != 2 {
			t.Errorf("%s: the schedule begins %v with %s, %d revisions", name, c.Schedule.FirstDue.Sub(due), c.Schedule.Args,
				len(c.Revisions))
		}
		if string(item.Schedule.Args) != args || string(item.Job.Args) != args {
			t.Errorf("%s: what was read has changed", name)
		}
	}
}

// TestEditSchedule_ANewCronCountsFromNow edits a schedule that runs once a month,
// before its first tick: nobody has asked for that time as the first one.
func TestEditSchedule_ANewCronCountsFromNow(t *testing.T) {
	for _, x := range []struct {
		body        string
		begin, want time.Duration // from noon
	}{
		{`{"cron":"*/20 * * * *"}`, 10 * time.Minute, 20 * time.Minute},
		{`{"timezone":"Asia/Kolkata"}`, 10 * time.Minute, 654*time.Hour + 30*time.Minute},
		{`{"cron":"*/20 * * * *","schedule_in":3600}`, 70 * time.Minute, 80 * time.Minute},
	} {
		item := recurring(`{"url":"https://x","cron":"0 0 1 * *","method":"get","headers":{}}`)
		first := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
		item.Schedule.FirstDue, item.Job.ScheduledAt, item.Job.DueAt = first, first, first
		m := snapshot(item, false)
		m.Now = due.Add(10 * time.Minute)
		c := editSchedule(t, m, x.body)
		if !c.Job.ScheduledAt.Equal(due.Add(x.want)) || !c.Schedule.FirstDue.Equal(due.Add(x.begin)) {
			t.Errorf("%s: the run is due %v after noon, the grid begins %v after it, want %v and %v", x.body,
				c.Job.ScheduledAt.Sub(due), c.Schedule.FirstDue.Sub(due), x.want, x.begin)
		}
	}
}

func TestEditSchedule_TheRunTakesEverythingOver(t *testing.T) {
	own := "own"
	m := snapshot(recurring(`{"url":"https://x/a","repeat_every":3600,"method":"get","headers":{}}`), false)
	m.Job.Name, m.Job.Description, m.Job.Args = &own, &own,
		rawjson.Value(`{"url":"https://x/a","repeat_every":3600,"scheduled_at":"2030-01-01","method":"get","headers":{}}`)
	m.Job.ScheduledAt, m.Job.DueAt = due.Add(time.Minute), due.Add(time.Minute)
	c := editSchedule(t, m, `{"url":"https://y/b","name":"n"}`)
	const args = `{"url":"https://y/b","repeat_every":3600,"scheduled_at":"2030-01-01","method":"get","headers":{}}`
	if *c.Job.Name != "n" || *c.Job.Description != "own" || string(c.Job.Args) != args || c.Job.Revision != 1 ||
		*c.Lane != job.Lane("https://y/b") {
		t.Errorf("the run is %+v with %s", c.Job, c.Job.Args)
	}
	if !c.Job.DueAt.Equal(due.Add(time.Minute)) {
		t.Errorf("the run is due %v, want the time that it was given", c.Job.DueAt)
	}
	want := `[{"path":"/url","from":"https://x/a","to":"https://y/b"},{"path":"/name","from":null,"to":"n"}]`
	if got := string(c.Revisions[0].Changes); got != want || string(c.Revisions[0].By) != `{"kind":"key","id":"k","name":"ci"}` ||
		c.Revisions[1].Record != m.Job.ID {
		t.Errorf("the history has %s by %s", got, c.Revisions[0].By)
	}
}

func TestEditSchedule_KeepsARunThatWaitsForARetry(t *testing.T) {
	for _, every := range []string{"60", "3600"} {
		item := recurring(`{"url":"https://x","repeat_every":3600}`)
		item.Job.State, item.Job.Attempt, item.Job.DueAt = job.Retryable, 1, due.Add(10*time.Minute)
		m := snapshot(item, false)
		m.Now = due.Add(5 * time.Second)
		if c := editSchedule(t, m, `{"repeat_every":`+every+`,"body":2}`); c.Job != nil || c.Schedule.Revision != 1 {
			t.Errorf("every %s s: %+v", every, c.Job)
		}
	}
}

func TestEditSchedule_KeepsWhatTheRunHasByAnEditOfItsOwn(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600,"method":"get","headers":{}}`
	own := due.Add(90 * time.Minute)
	for body, want := range map[string]struct {
		name, description string
		due               time.Duration
	}{
		`{"body":1}`:                         {"own", "own", 90 * time.Minute},
		`{"name":"n"}`:                       {"n", "own", 90 * time.Minute},
		`{"description":"d"}`:                {"own", "d", 90 * time.Minute},
		`{"catch_up":"none"}`:                {"own", "own", 90 * time.Minute},
		`{"repeat_every":60}`:                {"own", "own", 0},
		`{"schedule_in":1800}`:               {"own", "own", 30 * time.Minute},
		`{"ends_at":"2026-03-04T13:30:00Z"}`: {"own", "own", 90 * time.Minute},
		`{"ends_at":"2026-03-04T13:29:59Z"}`: {"own", "own", 0},
	} {
		m := snapshot(recurring(args), false)
		m.Now = due.Add(-time.Minute)
		c := editJob(t, m, `{"name":"own","description":"own","scheduled_at":"`+job.FormatTime(own)+`"}`)
		m.Job = c.Job
		m.Now = due
		m.Schedule.FirstDue = due.Add(-time.Hour)
		c = editSchedule(t, m, body)
		if *c.Job.Name != want.name || *c.Job.Description != want.description || !c.Job.ScheduledAt.Equal(due.Add(want.due)) {
			t.Errorf("%s: the run is %s, %s, due %v", body, *c.Job.Name, *c.Job.Description, c.Job.ScheduledAt.Sub(due))
		}
		kept := c.Job.ScheduledAt.Equal(own)
		if has := rawjson.Get(c.Job.Args, "scheduled_at"); kept != (string(has) == string(rawjson.Quote(job.FormatTime(own)))) ||
			rawjson.Get(c.Schedule.Args, "scheduled_at") != nil {
			t.Errorf("%s: the run has %s, the schedule %s", body, c.Job.Args, c.Schedule.Args)
		}
	}
}

func TestEditSchedule_KeepsARunThatStartsSoon(t *testing.T) {
	const args, body = `{"url":"https://x","repeat_every":3600}`, `{"repeat_every":60,"name":"n"}`
	if c := editSchedule(t, snapshot(recurring(args), true), body); c.Job != nil || !c.UpdateDefinition || *c.Schedule.Name != "n" {
		t.Errorf("started: %+v", c)
	}
	for before, kept := range map[time.Duration]bool{Soon: true, 0: true, -Soon: true, -Soon - time.Microsecond: false,
		Soon + time.Microsecond: false} {
		m := snapshot(recurring(args), false)
		m.Now = due.Add(-before)
		if c := editSchedule(t, m, body); (c.Job == nil) != kept {
			t.Errorf("%v before the start: the run is %+v", before, c.Job)
		}
	}
	claimed := snapshot(recurring(args), true)
	claimed.Now = due.Add(time.Minute)
	if c := editSchedule(t, claimed, body); c.Job != nil {
		t.Errorf("claimed and waiting for its slot: the run is %+v", c.Job)
	}
	disabled := snapshot(recurring(args), false)
	disabled.Job, disabled.Schedule.DisabledAt = nil, due
	if c := editSchedule(t, disabled, body); c.Job != nil || c.Next != nil || c.Schedule.Live() {
		t.Errorf("disabled: %+v", c)
	}
	unchanged := snapshot(recurring(`{"url":"https://x","repeat_every":3600,"method":"get","headers":{}}`), false)
	if c := editSchedule(t, unchanged, `{"repeat_every":3600,"name":null}`); c != nil {
		t.Errorf("nothing changes: %+v", c)
	}
}

func TestEdit_RollsBackAClaimThatHasNotStarted(t *testing.T) {
	m := snapshot(oneOff(`{"url":"https://x"}`), true)
	m.Claim.StartAt = m.Now.Add(2 * Soon)
	c := editJob(t, m, `{"body":1}`)
	if !c.RollbackClaim || c.Job.Attempt != 0 || c.Job.Revision != 1 {
		t.Errorf("not started: %+v", c)
	}
	e, err := job.ReadJobEdit(m.Job, rawjson.Value(`{"body":1}`), job.ReadOptions{Now: m.Now})
	if err != nil {
		t.Fatal(err)
	}
	if c := EditJob(e, editor, func(*job.Job, *store.ClaimInfo, time.Time) bool { return true })(m); c != nil {
		t.Errorf("started: %+v", c)
	}
}

func TestEditJob(t *testing.T) {
	const args = `{"url":"https://x","schedule_in":60,"method":"get","headers":{}}`
	for body, want := range map[string]struct {
		scheduled, due time.Duration // from now
		args           string
	}{
		`{"schedule_in":[2,"hours"]}`: {2 * time.Hour, 2 * time.Hour,
			`{"url":"https://x","schedule_in":[2,"hours"],"method":"get","headers":{}}`},
		`{"schedule_in":60}`: {time.Minute, time.Minute, args},
		`{"scheduled_at":"2026-03-04T11:00:00Z"}`: {-59 * time.Minute, 0,
			`{"url":"https://x","scheduled_at":"2026-03-04T11:00:00Z","method":"get","headers":{}}`},
		`{"schedule_in":null,"body":{"a":1.10}}`: {30 * time.Second, 30 * time.Second,
			`{"url":"https://x","body":{"a":1.10},"method":"get","headers":{}}`},
	} {
		m := snapshot(oneOff(args), false)
		m.Job.ScheduledAt, m.Job.DueAt = m.Now.Add(30*time.Second), m.Now.Add(30*time.Second)
		c := editJob(t, m, body)
		if !c.UpdateDefinition || !c.Job.ScheduledAt.Equal(m.Now.Add(want.scheduled)) || !c.Job.DueAt.Equal(m.Now.Add(want.due)) ||
			string(c.Job.Args) != want.args {
			t.Errorf("%s: due %v %v with %s", body, c.Job.ScheduledAt.Sub(m.Now), c.Job.DueAt.Sub(m.Now), c.Job.Args)
		}
	}
	for _, state := range []job.State{job.Retryable, job.Completed, job.Cancelled, job.Discarded} {
		m := snapshot(oneOff(args), false)
		m.Job.State = state
		if c := editJob(t, m, `{"schedule_in":5}`); c != nil {
			t.Errorf("%s: %+v", state, c)
		}
	}
}

func TestSetState(t *testing.T) {
	m := snapshot(recurring(`{"url":"https://x","repeat_every":3600}`), false)
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

// A run's new time is exact for every kind of schedule, and the run after it is due
// at the first point of the grid after that.
func TestEditJob_ARunsNewTimeIsExact(t *testing.T) {
	for _, args := range []string{
		`{"url":"https://x","repeat_every":3600,"method":"get","headers":{}}`,
		`{"url":"https://x","repeat_every":3600,"jitter":[50,"minutes"],"method":"get","headers":{}}`,
		`{"url":"https://x","cron":"0 * * * *","method":"get","headers":{}}`,
		`{"url":"https://x","cron":"0 * * * *","jitter":[50,"minutes"],"except":["2026-03-04"],"catch_up":"all","method":"get","headers":{}}`,
	} {
		for body, want := range map[string]time.Duration{
			`{"schedule_in":500}`:                     500 * time.Second,
			`{"schedule_in":[5,"hours"]}`:             5 * time.Hour,
			`{"scheduled_at":"2026-03-04T01:00:00Z"}`: 0,
		} {
			m := snapshot(recurring(args), false)
			m.Job.DueAt = m.Now.Add(30 * time.Minute)
			m.Job.ScheduledAt = m.Job.DueAt
			grid, _ := m.Schedule.Grid()
			c := editJob(t, m, body)
			due := m.Now.Add(want)
			if c == nil || !c.Job.ScheduledAt.Equal(due) || !c.Job.DueAt.Equal(due) || c.Schedule != nil {
				t.Errorf("%s, %s: %+v", args, body, c)
				continue
			}
			started := pastRun{Job: c.Job, now: due.Add(time.Second), started: due, counts: true}
			c.Job.AttemptedAt = due
			next := planOf(m.Schedule).after(started)
			if !next.due.Equal(grid.Next(time.Time{}, due)) || len(next.skipped) > 0 {
				t.Errorf("%s, %s: the next run is due at %s, skipped %v", args, body, next.due, next.skipped)
			}
		}
	}
}
