package lifecycle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// oversize is an item whose request is too large because of its schedule's
// state.
func oversize() *store.QueueItem {
	item := recurring(`{"method":"post","url":"https://x","headers":{"a":"b"},"body":[` + strings.Repeat(`"$previous",`, 99) +
		`"$previous"],` + hooks + `,"repeat_every":60}`)
	item.Schedule.Previous = rawjson.Quote(strings.Repeat("p", 100_000))
	return item
}

func TestPrepare_RefusesATooLargeRequestPermanently(t *testing.T) {
	item := oversize()
	a := Begin(item, due, nil)
	if a.Refused == nil || a.Refused.Kind != job.KindTooLarge ||
		!strings.Contains(a.Refused.Message, "the body would be larger than 2097152 bytes") || a.Defect != nil {
		t.Fatalf("refused with %+v, defect %v", a.Refused, a.Defect)
	}
	c := a.Claim()
	if got, want := string(c.Log.Payload), `{"body":null,"headers":{"a":"b"},"query":{},"url":"https://x"}`; got != want ||
		events(c.Deliveries) != "started request" {
		t.Errorf("the claim logs %s and delivers %s, want %s", got, events(c.Deliveries), want)
	}
	snapshot := &store.Snapshot{Now: due, Job: item.Job, Schedule: item.Schedule}
	changes := a.Finish(1, job.Outcome{Failure: a.Refused}, Span{Began: due, Ended: due.Add(time.Millisecond)}).Decide(snapshot)
	if changes.Job.State != job.Discarded || a.Result != job.Discarded || changes.Next == nil ||
		events(changes.Deliveries) != "error finished callback" {
		t.Errorf("the job is %s, the next %v, messages %s", changes.Job.State, changes.Next, events(changes.Deliveries))
	}
	if got := string(changes.Logs[0].Payload); !strings.HasPrefix(got, `{"kind":"too_large","message":"the body would`) ||
		!strings.HasSuffix(got, `"attempt":1,"retry_at":null}`) {
		t.Errorf("the log is %s", got)
	}
	callback := changes.Deliveries[2].Body
	if got := string(rawjson.Get(callback, "response")); got != "null" {
		t.Errorf("the callback's response is %s", got)
	}
}

func TestPrepare_APanicRefusesTheAttempt(t *testing.T) {
	item := oneOff(`{"url":"https://x/y","callback_url":"https://c"}`)
	a := &Attempt{Item: item, Number: 1, StartAt: due}
	a.prepare(func(*job.Spec, job.Dynamic) (*job.Outgoing, error) { panic("a defect") })
	if a.Refused == nil || a.Refused.Kind != job.KindInternal || a.Defect == nil ||
		!strings.HasPrefix(a.Defect.Error(), "panic: a defect\ngoroutine") {
		t.Fatalf("refused with %+v, defect %.40v", a.Refused, a.Defect)
	}
	if got, want := string(a.Claim().Log.Payload), `{"body":null,"headers":{},"query":{},"url":"https://x/y"}`; got != want {
		t.Errorf("the log is %s, want %s", got, want)
	}
	changes := a.Finish(1, job.Outcome{Failure: a.Refused},
		Span{Began: due, Ended: due.Add(1)}).Decide(&store.Snapshot{Now: due, Job: item.Job})
	if changes.Job.State != job.Discarded || events(changes.Deliveries) != "callback" {
		t.Errorf("the job is %s, messages %s", changes.Job.State, events(changes.Deliveries))
	}
}

func TestCarryOver_ATooDeepResponseIsNotJSON(t *testing.T) {
	for depth, want := range map[int]string{128: strings.Repeat("[", 128) + strings.Repeat("]", 128), 129: ""} {
		item := recurring(`{"url":"https://x","repeat_every":60}`)
		c := end(item, respond(200, strings.Repeat("[", depth)+strings.Repeat("]", depth)), item.Schedule)
		if got := string(c.Schedule.Previous); got != want {
			t.Errorf("%d deep: $previous is %q", depth, got)
		}
	}
}

func TestCarryOver_MergesIntoStateChangedMeanwhile(t *testing.T) {
	item := recurring(`{"url":"https://x","repeat_every":60}`)
	item.Schedule.State = rawjson.Value(`{"a":1}`)
	now := *item.Schedule
	now.State = rawjson.Value(`{"b":2}`)
	c := end(item, respond(200, `{"$set":{"c":3}}`), &now)
	if got := string(c.Schedule.State); got != `{"b":2,"c":3}` {
		t.Errorf("the state is %s", got)
	}
	now.State = rawjson.Value(`{"b":"` + strings.Repeat("x", job.MaxState-8) + `"}`)
	c = end(item, respond(200, `{"$set":{"c":3}}`), &now)
	if got := logEvents(c.Logs); got != "worker.http.response worker.state.rejected" || len(c.Schedule.State) != job.MaxState {
		t.Errorf("logs %s, a state of %d bytes", got, len(c.Schedule.State))
	}
}

// BenchmarkDecide measures the work inside the store's transaction for a
// response with $set of n, 2n and 4n bytes.
func BenchmarkDecide(b *testing.B) {
	for name, keys := range map[string]int{"n": 1000, "2n": 2000, "4n": 4000} {
		b.Run(name, func(b *testing.B) {
			item := recurring(`{"url":"https://x","repeat_every":60}`)
			var members strings.Builder
			for i := range keys {
				members.WriteString(`,"` + strings.Repeat("k", 1+i%7) + time.Duration(i).String() + `":1`)
			}
			o := respond(200, `{"$set":{`+members.String()[1:]+`}}`)
			a := Begin(item, due, nil)
			f := a.Finish(1, o, Span{Began: due, Ended: due.Add(1)})
			snapshot := &store.Snapshot{Now: due, Job: item.Job, Schedule: item.Schedule}
			b.ResetTimer()
			for b.Loop() {
				if c := f.Decide(snapshot); len(c.Schedule.State) == 0 {
					b.Fatal(errors.New("nothing was merged"))
				}
			}
		})
	}
}
