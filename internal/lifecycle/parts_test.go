package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// The deliveries of an attempt whose request and response are referred to in
// logs must equal those that contain them.
func TestDeliveries_StoreLargeTextsOnce(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	item := oneOff(`{"method":"post","retries":0,"url":"https://x","body":{"m":"` + large + `"},` + hooks + `}`)
	ended := due.Add(time.Second)
	messages := func(claim bool) ([]job.Delivery, []job.Log) {
		a := Begin(item, due, nil)
		var deliveries []job.Delivery
		var logs []job.Log
		if claim {
			c := a.Claim()
			if again := a.Claim(); again.Log.ID != c.Log.ID {
				t.Error("a second Claim returns another log")
			}
			deliveries, logs = c.Deliveries, []job.Log{*c.Log}
		}
		c := a.Finish(1, respond(500, `{"n":"`+large+`"}`),
			Span{Began: due, Ended: ended}).Decide(&store.Snapshot{Now: ended, Job: item.Job})
		return append(deliveries, c.Deliveries...), append(logs, c.Logs...)
	}
	referring, logs := messages(true)
	inline, _ := messages(false)
	payloads := map[uuid.UUID]rawjson.Value{}
	for _, l := range logs {
		payloads[l.ID] = l.Payload
	}
	if got := events(referring); got != "started request response error finished callback" {
		t.Fatalf("messages %s", got)
	}
	for i, d := range referring {
		whole, err := d.Whole(payloads)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Body) > 3000 {
			t.Errorf("%s has %d bytes of its own", d.Event, len(d.Body))
		}
		if !strings.Contains(string(whole), `"args":`+string(item.Job.Args)+`}`) {
			t.Errorf("%s does not show the job's args: %.300s", d.Event, whole)
		}
		if i > 1 {
			// The one without a claim has no log to refer to for its request.
			theirs, err := inline[i-2].Whole(logsOfResponse(inline[i-2], logs[1].Payload))
			if err != nil || string(whole) != string(theirs) {
				t.Errorf("%s differs, %v:\n%.300s\n%.300s", d.Event, err, whole, theirs)
			}
		}
	}
}

// logsOfResponse returns the one log that a delivery refers to.
func logsOfResponse(d job.Delivery, payload rawjson.Value) map[uuid.UUID]rawjson.Value {
	payloads := map[uuid.UUID]rawjson.Value{}
	for _, p := range d.Parts {
		payloads[p.Log] = payload
	}
	return payloads
}

func TestUnstored_DiscardsTheJobOrRemovesTheItem(t *testing.T) {
	item := recurring(`{"url":"https://x","repeat_every":60,` + hooks + `}`)
	ended := due.Add(time.Second)
	snapshot := &store.Snapshot{Now: ended, Job: item.Job, Schedule: item.Schedule}
	a := Begin(item, due, nil)
	ends := a.Unstored(1, Span{Began: due, Ended: ended})
	told := ends[0].Decide(snapshot)
	if told.Job.State != job.Discarded || told.Next == nil || logEvents(told.Logs) != job.EventError ||
		events(told.Deliveries) != "error finished callback" {
		t.Errorf("first: %s, next %v, %s, %s", told.Job.State, told.Next, logEvents(told.Logs), events(told.Deliveries))
	}
	if want := `{"kind":"unstored",`; !strings.HasPrefix(string(told.Logs[0].Payload), want) {
		t.Errorf("logged as %s", told.Logs[0].Payload)
	}
	bare := ends[1].Decide(snapshot)
	if bare.Job.State != job.Discarded || bare.Next != nil || !bare.Schedule.DisabledAt.Equal(ended) || len(bare.Deliveries) != 0 ||
		len(bare.Logs) != 1 {
		t.Errorf("second: %+v", bare)
	}
	if gone := ends[2].Decide(snapshot); gone.Job != nil || gone.Schedule != nil || len(gone.Logs) != 0 {
		t.Errorf("last: %+v", gone)
	}
}
