package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const awaits = `"completion":{"within":60,"heartbeat":10}`

// completing is an attempt whose target completes it, with what the store has of
// it.
type completing struct {
	*testing.T
	item       *store.QueueItem
	completion *job.Completion
	claim      store.ClaimInfo
	request    rawjson.Value
	response   rawjson.Value
}

// sent claims an attempt of an item.
func sent(t *testing.T, item *store.QueueItem) (*completing, *Attempt) {
	a := Begin(item, due.Add(-time.Second), nil)
	claim := a.Claim()
	if a.Token == "" || claim.Completion == nil {
		t.Fatal("the attempt has no token")
	}
	hash, ok := job.HashToken(a.Token)
	if c := claim.Completion; !ok || c.Token != hash || c.Attempt != a.Number || c.Within != time.Minute || c.Heartbeat != 10*time.Second ||
		!c.StartedAt.Equal(due) || c.Request != claim.Log.ID || c.State != job.CompletionSent {
		t.Fatalf("the claim stores %+v", claim.Completion)
	}
	return &completing{
		T: t, item: item, completion: claim.Completion, request: claim.Log.Payload,
		claim: store.ClaimInfo{Node: 1, Attempt: a.Number, StartAt: due},
	}, a
}

// awaiting claims an attempt and lets its target respond with 202 after a second.
func awaiting(t *testing.T, item *store.QueueItem) *completing {
	t.Helper()
	p, a := sent(t, item)
	f := a.Finish(1, respond(202, `{"job":"accepted"}`), Span{Began: due, Ended: due.Add(time.Second)})
	if !f.Completable {
		t.Fatal("the finish does not ask for the completion")
	}
	c := f.Decide(&store.Snapshot{Now: due.Add(time.Second), Job: item.Job, Schedule: item.Schedule, Completion: p.completion})
	if !c.Await || c.EndCompletions || c.Next != nil || c.Schedule != nil || a.Result != job.Executing {
		t.Fatalf("after the 202: %+v, the job is %s", c, a.Result)
	}
	if c.Job.State != item.Job.State || c.Job.Attempt != a.Number || !c.Job.DueAt.Equal(due.Add(time.Minute)) {
		t.Errorf("the stored job is %+v", c.Job)
	}
	if n := c.Completion; n.State != job.CompletionAwaiting || !n.Deadline.Equal(due.Add(11*time.Second)) || n.Response != c.Logs[0].ID {
		t.Errorf("the completion is %+v", n)
	}
	if got := logEvents(c.Logs); got != job.EventResponse || c.Logs[0].Succeeded() || !c.Logs[0].Awaiting() {
		t.Errorf("logs %s: %s", got, c.Logs[0].Payload)
	}
	if got := events(c.Deliveries); got != "response" && a.Spec.WebhookURL != "" {
		t.Errorf("events %q", got)
	}
	p.completion, p.response, p.item.Job = c.Completion, c.Logs[0].Payload, c.Job
	p.claim.Node = store.AwaitingNode
	return p
}

func (p *completing) snapshot(at time.Time) *store.Snapshot {
	return &store.Snapshot{Now: at, Job: p.item.Job, Claim: &p.claim, Schedule: p.item.Schedule, Completion: p.completion}
}

func (p *completing) awaited() *store.Awaited {
	return &store.Awaited{Completion: p.completion, Job: p.item.Job, Schedule: p.item.Schedule, Request: p.request, Response: p.response}
}

// report decides a report and takes over the completion that it stores.
func (p *completing) report(body string, at time.Time) (*Reporting, *store.Changes) {
	p.Helper()
	v, err := rawjson.Read([]byte(body))
	if err != nil {
		p.Fatal(err)
	}
	report, err := job.ReadReport(v)
	if err != nil {
		p.Fatalf("%s: %v", body, err)
	}
	report.Identify("token")
	r := NewReporting(p.awaited(), report, nil, 0)
	c := r.Decide(p.snapshot(at))
	if c != nil && c.Completion != nil {
		p.completion = c.Completion
	}
	return r, c
}

