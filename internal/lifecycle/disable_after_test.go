package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const endsAfter3 = `{"url":"https://x","repeat_every":3600,"retries":0,"disable_after":3}`

func TestFinish_EndsAScheduleAfterFailuresInARow(t *testing.T) {
	for _, c := range []struct {
		failures int64
		args     string
		outcome  job.Outcome
		ends     bool
	}{
		{1, endsAfter3, respond(500, ``), false},
		{2, endsAfter3, respond(500, ``), true},
		{7, endsAfter3, failed(job.KindTimeout), true}, // the option was added later
		{2, endsAfter3, respond(200, ``), false},
		{2, `{"url":"https://x","repeat_every":3600,"retries":1,"disable_after":3}`, respond(500, ``), false}, // it is retried
		{2, `{"url":"https://x","repeat_every":3600,"retries":0}`, respond(500, ``), false},
	} {
		item := recurring(c.args)
		item.Schedule.Failures = c.failures
		changes := end(item, c.outcome, item.Schedule)
		if !c.ends {
			if changes.Schedule != nil && !changes.Schedule.Live() || changes.Job.State.Final() && changes.Next == nil {
				t.Errorf("after %d failures: %s ended: %+v", c.failures, c.args, changes)
			}
			continue
		}
		s := changes.Schedule
		if s.Live() || s.Ended != job.EndedFailures || s.Failures != c.failures+1 || s.Runs != 1 || changes.Next != nil {
			t.Errorf("after %d failures: %s: %+v, next %v", c.failures, c.args, s, changes.Next)
		}
		last := changes.Logs[len(changes.Logs)-1]
		if last.Event != job.EventEnded || string(last.Payload) != `{"reason":"failures"}` {
			t.Errorf("the last log is %s %s", last.Event, last.Payload)
		}
	}
}

func TestCancel_DoesNotCountAsAFailure(t *testing.T) {
	m := snapshot(recurring(endsAfter3), false)
	m.Schedule.Failures = 2
	if c := Cancel(always(false))(m); c.Next == nil || c.Schedule != nil {
		t.Errorf("%+v", c)
	}
}

func TestEnable_CountsFailuresAnew(t *testing.T) {
	const noEnd = `{"url":"https://x","repeat_every":3600}`
	for _, c := range []struct {
		args           string
		ended          job.End
		failures, want int64
	}{
		{endsAfter3, job.EndedFailures, 3, 0}, {endsAfter3, "", 5, 0}, {endsAfter3, "", 2, 2}, {noEnd, "", 3, 3},
		{endsAfter3, job.EndedFailures, 2, 0}, {noEnd, job.EndedFailures, 3, 0}, // disable_after was raised or removed before
	} {
		s := &job.Schedule{FirstDue: due, DisabledAt: due, Ended: c.ended, Failures: c.failures, FailingSince: due, Failure: "500",
			Args: rawjson.Value(c.args)}
		changes, err := Enable(&store.Snapshot{Now: due.Add(time.Minute), Schedule: s})
		if err != nil {
			t.Fatal(err)
		}
		got := changes.Schedule
		if !got.Live() || got.Ended != "" || got.Failures != c.want || got.FailingSince.IsZero() != (c.want == 0) ||
			(got.Failure == "") != (c.want == 0) {
			t.Errorf("%d failures of %s: %+v", c.failures, c.args, got)
		}
	}
}

// A run under way counts for max_runs when the schedule is enabled meanwhile.
func TestEnable_CountsTheRunUnderWay(t *testing.T) {
	for runs, ended := range map[int64]bool{0: false, 1: true, 2: true} {
		item := recurring(`{"url":"https://x","repeat_every":3600,"max_runs":2}`)
		item.Schedule.DisabledAt, item.Job.Runs = due, runs
		_, err := Enable(&store.Snapshot{Now: due.Add(time.Minute), Schedule: item.Schedule, Job: item.Job})
		if (err != nil) != ended {
			t.Errorf("with %d runs and one under way of 2: %v", runs, err)
		}
	}
}

// A run that was under way when its schedule was disabled counts for max_runs when it ends;
// one that is cancelled doesn't.
func TestEnd_OfADisabledScheduleCountsTheRun(t *testing.T) {
	for _, status := range []int{200, 500} {
		item := recurring(`{"url":"https://x","repeat_every":3600,"max_runs":9,"retries":0}`)
		item.Job.Runs, item.Schedule.Runs = 4, 4
		disabled := *item.Schedule
		disabled.DisabledAt = due
		changes := end(item, respond(status, ``), &disabled)
		if changes.Next != nil || changes.Schedule == nil || changes.Schedule.Runs != 5 || changes.Schedule.Live() {
			t.Errorf("status %d: schedule %+v, next %+v, want 5 runs and none", status, changes.Schedule, changes.Next)
		}
	}
	item := recurring(`{"url":"https://x","repeat_every":3600,"max_runs":9}`)
	item.Job.Runs, item.Schedule.Runs, item.Schedule.DisabledAt = 4, 4, due
	if s := Cancel(always(true))(snapshot(item, true)).Schedule; s != nil && s.Runs != 4 {
		t.Errorf("a cancelled run was counted: %d runs", s.Runs)
	}
}

func TestCallbackOn_SelectsTheEndsThatAreReported(t *testing.T) {
	for on, want := range map[string]string{
		``: "completed discarded set-aside ", `,"callback_on":"final"`: "completed discarded set-aside ",
		`,"callback_on":"failure"`: "discarded set-aside ", `,"callback_on":"success"`: "completed ",
	} {
		args := `{"url":"https://x","retries":0,"callback_url":"https://cb/"` + on + `}`
		got := ""
		for _, ending := range []struct {
			name    string
			changes *store.Changes
		}{
			{"completed", end(oneOff(args), respond(200, ``), nil)},
			{"discarded", end(oneOff(args), respond(500, ``), nil)},
			{"set-aside", SetAside("too large", false)(&store.Snapshot{Now: due, Job: oneOff(args).Job})},
			{"cancelled", Cancel(always(true))(snapshot(oneOff(args), true))},
		} {
			if len(ending.changes.Deliveries) > 0 {
				got += ending.name + " "
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
