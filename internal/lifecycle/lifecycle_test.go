package lifecycle

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var due = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

const hooks = `"callback_url":"https://cb/","webhook_url":"https://wh/"`

// oneOff returns the queue item of a one-off job with args.
func oneOff(args string) *store.QueueItem {
	j := &job.Job{
		Number: 7, ID: uuid.New(), Owner: job.Owner{ID: uuid.New(), Number: 1}, State: job.Available,
		InsertedAt: due.Add(-time.Minute), ScheduledAt: due, DueAt: due, Args: rawjson.Value(args),
	}
	return &store.QueueItem{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: 7}, Due: due, Account: 1}, Job: j}
}

// recurring returns the queue item of a schedule's run.
func recurring(args string) *store.QueueItem {
	item := oneOff(args)
	item.Schedule = &job.Schedule{ID: uuid.New(), Owner: item.Job.Owner, FirstDue: due, Args: item.Job.Args, Epoch: 3}
	item.Job.ScheduleID = item.Schedule.ID
	return item
}

func respond(status int, body string) job.Outcome {
	return job.Outcome{Response: &job.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(body)}, Duration: time.Second}
}

func failed(kind job.Kind) job.Outcome {
	return job.Outcome{Failure: &job.Failure{Kind: kind, Message: "m"}, Duration: time.Second}
}

// end finishes the item's next attempt, which began on time and took a second,
// with the schedule as it is by then.
func end(item *store.QueueItem, o job.Outcome, now *job.Schedule) *store.Changes {
	a := Begin(item, due.Add(-50*time.Millisecond), nil)
	ended := due.Add(time.Second)
	return a.Finish(1, o, Span{Began: due, Ended: ended}).Decide(&store.Snapshot{Now: ended, Job: item.Job, Schedule: now})
}

func events(deliveries []job.Delivery) string {
	var names []string
	for _, d := range deliveries {
		if d.Channel == job.Callback {
			names = append(names, "callback")
		} else {
			names = append(names, strings.TrimPrefix(d.Event, "job."))
		}
	}
	return strings.Join(names, " ")
}

func logEvents(logs []job.Log) string {
	var names []string
	for _, l := range logs {
		names = append(names, l.Event)
	}
	return strings.Join(names, " ")
}

func TestClaim_StartsWhenDueAndNotBefore(t *testing.T) {
	item := oneOff(`{"url":"https://x",` + hooks + `}`)
	for now, want := range map[time.Time]time.Time{due.Add(-time.Second): due, due: due, due.Add(time.Minute): due.Add(time.Minute)} {
		c := Begin(item, now, nil).Claim()
		if !c.StartAt.Equal(want) || c.Attempt != 1 || c.Log.Event != job.EventRequest || !c.Log.InsertedAt.Equal(want) {
			t.Errorf("claimed at %v: begins at %v, log %+v", now, c.StartAt, c.Log)
		}
		if got := events(c.Deliveries); got != "started request" {
			t.Errorf("events %s", got)
		}
	}
	if item.Job.State != job.Available {
		t.Error("preparing a claim has changed the job that was read")
	}
}

