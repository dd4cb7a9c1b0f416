package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestFinish_SuccessAndNoRetry(t *testing.T) {
	for _, x := range []struct {
		name, options string
		outcome       job.Outcome
		state         job.State
	}{
		{"2xx by default", ``, respond(226, ``), job.Completed},
		{"300 is no success by default", ``, respond(300, ``), job.Retryable},
		{"a status listed", `"success":[200,"3xx",404]`, respond(404, ``), job.Completed},
		{"the last of a class listed", `"success":[200,"3xx",404]`, respond(399, ``), job.Completed},
		{"2xx not listed", `"success":[200,"3xx",404]`, respond(201, ``), job.Retryable},
		{"no response", `"success":["1xx","2xx","3xx","4xx","5xx"]`, failed(job.KindClosed), job.Retryable},
		{"a class not retried", `"no_retry":["4xx",501]`, respond(404, ``), job.Discarded},
		{"a status not retried", `"no_retry":["4xx",501]`, respond(501, ``), job.Discarded},
		{"another status", `"no_retry":["4xx",501]`, respond(500, ``), job.Retryable},
		{"success comes first", `"no_retry":["2xx"]`, respond(200, ``), job.Completed},
		{"a kind not retried", `"no_retry":["tls","closed"]`, failed(job.KindClosed), job.Discarded},
		{"another kind", `"no_retry":["tls","5xx"]`, failed(job.KindTimeout), job.Retryable},
		{"no status retried", `"no_retry":["status"]`, respond(503, ``), job.Discarded},
		{"none listed", `"no_retry":[]`, respond(503, ``), job.Retryable},
		{"interrupted", `"no_retry":["4xx"],"retries":0`, failed(job.KindInterrupted), job.Retryable},
		{"interrupted, not retried", `"no_retry":["interrupted"]`, failed(job.KindInterrupted), job.Discarded},
		{"nothing was sent", `"no_retry":["interrupted"]`, job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Unsent: true}},
			job.Retryable},
		{"no descriptors", `"no_retry":["interrupted"]`, job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Local: true}},
			job.Retryable},
	} {
		args := `{"url":"https://x"`
		if x.options != "" {
			args += "," + x.options
		}
		c := end(oneOff(args+"}"), x.outcome, nil)
		if c.Job.State != x.state {
			t.Errorf("%s: the job is %s, want %s", x.name, c.Job.State, x.state)
		}
		if got, want := c.Logs[0].Succeeded(), x.state == job.Completed; got != want {
			t.Errorf("%s: the log %s says success %v", x.name, c.Logs[0].Payload, got)
		}
	}
}

func TestFinish_BackoffReplacesTheDefaultWaits(t *testing.T) {
	unavailable := respond(503, ``)
	unavailable.Response.Header.Set("Retry-After", "30")
	for _, x := range []struct {
		before  int // attempts before this one
		random  float64
		outcome job.Outcome
		want    time.Duration
	}{
		{0, 0, respond(500, ``), 2 * time.Second},
		{0, 0.5, respond(500, ``), 2100 * time.Millisecond},
		{1, 0, respond(500, ``), time.Minute},
		{2, 0, failed(job.KindDNS), time.Minute},
		{0, 0, unavailable, 30 * time.Second},
		{1, 0, unavailable, time.Minute},
	} {
		item := oneOff(`{"url":"https://x","backoff":[2,[1,"minute"]]}`)
		item.Attempt = x.before
		ended := due.Add(time.Second)
		f := Begin(item, due, nil).Finish(1, x.outcome, Span{Began: due, Ended: ended, Random: x.random})
		c := f.Decide(&store.Snapshot{Now: ended, Job: item.Job})
		if got := c.Job.DueAt.Sub(ended); got != x.want {
			t.Errorf("attempt %d, random %v: retried after %v, want %v", x.before+1, x.random, got, x.want)
		}
	}
}

// dropped is the outcome of a request that was lost on a kept connection.
var dropped = job.Outcome{Failure: &job.Failure{Kind: job.KindClosed, Dropped: true}}

