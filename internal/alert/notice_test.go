package alert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestNotices_KeepTheLatestWithoutCredentials(t *testing.T) {
	k := newKept(t, `{"on":["failed","recovered"],"to":[{"webhook":"https://example.com/in?token=hunter2"},{"slack":"https://hooks.example.com/T0/hunter2"}]}`)
	if n := k.notices(0); len(n) != 0 {
		t.Fatalf("a new alert has the notices %v", n)
	}
	for range MaxNotices {
		k.track(nil, k.events(someSchedule, "", "F")...)
		k.now = k.now.Add(time.Minute)
		k.track(nil, k.events(someSchedule, "", "S")...)
		k.now = k.now.Add(time.Minute)
	}
	notices := k.notices(0)
	if len(notices) < 6 || len(notices) > MaxNotices {
		t.Fatalf("%d notices are kept", len(notices))
	}
	last := notices[0]
	if last.Type != notify.Recovered || last.Job != k.number || last.Schedule != someSchedule || !last.At.Equal(k.now.Add(-time.Minute)) ||
		strings.Join(last.To, ", ") != "example.com, Slack" || last.Left != 0 ||
		last.Messages != 2 || notices[1].Type != notify.Failed || notices[1].Failures != 1 {
		t.Errorf("the latest notices are %+v and %+v", last, notices[1])
	}
	if strings.Contains(string(k.alerts[0].Data), "hunter2") {
		t.Errorf("the notices have a credential: %s", k.alerts[0].Data)
	}
}

// notices returns what is kept of the messages of an alert.
func (k *kept) notices(place int) []Notice {
	return ReadNotices(k.alerts[place].Data, Parse(k.alerts[place].Definition), time.Time{})
}

func TestNotices_StandForTheMessagesInTheQueue(t *testing.T) {
	k := newKept(t, `{"on":["failed"],"to":[{"webhook":"https://a.example.com/"},{"email":"ann@example.com"},{"webhook":"https://b.example.com/"},
		{"webhook":"https://c.example.com/"}]}`)
	k.track(nil, k.events(someSchedule, "", "F")...)
	n := k.notices(0)[0]
	if n.Messages != 4 || len(k.sent) != 4 || strings.Join(n.To, " ") != "a.example.com ann@example.com b.example.com" {
		t.Fatalf("%d messages with the notice %+v", len(k.sent), n)
	}
	seen := map[string]bool{}
	for i := range k.sent {
		if id := k.sent[i].MessageID; id != MessageID(n.ID, i) || seen[id] {
			t.Errorf("message %d has the id %s", i, id)
		}
		seen[k.sent[i].MessageID] = true
	}
}

func TestNotices_KeepWhatReceiversAnswered(t *testing.T) {
	k := newKept(t, `{"on":["failed"],"to":[{"webhook":"https://a.example.com/"},{"email":"ann@example.com"},{"slack":"https://b.example.com/"}]}`)
	k.track(nil, k.events(someSchedule, "", "F")...)
	sent := k.notices(0)[0].ID
	answer := func(place int, a store.AlertAnswer) store.AlertOutcome {
		a.ID = MessageID(sent, place)
		return store.AlertOutcome{Job: k.number, Kind: store.AlertAnswered, At: k.now, Detail: encode(&a)}
	}
	strange := answer(0, store.AlertAnswer{Status: 500})
	strange.Job++
	if more := k.track(nil, answer(1, store.AlertAnswer{Status: 250, Attempts: 2}), strange); more != "" {
		t.Errorf("an answer sent %q", more)
	}
	k.track(nil, answer(0, store.AlertAnswer{Status: 410, GivenUp: true, Attempts: 1}),
		answer(2, store.AlertAnswer{Error: job.KindTimeout, GivenUp: true, Attempts: 9}), answer(1, store.AlertAnswer{Status: 250, Attempts: 2}))
	want := []Result{{Place: 0, Status: 410, GivenUp: 1}, {Place: 2, Error: job.KindTimeout, GivenUp: 9}, {Place: 1, Status: 250}}
	if got := k.notices(0)[0].Results; !slices.Equal(got, want) {
		t.Errorf("the results are %+v, want %+v", got, want)
	}
	if len(k.states) != 1 {
		t.Errorf("answers changed the states: %v", k.states)
	}
}