func TestFinish_Outcomes(t *testing.T) {
	for _, x := range []struct {
		name, args string
		before     int // attempts before this one
		outcome    job.Outcome
		state      job.State
		logs       string
		events     string
	}{
		{"success", `,` + hooks, 0, respond(201, `{}`), job.Completed, "worker.http.response", "response finished callback"},
		{"status 500, retried", `,` + hooks, 0, respond(500, ``), job.Retryable, "worker.http.response", "response error"},
		{"status 500, last attempt", `,` + hooks, 3, respond(500, ``), job.Discarded, "worker.http.response",
			"response error finished callback"},
		{"no response, retried", `,` + hooks, 2, failed(job.KindTimeout), job.Retryable, "worker.http.error", "error"},
		{"no response, last attempt", `,"retries":0,` + hooks, 0, failed(job.KindTimeout), job.Discarded, "worker.http.error",
			"error finished callback"},
		{"blocked is not tried again", `,` + hooks, 0, failed(job.KindBlocked), job.Discarded, "worker.http.error",
			"error finished callback"},
		{"a retry that would expire", `,"expires_in":5,` + hooks, 0, respond(500, ``), job.Discarded,
			"worker.http.response worker.http.error", "response error error finished callback"},
		{"interrupted, retried", `,"retries":0,` + hooks, 0, failed(job.KindInterrupted), job.Retryable, "worker.http.error", "error"},
		{"no webhook or callback", ``, 0, respond(200, ``), job.Completed, "worker.http.response", ""},
	} {
		item := oneOff(`{"url":"https://x"` + x.args + `}`)
		item.Attempt = x.before
		c := end(item, x.outcome, nil)
		if c.Job.State != x.state || logEvents(c.Logs) != x.logs || events(c.Deliveries) != x.events || c.Next != nil || c.Schedule != nil {
			t.Errorf("%s: %s, logs %s, events %s", x.name, c.Job.State, logEvents(c.Logs), events(c.Deliveries))
		}
		if !c.Job.AttemptedAt.Equal(due) || !c.Job.ScheduledAt.Equal(due) {
			t.Errorf("%s: attempted at %v, scheduled at %v", x.name, c.Job.AttemptedAt, c.Job.ScheduledAt)
		}
	}
}

func TestFinish_RetryTime(t *testing.T) {
	ended := due.Add(time.Second)
	withRetryAfter := respond(429, ``)
	withRetryAfter.Response.Header.Set("Retry-After", "120")
	ignored := respond(500, ``)
	ignored.Response.Header.Set("Retry-After", "120")
	local := failed(job.KindInterrupted)
	local.Failure.Wait = 7 * time.Second
	for name, x := range map[string]struct {
		before      int
		outcome     job.Outcome
		least, most time.Duration
		attempt     int
	}{
		"first":                                  {0, respond(500, ``), 10 * time.Second, 11 * time.Second, 1},
		"second":                                 {1, respond(500, ``), 60 * time.Second, 66 * time.Second, 2},
		"Retry-After":                            {0, withRetryAfter, 120 * time.Second, 132 * time.Second, 1},
		"Retry-After on other status":            {0, ignored, 10 * time.Second, 11 * time.Second, 1},
		"interrupted: at once, without counting": {1, failed(job.KindInterrupted), 0, 0, 1},
		"interrupted by a local fault":           {1, local, 7 * time.Second, 7 * time.Second, 1},
	} {
		item := oneOff(`{"url":"https://x"}`)
		item.Attempt = x.before
		j := end(item, x.outcome, nil).Job
		if wait := j.DueAt.Sub(ended); wait < x.least || wait > x.most || j.Attempt != x.attempt {
			t.Errorf("%s: again after %v with %d attempts made, want %v to %v with %d", name, wait, j.Attempt, x.least, x.most, x.attempt)
		}
	}
}

func TestFinish_SchedulesTheNextRun(t *testing.T) {
	item := recurring(`{"url":"https://x","repeat_every":60,` + hooks + `}`)
	c := end(item, respond(200, ``), item.Schedule)
	next := c.Next.Job
	if !next.ScheduledAt.Equal(due.Add(time.Minute)) || next.ScheduleID != item.Schedule.ID || next.State != job.Available ||
		next.ID == item.Job.ID {
		t.Errorf("next is %+v", next)
	}
	for name, now := range map[string]*job.Schedule{"deleted": nil, "disabled": {ID: item.Schedule.ID, DisabledAt: due, Epoch: 4}} {
		c := end(item, respond(200, ``), now)
		if c.Next != nil || c.Job.State != job.Completed {
			t.Errorf("%s: %s, next %+v", name, c.Job.State, c.Next)
		}
		if c := end(item, respond(500, ``), now); c.Job.State != job.Discarded || c.Next != nil {
			t.Errorf("%s and failed: %s", name, c.Job.State)
		}
	}
}