// The first attempt's retry after a request that was lost on a kept connection is made at
// once, if there is one; further ones wait.
func TestFinish_ADroppedRequestIsRetriedAtOnce(t *testing.T) {
	const waits = `"backoff":[100,200]`
	for _, x := range []struct {
		name, options string
		before        int // attempts before this one
		outcome       job.Outcome
		state         job.State
		want          time.Duration
	}{
		{"the first retry", waits, 0, dropped, job.Retryable, 0},
		{"the second retry", waits, 1, dropped, job.Retryable, 200 * time.Second},
		{"another closed connection", waits, 0, failed(job.KindClosed), job.Retryable, 100 * time.Second},
		{"no retries", `"retries":0`, 0, dropped, job.Discarded, 0},
		{"the only retry", `"retries":1`, 0, dropped, job.Retryable, 0},
		{"the last attempt", `"retries":1`, 1, dropped, job.Discarded, 0},
		{"retries excluded", `"no_retry":["closed"]`, 0, dropped, job.Discarded, 0},
		{"expired meanwhile", `"expires_in":1`, 0, dropped, job.Discarded, 0},
	} {
		item := oneOff(`{"url":"https://x",` + x.options + `}`)
		item.Attempt = x.before
		ended := due.Add(2 * time.Second)
		f := Begin(item, due, nil).Finish(1, x.outcome, Span{Began: due, Ended: ended})
		c := f.Decide(&store.Snapshot{Now: ended, Job: item.Job})
		if c.Job.State != x.state || x.state == job.Retryable && c.Job.DueAt.Sub(ended) != x.want {
			t.Errorf("%s: the job is %s, due %s after the attempt", x.name, c.Job.State, c.Job.DueAt.Sub(ended))
		}
	}
}

func TestRetriedAtOnce(t *testing.T) {
	for options, want := range map[string][2]bool{ // first and second attempt
		`"retries":1`:               {true, false},
		`"retries":0`:               {false, false},
		`"no_retry":["4xx"]`:        {true, false},
		`"no_retry":[500,"closed"]`: {false, false},
	} {
		spec := job.ReadSpec([]byte(`{"url":"https://x",` + options + `}`))
		if got := [2]bool{RetriedAtOnce(&spec, 1), RetriedAtOnce(&spec, 2)}; got != want {
			t.Errorf("%s: got %v, want %v", options, got, want)
		}
	}
}

func TestEndDelivery_ADroppedOneIsRetriedAtOnce(t *testing.T) {
	item := &store.QueueItem{Delivery: &job.Delivery{Channel: job.Webhook}}
	for number, want := range map[int]time.Duration{1: 0, 2: time.Minute} {
		if got := EndDelivery(item, number, 1, dropped, due).Delivery; got.Attempt != number || !got.Again.Equal(due.Add(want)) {
			t.Errorf("attempt %d: tried again after %s", number, got.Again.Sub(due))
		}
	}
}

func TestBegin_AJobThatIsFinalIsNotAttempted(t *testing.T) {
	for _, state := range []job.State{job.Completed, job.Cancelled, job.Discarded, job.Executing} {
		item := oneOff(`{"url":"https://x",` + hooks + `}`)
		item.Job.State = state
		a := Begin(item, due, nil)
		want := "job 7 is " + state.String() + " and can't become executing"
		if a.Refused == nil || a.Refused.Kind != job.KindInternal || a.Defect == nil || a.Defect.Error() != want {
			t.Fatalf("refused with %+v, defect %v", a.Refused, a.Defect)
		}
		if c := a.Claim(); len(c.Deliveries) != 0 {
			t.Errorf("%s: the claim delivers %s", state, events(c.Deliveries))
		}
		snapshot := &store.Snapshot{Now: due, Job: item.Job}
		finishes := append(a.Unstored(1, Span{Began: due, Ended: due}),
			a.Finish(1, job.Outcome{Failure: a.Refused}, Span{Began: due, Ended: due}))
		for i, f := range finishes {
			if c := f.Decide(snapshot); c == nil || c.Job != nil || len(c.Logs) != 0 || len(c.Deliveries) != 0 || c.Next != nil {
				t.Errorf("%s: finish %d stores %+v, want only the queue item's removal", state, i, c)
			}
		}
		if item.Job.State != state {
			t.Errorf("the job that was read became %s", item.Job.State)
		}
	}
}

func TestCancel_AFinalJobStaysAsItIs(t *testing.T) {
	started := func(*job.Job, *store.ClaimInfo, time.Time) bool { return false }
	for _, state := range []job.State{job.Completed, job.Cancelled, job.Discarded} {
		item := oneOff(`{"url":"https://x",` + hooks + `}`)
		item.Job.State = state
		snapshot := &store.Snapshot{Now: due, Job: item.Job}
		if c := Cancel(started)(snapshot); c != nil {
			t.Errorf("cancelling a %s job stores %+v", state, c)
		}
		if c := SetAside("a reason", true)(snapshot); c != nil {
			t.Errorf("setting a %s job aside stores %+v", state, c)
		}
	}
}