func TestReport_AResultCompletesTheJob(t *testing.T) {
	p := awaiting(t, recurring(`{"url":"https://x","repeat_every":60,`+awaits+`,`+hooks+`}`))
	r, c := p.report(`{"result":{"$set":{"a":1},"rows":[1.10]}}`, due.Add(5*time.Second))
	if r.Err != nil || !r.Ended || r.State != job.Completed || c.Job.State != job.Completed ||
		!c.Job.CompletedAt.Equal(due.Add(5*time.Second)) || !c.EndCompletions {
		t.Fatalf("%v: %+v", r.Err, c)
	}
	if got := logEvents(c.Logs); got != job.EventCompletion || !c.Logs[0].Succeeded() {
		t.Errorf("logs %s", got)
	}
	if got, want := string(c.Logs[0].Payload), `{"result":{"$set":{"a":1},"rows":[1.10]},"duration_ms":5000}`; got != want {
		t.Errorf("the log is %s, want %s", got, want)
	}
	if got := string(c.Schedule.State) + string(c.Schedule.Previous); got != `{"a":1}{"$set":{"a":1},"rows":[1.10]}` {
		t.Errorf("the schedule has %s", got)
	}
	if c.Next == nil || !c.Next.Job.ScheduledAt.Equal(due.Add(time.Minute)) {
		t.Errorf("the next run is %+v", c.Next)
	}
	if got := events(c.Deliveries); got != "finished callback" {
		t.Errorf("events %s", got)
	}
	callback := c.Deliveries[1].Body
	for path, want := range map[string]string{"error": "null", "result": `{"$set":{"a":1},"rows":[1.10]}`, "attempt": "1"} {
		if got := string(rawjson.Get(callback, path)); got != want {
			t.Errorf("the callback's %s is %s, want %s", path, got, want)
		}
	}
	if got := string(rawjson.Get(rawjson.Get(callback, "response"), "body")); got != `{"job":"accepted"}` {
		t.Errorf("the callback's response is %s", got)
	}
}

func TestDeliveries_OfACompletionHaveNoTimings(t *testing.T) {
	accepted := respond(202, `{"timings":[1],"job":"accepted"}`)
	accepted.Timings = job.Timings{job.WaitPhase: 300 * time.Millisecond, job.ReadPhase: time.Millisecond}
	for what, end := range map[string]func(*completing) *store.Changes{
		"reported": func(p *completing) *store.Changes {
			_, c := p.report(`{"result":1}`, due.Add(5*time.Second))
			return c
		},
		"abandoned": func(p *completing) *store.Changes {
			return NewAbandonment(p.awaited(), 0).Decide(p.snapshot(p.completion.Deadline))
		},
	} {
		p, a := sent(t, oneOff(`{"url":"https://x","retries":0,`+awaits+`,`+hooks+`}`))
		c := a.Finish(1, accepted, Span{Began: due, Ended: due.Add(time.Second)}).Decide(p.snapshot(due.Add(time.Second)))
		p.completion, p.response, p.item.Job, p.claim.Node = c.Completion, c.Logs[0].Payload, c.Job, store.AwaitingNode
		if job.ReadTimings(p.response) != accepted.Timings {
			t.Fatalf("the log of the response is %s", p.response)
		}
		for _, d := range end(p).Deliveries {
			response := rawjson.Get(d.Body, "response")
			if response == nil {
				response = rawjson.Get(rawjson.Get(d.Body, "data"), "response")
			}
			const want = `{"status":202,"headers":{"Content-Type":"application/json"},` +
				`"body":{"timings":[1],"job":"accepted"},"duration_ms":1000,"truncated":false}`
			if string(response) != want {
				t.Errorf("%s: the response of %s is %s", what, events([]job.Delivery{d}), response)
			}
		}
	}
}

func TestReport_SameOutcomeAgainAndAnother(t *testing.T) {
	p := awaiting(t, oneOff(`{"url":"https://x",`+awaits+`}`))
	if _, c := p.report(`{"result":[1,"a"]}`, due.Add(2*time.Second)); c.Job.State != job.Completed {
		t.Fatalf("the job is %s", c.Job.State)
	}
	for body, want := range map[string]fault.Code{
		`{"result":[1, "a"]}`: -1, `{"result":[2]}`: fault.Conflict, `{"error":"no"}`: fault.Conflict, `{"progress":5}`: fault.Gone,
	} {
		r, c := p.report(body, due.Add(3*time.Second))
		if c != nil || r.Ended || (want == -1) != (r.Err == nil) || r.Err != nil && fault.CodeOf(r.Err) != want {
			t.Errorf("%s: %v, %+v", body, r.Err, c)
		}
	}
}

func TestReport_AnErrorFailsTheAttempt(t *testing.T) {
	for _, x := range []struct {
		args, body string
		state      job.State
		retryAt    string
		events     string
	}{
		{`"retries":1,"backoff":[7],`, `{"error":"disk full"}`, job.Retryable, `"2026-03-04T12:00:12.000000Z"`, "error"},
		{`"retries":1,`, `{"error":"disk full","retry":false}`, job.Discarded, `null`, "error finished callback"},
		{`"retries":0,`, `{"error":"disk full","retry":true}`, job.Discarded, `null`, "error finished callback"},
		{`"retries":1,"no_retry":["answer"],`, `{"error":"disk full"}`, job.Discarded, `null`, "error finished callback"},
	} {
		p := awaiting(t, oneOff(`{"url":"https://x",`+x.args+awaits+`,`+hooks+`}`))
		r, c := p.report(x.body, due.Add(5*time.Second))
		if r.Err != nil || c.Job.State != x.state || events(c.Deliveries) != x.events {
			t.Fatalf("%s%s: %v, the job is %s, events %s", x.args, x.body, r.Err, c.Job.State, events(c.Deliveries))
		}
		want := `{"kind":"answer","message":"disk full","duration_ms":5000,"attempt":1,"retry_at":` + x.retryAt + `}`
		if got := string(c.Logs[0].Payload); c.Logs[0].Event != job.EventError || got != want {
			t.Errorf("the log is %s %s, want %s", c.Logs[0].Event, got, want)
		}
	}
}