func TestFinish_NextRunIsDueAsAskedAndStartsASecondLaterAtTheEarliest(t *testing.T) {
	const took = 100 * time.Millisecond
	for body, want := range map[string][2]time.Duration{
		`{"$next":0}`: {took, time.Second}, `{"$next":0.25}`: {took + 250*time.Millisecond, time.Second},
		`{"$next":"2001-01-01"}`: {took, time.Second}, `{"$next":2}`: {took + 2*time.Second, took + 2*time.Second},
	} {
		item := recurring(`{"url":"https://x","repeat_every":3600}`)
		a := Begin(item, due, nil)
		ended := due.Add(took)
		c := a.Finish(1, respond(200, body), Span{Began: due, Ended: ended}).Decide(&store.Snapshot{Now: ended, Job: item.Job,
			Schedule: item.Schedule})
		if got := [2]time.Duration{c.Next.Job.ScheduledAt.Sub(due), c.Next.Job.DueAt.Sub(due)}; got != want {
			t.Errorf("%s: the next run is due and starts %v after the start of the last, want %v", body, got, want)
		}
	}
}

// No run is due after ends_at, but one may be due then.
func TestFinish_NextRunIsNotAfterTheEnd(t *testing.T) {
	for next, ended := range map[string]bool{"2026-03-04T12:30:00Z": false, "2026-03-04T12:30:00.000001Z": true} {
		item := recurring(`{"url":"https://x","repeat_every":60,"ends_at":"2026-03-04T12:30:00Z"}`)
		c := end(item, respond(200, `{"$next":"`+next+`"}`), item.Schedule)
		if (c.Next == nil) != ended || !ended && c.Next.Job.ScheduledAt.Format(time.RFC3339) != next || ended &&
			c.Schedule.Ended != job.EndedAt {
			t.Errorf("$next %s: next %+v, schedule %+v", next, c.Next, c.Schedule)
		}
	}
}

func TestFinish_DropsARetryPastTheNextRun(t *testing.T) {
	for every, state := range map[string]job.State{"5": job.Discarded, "13": job.Retryable} {
		item := recurring(`{"url":"https://x","repeat_every":` + every + `}`)
		c := end(item, respond(500, ``), item.Schedule)
		if c.Job.State != state || (c.Next != nil) != (state == job.Discarded) {
			t.Errorf("every %s s: %s, next %v", every, c.Job.State, c.Next)
		}
		if dropped := strings.Contains(string(c.Logs[0].Payload), `"retry_at":null`); dropped != (state == job.Discarded) {
			t.Errorf("every %s s: log %s", every, c.Logs[0].Payload)
		}
	}
}

func TestFinish_ResponseSetsState(t *testing.T) {
	item := recurring(`{"url":"https://x","repeat_every":60}`)
	item.Schedule.State, item.Schedule.Previous = rawjson.Value(`{"a":1}`), rawjson.Value(`{"old":true}`)
	big := `{"$set":{"big":"` + strings.Repeat("x", job.MaxState) + `"}}`
	for _, x := range []struct {
		answer, state, previous, logs string
		epoch                         int64
	}{
		{`{"$set":{"b":1.10},"seen":1}`, `{"a":1,"b":1.10}`, `{"$set":{"b":1.10},"seen":1}`, "worker.http.response", 3},
		{`{"$set":5}`, `{"a":1}`, `{"$set":5}`, "worker.http.response worker.state.rejected", 3},
		{`{"$set":null}`, `{"a":1}`, `{"$set":null}`, "worker.http.response", 3},
		{`[1]`, `{"a":1}`, `[1]`, "worker.http.response", 3},
		{`no json`, `{"a":1}`, ``, "worker.http.response", 3},
		{big, `{"a":1}`, big, "worker.http.response worker.state.rejected", 3},
		{`{"$set":{"a":2}}`, `{"a":2}`, `{"old":true}`, "worker.http.response", 4}, // disabled and enabled meanwhile
	} {
		now := *item.Schedule
		now.Epoch = x.epoch
		c := end(item, respond(200, x.answer), &now)
		if string(c.Schedule.State) != x.state || string(c.Schedule.Previous) != x.previous || logEvents(c.Logs) != x.logs {
			t.Errorf("%.40s: state %s, previous %.40s, logs %s", x.answer, c.Schedule.State, c.Schedule.Previous, logEvents(c.Logs))
		}
	}
	if c := end(item, respond(500, `{"$set":{"a":9}}`), item.Schedule); c.Schedule != nil {
		t.Errorf("a failed run has set %s", c.Schedule.State)
	}
	if item.Schedule.State == nil || string(item.Schedule.State) != `{"a":1}` {
		t.Error("ending an attempt has changed the schedule that was read")
	}
}