// TestNotices_AreBounded: what is kept stays within its bytes, with as long and as many
// receivers as possible.
func TestNotices_AreBounded(t *testing.T) {
	var to []string
	for i := range MaxReceivers {
		to = append(to, fmt.Sprintf(`{"webhook":"https://%d%s.example.com/"}`, i, strings.Repeat("."+strings.Repeat("a", 40), 3)))
	}
	k := newKept(t, `{"on":["failed"],"to":[`+strings.Join(to, ",")+`]}`)
	for range 3 * MaxNotices {
		k.track(nil, k.events(someSchedule, "", "F")...)
		k.now = k.now.Add(time.Minute)
		k.track(nil, k.events(someSchedule, "", "S")...)
		k.now = k.now.Add(time.Minute)
	}
	var d alertData
	decode(k.alerts[0].Data, &d)
	if size := len(encode(d.Notices)); size > MaxNoticeBytes || len(d.Notices) < 3 {
		t.Errorf("%d notices are kept in %d bytes", len(d.Notices), size)
	}
	if size := len(k.alerts[0].Data); size > MaxNoticeBytes+1024 {
		t.Errorf("an alert keeps %d bytes", size)
	}
	worst := alertData{Notices: make([]Notice, MaxNotices)}
	var definition Definition
	for i := range maxNamed {
		r := Receiver{Channel: job.AlertMail, Target: fmt.Sprint("mailto:", i, strings.Repeat("<", 200))}
		definition.To = append(definition.To, r)
		for n := range worst.Notices {
			worst.Notices[n].add(&r)
		}
	}
	for n := range worst.Notices {
		for place := range MaxReceivers {
			worst.Notices[n].keep(place, &store.AlertAnswer{Error: job.KindInterrupted, GivenUp: true, Attempts: 99})
		}
	}
	worst.pruneNotices(&definition, time.Time{})
	if size := len(encode(worst.Notices)); size > MaxNoticeBytes || len(worst.Notices) == 0 {
		t.Errorf("%d notices are kept in %d bytes with the worst names", len(worst.Notices), size)
	}
}

func TestNotices_ForgetReceiversAndOldMessages(t *testing.T) {
	k := newKept(t, `{"on":["failed"],"to":[{"email":"ann@example.com"},{"email":"ben@example.com"}]}`)
	k.retention = time.Hour
	k.track(nil, k.events(someSchedule, "", "F")...)
	draft, err := Read(rawjson.Value(`{"on":["failed"],"to":[{"email":"ben@example.com"}]}`), Checks{Mail: true})
	if err != nil {
		t.Fatal(err)
	}
	k.alerts[0].Definition = draft.JSON
	if n := k.notices(0); len(n) != 1 || strings.Join(n[0].To, " ") != "ben@example.com" || n[0].Messages != 2 {
		t.Errorf("the notices are %+v", n)
	}
	k.now = k.now.Add(30 * time.Minute)
	k.track(nil, k.events(uuid.Nil, "", "F")...)
	if n := k.notices(0); len(n) != 2 || strings.Contains(string(k.alerts[0].Data), "ann@") {
		t.Errorf("%d notices are stored as %s", len(n), k.alerts[0].Data)
	}
	k.now = k.now.Add(45 * time.Minute)
	if n := ReadNotices(k.alerts[0].Data, &draft.Definition, Since(k.now, k.retention)); len(n) != 1 {
		t.Errorf("%d notices are younger than the retention", len(n))
	}
	k.track(nil, k.events(uuid.Nil, "", "SF")...)
	if n := k.notices(0); len(n) != 2 || !n[1].At.Equal(k.now.Add(-45*time.Minute)) {
		t.Errorf("%d notices are kept", len(n))
	}
}