func TestReport_BeforeTheResponse(t *testing.T) {
	for _, x := range []struct {
		name    string
		outcome job.Outcome
		state   job.State
		logs    string
	}{
		{"then 202", respond(202, ``), job.Completed, "worker.http.response worker.completion"},
		{"then no response", failed(job.KindTimeout), job.Completed, "worker.completion"},
		{"then a crash", failed(job.KindInterrupted), job.Completed, "worker.completion"},
		{"then another answer", respond(500, ``), job.Retryable, "worker.http.response"},
		{"then success", respond(200, ``), job.Completed, "worker.http.response"},
	} {
		item := oneOff(`{"url":"https://x",` + awaits + `}`)
		p, a := sent(t, item)
		r, c := p.report(`{"result":{"early":true}}`, due.Add(time.Millisecond))
		if r.Err != nil || r.Ended || c.Job != nil || string(c.Completion.Early) != `{"result":{"early":true}}` {
			t.Fatalf("%s: %v, %+v", x.name, r.Err, c)
		}
		if again, c := p.report(`{"result":{"early":true}}`, due.Add(2*time.Millisecond)); again.Err != nil || c != nil {
			t.Errorf("%s: the same again: %v", x.name, again.Err)
		}
		if other, _ := p.report(`{"result":1}`, due.Add(2*time.Millisecond)); fault.CodeOf(other.Err) != fault.Conflict {
			t.Errorf("%s: another outcome: %v", x.name, other.Err)
		}
		span := Span{Began: due, Ended: due.Add(time.Second)}
		c = a.Finish(1, x.outcome, span).Decide(&store.Snapshot{Now: span.Ended, Job: item.Job, Completion: p.completion})
		if c.Job.State != x.state || logEvents(c.Logs) != x.logs || !c.EndCompletions || c.Await {
			t.Errorf("%s: the job is %s, logs %s", x.name, c.Job.State, logEvents(c.Logs))
		}
	}
}