func always(started bool) HasStarted {
	return func(*job.Job, *store.ClaimInfo, time.Time) bool { return started }
}

// snapshot returns the one of a pending or claimed job a minute before it is
// due.
func snapshot(item *store.QueueItem, claimed bool) *store.Snapshot {
	m := &store.Snapshot{Now: due.Add(-time.Minute), Job: item.Job, Schedule: item.Schedule}
	if claimed {
		m.Job.Attempt = 1
		m.Claim = &store.ClaimInfo{Node: 1, Attempt: 1, StartAt: due.Add(-2 * time.Minute)}
	}
	return m
}

func TestCancel(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600,` + hooks + `}`
	pending := Cancel(always(false))(snapshot(recurring(args), false))
	if pending.Job.State != job.Cancelled || pending.RollbackClaim || len(pending.Logs) != 0 || events(pending.Deliveries) != "finished" {
		t.Errorf("pending: %+v", pending)
	}
	if next := pending.Next.Job.ScheduledAt; !next.Equal(due.Add(time.Hour)) {
		t.Errorf("the run after the one skipped is due at %v", next)
	}
	held := Cancel(always(false))(snapshot(recurring(args), true))
	if !held.RollbackClaim || len(held.Logs) != 0 || held.Job.State != job.Cancelled || !held.Job.AttemptedAt.IsZero() {
		t.Errorf("claimed, not started: %+v", held)
	}
	for name, c := range map[string]struct {
		changes *store.Changes
		attempt string
	}{"pending": {pending, `"attempt":0`}, "claimed, not started": {held, `"attempt":0`}} {
		if body := string(c.changes.Deliveries[0].Body); !strings.Contains(body, c.attempt) {
			t.Errorf("%s: the event is %s, want %s", name, body, c.attempt)
		}
	}
	underWay := Cancel(always(true))(snapshot(oneOff(`{"url":"https://x",`+hooks+`}`), true))
	if underWay.RollbackClaim || logEvents(underWay.Logs) != "worker.http.error" || events(underWay.Deliveries) != "finished" ||
		underWay.Next != nil {
		t.Errorf("under way: logs %s, events %s", logEvents(underWay.Logs), events(underWay.Deliveries))
	}
	if !strings.Contains(string(underWay.Logs[0].Payload), `"kind":"cancelled"`) || underWay.Job.AttemptedAt.IsZero() {
		t.Errorf("under way: %s", underWay.Logs[0].Payload)
	}
	final := oneOff(args)
	final.Job.State = job.Completed
	if c := Cancel(always(true))(snapshot(final, false)); c != nil {
		t.Errorf("a final job changes: %+v", c)
	}
}

func TestDisableEnableDelete(t *testing.T) {
	const args = `{"url":"https://x","repeat_every":3600,` + hooks + `}`
	item := recurring(args)
	item.Schedule.Previous = rawjson.Value(`1`)
	c := Disable(always(false))(snapshot(item, false))
	if c.Job.State != job.Cancelled || c.Next != nil || c.Schedule.Live() || c.Schedule.Epoch != 4 || c.Schedule.Previous != nil {
		t.Errorf("disable: %+v, %+v", c, c.Schedule)
	}
	if again := Disable(always(false))(&store.Snapshot{Schedule: c.Schedule}); again != nil {
		t.Errorf("disabled twice: %+v", again)
	}
	if c := Disable(always(true))(snapshot(recurring(args), true)); c.Job != nil || c.Schedule.Live() {
		t.Errorf("disable with a run under way: %+v", c)
	}
	for name, x := range map[string]struct{ now, want time.Time }{
		"first due ahead": {due.Add(-time.Hour), due}, "on the grid": {due.Add(time.Hour), due.Add(time.Hour)},
		"between": {due.Add(90 * time.Minute), due.Add(2 * time.Hour)},
	} {
		e, _ := Enable(&store.Snapshot{Now: x.now, Schedule: c.Schedule})
		if !e.Schedule.Live() || !e.Next.Job.ScheduledAt.Equal(x.want) {
			t.Errorf("enable, %s: next at %v", name, e.Next.Job.ScheduledAt)
		}
	}
	if e, _ := Enable(&store.Snapshot{Now: due, Schedule: c.Schedule, Job: item.Job}); e.Next != nil || !e.Schedule.Live() {
		t.Errorf("enable with a run under way: %+v", e)
	}
	if e, _ := Enable(&store.Snapshot{Now: due, Schedule: item.Schedule}); e != nil {
		t.Errorf("enabling an enabled one: %+v", e)
	}
	d := Delete(always(false))(snapshot(recurring(args), false))
	if !d.DropSchedule || d.Job.State != job.Cancelled || d.Next != nil || events(d.Deliveries) != "finished" {
		t.Errorf("delete: %+v", d)
	}
}

func TestEndDelivery_RetriesThenGivesUp(t *testing.T) {
	item := &store.QueueItem{QueueKey: store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: 3}},
		Delivery: &job.Delivery{Job: 7, Channel: job.Webhook, URL: "https://wh/", Event: "job.started"}}
	waits := []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour}
	for i, wait := range waits {
		f := EndDelivery(item, i+1, 1, respond(302, ``), due)
		if !f.Delivery.Again.Equal(due.Add(wait)) || f.Delivery.Attempt != i+1 || f.Delivery.Log != nil {
			t.Errorf("after try %d: %+v", i+1, f.Delivery)
		}
	}
	last := EndDelivery(item, 8, 1, failed(job.KindConnect), due).Delivery
	if !last.Again.IsZero() || last.Log.Event != job.EventWebhookFailed || !strings.Contains(string(last.Log.Payload), `"attempts":8`) {
		t.Errorf("after the last: %+v", last)
	}
	if done := EndDelivery(item, 1, 1, respond(204, ``), due).Delivery; !done.Again.IsZero() || done.Log != nil {
		t.Errorf("delivered: %+v", done)
	}
	interrupted := failed(job.KindInterrupted)
	if again := EndDelivery(item, 2, 1, interrupted, due).Delivery; !again.Again.Equal(due) || again.Attempt != 1 {
		t.Errorf("interrupted: %+v", again)
	}
	interrupted.Failure.Wait = 7 * time.Second
	if again := EndDelivery(item, 8, 1, interrupted, due).Delivery; !again.Again.Equal(due.Add(7*time.Second)) || again.Attempt != 7 ||
		again.Log != nil {
		t.Errorf("interrupted by a local fault: %+v", again)
	}
}

func TestDeliveries_AreJSON(t *testing.T) {
	item := oneOff(`{"url":"https://x","method":"post","body":{"a":"\u0000é"},` + hooks + `}`)
	claim := Begin(item, due, nil).Claim()
	deliveries := append(claim.Deliveries, end(item, respond(500, "\xff"), nil).Deliveries...)
	for _, d := range deliveries {
		if v, err := rawjson.Read(d.Body); err != nil || string(v) != string(d.Body) {
			t.Errorf("%s: %s is no compact JSON: %v", d.Event, d.Body, err)
		}
		if !strings.HasPrefix(d.MessageID, "msg_") || strings.Contains(d.MessageID, ".") {
			t.Errorf("message id %q", d.MessageID)
		}
	}
}