func TestReport_ProgressIsASignOfLife(t *testing.T) {
	p := awaiting(t, oneOff(`{"url":"https://x",`+awaits+`}`))
	r, c := p.report(`{"progress":40,"message":"half way"}`, due.Add(9*time.Second))
	if r.Err != nil || c.Job != nil || !c.Completion.Deadline.Equal(due.Add(19*time.Second)) {
		t.Fatalf("%v: %+v", r.Err, c)
	}
	got := string(job.AppendCompletion(nil, c.Completion))
	want := `{"awaiting":true,"deadline":"2026-03-04T12:00:19.000000Z","progress":{"progress":40,"message":"half way","reported_at":"2026-03-04T12:00:09.000000Z"}}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// The end of within is the last deadline.
	if _, c := p.report(`{"progress":41}`, due.Add(55*time.Second)); !c.Completion.Deadline.Equal(due.Add(time.Minute)) {
		t.Errorf("the deadline is %v", c.Completion.Deadline)
	}
}

func TestReport_AttemptsThatAreOver(t *testing.T) {
	for name, change := range map[string]func(*completing, *store.Snapshot){
		"over":            func(p *completing, _ *store.Snapshot) { p.completion.State = job.CompletionOver },
		"no claim":        func(_ *completing, m *store.Snapshot) { m.Claim = nil },
		"a later attempt": func(_ *completing, m *store.Snapshot) { m.Claim.Attempt++ },
		"claimed again":   func(_ *completing, m *store.Snapshot) { m.Claim.Node = 3 },
	} {
		p := awaiting(t, oneOff(`{"url":"https://x",`+awaits+`}`))
		m := p.snapshot(due.Add(3 * time.Second))
		change(p, m)
		for _, body := range []string{`{"result":1}`, `{"error":"e"}`, `{"progress":1}`} {
			report, err := job.ReadReport(rawjson.Value(body))
			if err != nil {
				t.Fatal(err)
			}
			report.Identify("token")
			r := NewReporting(p.awaited(), report, nil, 0)
			c := r.Decide(m)
			if fault.CodeOf(r.Err) != fault.Gone || c != nil && (c.Job != nil || c.Completion.State != job.CompletionOver) {
				t.Errorf("%s: %s: %v, %+v", name, body, r.Err, c)
			}
		}
	}
}

func TestAbandon_EndsTheAttemptAtItsDeadline(t *testing.T) {
	for _, x := range []struct{ options, message string }{
		{awaits, "the target gave no sign of life for 10s"},
		{`"completion":{"within":[1,"minute"]}`, "the target did not report the outcome within 1m0s of the attempt's start"},
	} {
		item := oneOff(`{"url":"https://x","retries":1,` + x.options + `}`)
		a := Begin(item, due, nil)
		p := &completing{T: t, item: item, completion: a.Claim().Completion, claim: store.ClaimInfo{Node: 1, Attempt: 1, StartAt: due}}
		c := a.Finish(1, respond(202, ``), Span{Began: due, Ended: due.Add(time.Second)}).Decide(p.snapshot(due.Add(time.Second)))
		p.completion, p.item.Job, p.claim.Node = c.Completion, c.Job, store.AwaitingNode
		deadline := p.completion.Deadline
		if c := NewAbandonment(p.awaited(), 0).Decide(p.snapshot(deadline.Add(-time.Microsecond))); c != nil {
			t.Fatalf("before the deadline: %+v", c)
		}
		end := NewAbandonment(p.awaited(), 0)
		c = end.Decide(p.snapshot(deadline))
		if !end.Ended || end.State != job.Retryable || c.Job.State != job.Retryable || !c.EndCompletions ||
			c.Completion.State != job.CompletionOver {
			t.Fatalf("at the deadline: %+v", c)
		}
		if got := string(c.Logs[0].Payload); c.Logs[0].Event != job.EventError ||
			!strings.HasPrefix(got, `{"kind":"abandoned","message":"`+x.message+`"`) {
			t.Errorf("the log is %s", got)
		}
	}
}

func TestCancel_OfAnAwaitedJob(t *testing.T) {
	p := awaiting(t, oneOff(`{"url":"https://x",`+awaits+`}`))
	c := Cancel(func(*job.Job, *store.ClaimInfo, time.Time) bool { return true })(p.snapshot(due.Add(5 * time.Second)))
	if c.Job.State != job.Cancelled || !c.EndCompletions || c.RollbackClaim {
		t.Fatalf("%+v", c)
	}
	if got := string(c.Logs[0].Payload); !strings.HasPrefix(got,
		`{"kind":"cancelled","message":"the job was cancelled while its completion was awaited","duration_ms":5000`) {
		t.Errorf("the log is %s", got)
	}
}

func TestDisable_LeavesAnAwaitedRun(t *testing.T) {
	p := awaiting(t, recurring(`{"url":"https://x","repeat_every":60,`+awaits+`}`))
	c := Disable(func(*job.Job, *store.ClaimInfo, time.Time) bool { return true })(p.snapshot(due.Add(5 * time.Second)))
	if c.Job != nil || c.Schedule.DisabledAt.IsZero() {
		t.Fatalf("%+v", c)
	}
	// Its result does not become $previous, but $set counts.
	p.item.Schedule = c.Schedule
	_, c = p.report(`{"result":{"$set":{"a":1}}}`, due.Add(6*time.Second))
	if c.Job.State != job.Completed || c.Next != nil || string(c.Schedule.State) != `{"a":1}` || c.Schedule.Previous != nil {
		t.Errorf("the job is %s, the schedule %+v", c.Job.State, c.Schedule)
	}
}

func TestNotCompletable_RefusesTheAttempt(t *testing.T) {
	item := oneOff(`{"url":"https://x",` + awaits + `}`)
	a := Begin(item, due, nil)
	a.NotCompletable()
	if a.Refused == nil || a.Refused.Kind != job.KindAbandoned || a.Claim().Completion != nil {
		t.Errorf("refused with %+v", a.Refused)
	}
	plain := Begin(oneOff(`{"url":"https://x"}`), due, nil)
	plain.NotCompletable()
	if plain.Refused != nil || plain.Token != "" {
		t.Errorf("a job without completion was refused with %+v", plain.Refused)
	}
}

func TestAwait_WithoutItsRecordFails(t *testing.T) {
	item := oneOff(`{"url":"https://x","retries":0,` + awaits + `}`)
	a := Begin(item, due, nil)
	c := a.Finish(1, respond(202, ``), Span{Began: due, Ended: due.Add(time.Second)}).Decide(&store.Snapshot{Now: due, Job: item.Job})
	if c.Job.State != job.Discarded || c.Await || !strings.HasPrefix(string(c.Logs[0].Payload), `{"kind":"abandoned"`) {
		t.Errorf("the job is %s, the log %s", c.Job.State, c.Logs[0].Payload)
	}
}
