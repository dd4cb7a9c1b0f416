package alert

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// kept plays the part of the store for one account.
type kept struct {
	t      *testing.T
	now    time.Time
	data   rawjson.Value
	alerts []*store.Alert
	states map[store.AlertStateKey]store.AlertState
	sent   []job.Delivery
	// withdrawn are the types of messages that the last pass has withdrawn.
	withdrawn []string
	pending   map[string]string // the types of all messages by their ids
	lasts     bool
	muted     bool // someSchedule
	retention time.Duration
	number    int64
}

func newKept(t *testing.T, definitions ...string) *kept {
	k := &kept{t: t, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), states: map[store.AlertStateKey]store.AlertState{},
		pending: map[string]string{}, lasts: true}
	for i, text := range definitions {
		draft, err := Read(rawjson.Value(text), Checks{Mail: true})
		if err != nil {
			t.Fatal(err)
		}
		k.alerts = append(k.alerts, &store.Alert{Name: fmt.Sprint("a", i), Definition: draft.JSON, Match: draft.Match})
	}
	return k
}

// track passes events and late runs to the tracker and returns the types of what it
// sends, in order.
func (k *kept) track(late []LateRun, events ...store.AlertOutcome) string {
	k.t.Helper()
	m := &store.AlertSnapshot{Now: k.now, Data: k.data, Alerts: k.alerts, Events: events}
	m.Muted = map[uuid.UUID]bool{someSchedule: k.muted}
	for range late {
		m.Late = append(m.Late, true)
	}
	for _, s := range k.states {
		s.Lasts = k.lasts
		m.States = append(m.States, s)
	}
	c := Track(m, Input{Late: late, Retention: k.retention})
	k.data = c.Data
	for _, s := range c.States {
		k.states[s.AlertStateKey] = s
	}
	for _, key := range c.Ended {
		delete(k.states, key)
	}
	k.sent, k.withdrawn = c.Deliveries, nil
	for _, m := range c.Withdrawn {
		k.withdrawn = append(k.withdrawn, k.pending[m.ID])
	}
	var types []string
	for _, d := range c.Deliveries {
		types = append(types, strings.TrimPrefix(d.Event, "alert."))
		k.pending[d.MessageID] = fmt.Sprintf("%s of job %d", types[len(types)-1], d.Job)
	}
	return strings.Join(types, " ")
}

var someSchedule = uuid.MustParse("0198c0de-0000-7000-8000-000000000001")

// events returns outcomes from a text: F failed, S succeeded, K skipped, E ended.
func (k *kept) events(schedule uuid.UUID, tags, text string) (all []store.AlertOutcome) {
	for _, c := range text {
		k.number++
		kind := map[rune]store.AlertOutcomeKind{'F': store.AlertFailed, 'S': store.AlertSucceeded, 'K': store.AlertSkipped,
			'E': store.AlertEnded}[c]
		detail := `{"status":503,"error":{"kind":"status","message":"the target responded with 503"},"excerpt":"no","url":"https://x/"}`
		if kind != store.AlertFailed {
			detail = `{"status":200,"url":"https://x/"}`
		}
		all = append(all, store.AlertOutcome{Job: k.number, Schedule: schedule, Kind: kind, At: k.now, Tags: tags,
			Detail: rawjson.Value(detail)})
	}
	return all
}

const hook = `"to":[{"webhook":"https://example.com/"}]`

func TestTrack_ReportsEachChangeOnce(t *testing.T) {
	// atOnce differs where a success overtakes a failure that was not reported yet.
	for _, c := range []struct{ alert, outcomes, want, atOnce string }{
		{`"on":["failed"]`, "F", "failed", "failed"},
		{`"on":["failed"]`, "FFF", "failed", "failed"},
		{`"on":["failed"]`, "FSF", "failed failed", "failed"},
		{`"on":["failed"],"after":3`, "FFSFF", "", ""},
		{`"on":["failed"],"after":3`, "FFSFFF", "failed", "failed"},
		{`"on":["failed","recovered"],"after":2`, "FSFFFSSF", "failed recovered", ""},
		{`"on":["failed","recovered"]`, "FSFF", "failed recovered failed", "failed"},
		{`"on":["failed","recovered"]`, "SSS", "", ""},
		{`"on":["recovered"]`, "FFSS", "recovered", "recovered"},
		{`"on":["recovered"],"after":3`, "FFSFFFFSFS", "recovered", "recovered"},
		{`"on":["recovered","late"]`, "FSFS", "recovered recovered", "recovered recovered"},
		{`"on":["skipped"]`, "KFK", "skipped skipped", "skipped skipped"},
		{`"on":["ended"]`, "FESKF", "ended", "ended"},
		{`"on":["failed","ended"]`, "FEE", "failed ended ended", "failed ended ended"},
		{`"on":["failed","recovered"],"after":2`, "FEFES", "failed recovered", ""},
		{`"on":["failed"]`, "KE", "", ""},
		{`"on":["late"]`, "FSKE", "", ""},
	} {
		for _, schedule := range []uuid.UUID{uuid.Nil, someSchedule} {
			k := newKept(t, `{`+c.alert+`,`+hook+`}`)
			if got := k.track(nil, k.events(schedule, "", c.outcomes)...); got != c.atOnce {
				t.Errorf("%s at once: %s: sent %q, want %q", c.alert, c.outcomes, got, c.atOnce)
			}
			k = newKept(t, `{`+c.alert+`,`+hook+`}`)
			var got []string
			for _, e := range k.events(schedule, "", c.outcomes) {
				if sent := k.track(nil, e); sent != "" {
					got = append(got, sent)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("%s one by one: %s: sent %q, want %q", c.alert, c.outcomes, got, c.want)
			}
		}
	}
}

func TestTrack_CountsEachScheduleByItself(t *testing.T) {
	k := newKept(t, `{"on":["failed"],"after":2,`+hook+`}`)
	other := uuid.MustParse("0198c0de-0000-7000-8000-000000000002")
	for i, schedule := range []uuid.UUID{someSchedule, other, uuid.Nil} {
		if got := k.track(nil, k.events(schedule, "", "F")...); got != "" {
			t.Errorf("first failure of %d: sent %q", i, got)
		}
	}
	if got := k.track(nil, k.events(other, "", "F")...); got != "failed" {
		t.Errorf("second failure: sent %q", got)
	}
	const want = `"data":{"alert":"a0","schedule":"0198c0de-0000-7000-8000-000000000002","job":4,"failures":2,"status":503,` +
		`"error":{"kind":"status","message":"the target responded with 503"},"excerpt":"no","url":"https://x/"}}`
	if body := string(k.sent[0].Body); !strings.HasSuffix(body, want) {
		t.Errorf("body %s", body)
	}
}

func TestTrack_TellsOnlyAlertsThatMatch(t *testing.T) {
	k := newKept(t, `{"on":["failed"],"match":{"tags":["a","b"]},`+hook+`}`,
		`{"on":["failed"],"match":{"schedule_id":"`+someSchedule.String()+`"},`+hook+`}`)
	for _, c := range []struct {
		schedule   uuid.UUID
		tags, want string
	}{{uuid.Nil, "a", ""}, {uuid.Nil, "", ""}, {someSchedule, "a c", "failed"}, {uuid.Nil, "b c a", "failed"}} {
		if got := k.track(nil, k.events(c.schedule, c.tags, "F")...); got != c.want {
			t.Errorf("tags %q of %v: sent %q, want %q", c.tags, c.schedule, got, c.want)
		}
	}
}

// TestTrack_HoldsTheFailuresOfMutedSchedules: the first failure after a mute is reported,
// whatever was before, and what is no failure is reported as ever.
func TestTrack_HoldsTheFailuresOfMutedSchedules(t *testing.T) {
	for _, c := range []struct{ alert, outcomes, want string }{ // what is in parentheses happens while it is muted
		{`"on":["failed"]`, "(F)", ""},
		{`"on":["failed"]`, "(FF)FF", "failed"},
		{`"on":["failed","recovered"]`, "(FS)F", "failed"},
		{`"on":["failed","recovered"]`, "F(FS)F", "failed recovered failed"},
		{`"on":["failed","recovered"]`, "F(F)FFS", "failed failed recovered"},
		{`"on":["failed"]`, "F()F", "failed"},
		{`"on":["failed"],"after":3`, "(F)FF", "failed"},
		{`"on":["failed"],"after":3`, "FF(F)F", "failed"},
		{`"on":["recovered"]`, "(FS)", "recovered"},
		{`"on":["failed","ended","skipped"]`, "(FKE)", "skipped ended"},
	} {
		k := newKept(t, `{`+c.alert+`,`+hook+`}`)
		var got []string
		for _, outcome := range c.outcomes {
			if k.muted = outcome == '(' || k.muted && outcome != ')'; outcome == '(' || outcome == ')' {
				continue
			}
			if sent := k.track(nil, k.events(someSchedule, "", string(outcome))...); sent != "" {
				got = append(got, sent)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s: sent %q, want %q", c.alert, c.outcomes, got, c.want)
		}
	}
	k := newKept(t, `{"on":["failed"],"remind_every":60,`+hook+`}`)
	k.track(nil, k.events(someSchedule, "", "F")...)
	for _, muted := range []bool{true, true, false} {
		k.now, k.muted = k.now.Add(time.Minute), muted
		if got := k.track(nil); (got == "failed") == muted {
			t.Errorf("muted %v: the reminder is %q", muted, got)
		}
	}
}

func TestTrack_RemindsWhileItLasts(t *testing.T) {
	k := newKept(t, `{"on":["failed","recovered"],"remind_every":60,`+hook+`}`)
	step := func(after time.Duration, want string, events ...store.AlertOutcome) {
		t.Helper()
		k.now = k.now.Add(after)
		if got := k.track(nil, events...); got != want {
			t.Errorf("%s: sent %q, want %q", k.now.Format(time.TimeOnly), got, want)
		}
	}
	step(0, "failed", k.events(someSchedule, "", "F")...)
	step(59*time.Second, "")
	step(time.Second, "failed")
	step(30*time.Second, "", k.events(someSchedule, "", "F")...)
	step(30*time.Second, "failed")
	if body := string(k.sent[0].Body); !strings.Contains(body, `"failures":2,"status":503`) {
		t.Errorf("reminder %s", body)
	}
	k.lasts = false // the schedule is disabled
	step(time.Minute, "")
	step(time.Hour, "")
	k.lasts = true
	step(0, "", k.events(someSchedule, "", "F")...)
	step(time.Minute, "failed")
	step(time.Minute, "recovered", k.events(someSchedule, "", "S")...)
	step(time.Hour, "")
	if len(k.states) != 0 {
		t.Errorf("states remain: %v", k.states)
	}
}

func TestTrack_MergesMoreThan20MessagesAMinute(t *testing.T) {
	k := newKept(t, `{"on":["failed","skipped"],`+hook+`}`)
	if got := strings.Fields(k.track(nil, k.events(someSchedule, "", "F"+strings.Repeat("K", 30))...)); len(got) != 20 {
		t.Errorf("sent %d messages, want 20", len(got))
	}
	if want := k.now.Add(time.Minute); !k.alerts[0].WakeAt.Equal(want) {
		t.Errorf("wakes at %v, want %v", k.alerts[0].WakeAt, want)
	}
	k.now = k.now.Add(59 * time.Second)
	if got := k.track(nil, k.events(someSchedule, "", "K")...); got != "" {
		t.Errorf("sent %q within the minute", got)
	}
	k.now = k.now.Add(time.Second)
	if got := k.track(nil); got != "merged" {
		t.Errorf("sent %q after the minute", got)
	}
	const want = `{"type":"alert.merged","timestamp":"2026-11-22T09:01:00.000000Z","data":{"alert":"a0","schedule":null,"job":32,"failures":0,"status":null,` +
		`"error":null,"excerpt":null,"url":null,"merged":{"alert.skipped":12}}}`
	if got := string(k.sent[0].Body); got != want {
		t.Errorf("body\n%s, want\n%s", got, want)
	}
	if !k.alerts[0].WakeAt.IsZero() {
		t.Errorf("wakes at %v, want never", k.alerts[0].WakeAt)
	}
	if got := strings.Fields(k.track(nil, k.events(someSchedule, "", strings.Repeat("K", 30))...)); len(got) != 19 {
		t.Errorf("sent %d messages in the minute that began with the merged one, want 19", len(got))
	}
}

func TestTrack_BoundsEMailsOfAnAccount(t *testing.T) {
	k := newKept(t, `{"on":["skipped"],"to":[{"email":"a@example.com"},{"email":"b@example.com"},{"email":"c@example.com"}]}`)
	mails := 0
	for range 10 {
		k.track(nil, k.events(someSchedule, "", strings.Repeat("K", 15))...)
		mails += len(k.sent)
		k.now = k.now.Add(time.Minute)
	}
	if mails != 60 {
		t.Errorf("sent %d e-mails in 10 minutes, want 60", mails)
	}
	k.now = k.now.Add(time.Hour)
	k.track(nil, k.events(someSchedule, "", "K")...)
	// The other 130 messages were 3 e-mails each.
	if body := string(k.sent[0].Body); !strings.Contains(body, "390 e-mails of the hour before were not sent") {
		t.Errorf("e-mail %s", body)
	}
}

func TestTrack_ReportsEachLateRunOnce(t *testing.T) {
	k := newKept(t, `{"on":["late"],"late_by":60,`+hook+`}`, `{"on":["late"],"late_by":120,"match":{"tags":["x"]},`+hook+`}`)
	run := func(number int64, ago time.Duration, tags ...string) LateRun {
		return LateRun{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: number}, Due: k.now.Add(-ago)}, Schedule: someSchedule,
			Tags: tags}
	}
	runs := []LateRun{run(1, 130*time.Second, "x"), run(2, 125*time.Second), run(3, 70*time.Second, "x"), run(4, 59*time.Second, "x")}
	for i, want := range []string{"late late late late", "late", "late", "late", "", ""} {
		if got := k.track(runs); got != want {
			t.Errorf("pass %d: sent %q, want %q", i, got, want)
		}
		k.now = k.now.Add(30 * time.Second)
	}
}

func TestTrack_DoesNotReportRunsThatALimitHoldsBack(t *testing.T) {
	k := newKept(t, `{"on":["late"],`+hook+`}`)
	late := LateRun{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: 1}, Due: k.now.Add(-time.Hour)}}
	m := &store.AlertSnapshot{Now: k.now, Alerts: k.alerts, Late: []bool{true}}
	c := Track(m, Input{Late: []LateRun{late}, HeldBack: func(q store.QueueKey) bool { return q.Number == 1 }})
	if len(c.Deliveries) != 0 {
		t.Errorf("sent %s", c.Deliveries[0].Body)
	}
}

func TestTrack_WithdrawsFailuresThatASuccessOvertakes(t *testing.T) {
	k := newKept(t, `{"on":["failed","recovered"],"remind_every":60,"to":[{"webhook":"https://a.example/"},{"slack":"https://b.example/"}]}`,
		`{"on":["failed"],"match":{"tags":["other"]},`+hook+`}`)
	other := uuid.MustParse("0198c0de-0000-7000-8000-000000000002")
	k.track(nil, k.events(someSchedule, "other", "F")...)
	k.track(nil, k.events(other, "", "F")...)
	k.now = k.now.Add(time.Minute)
	k.track(nil) // a reminder
	if got := k.track(nil, k.events(someSchedule, "", "FS")...); got != "recovered recovered" {
		t.Errorf("sent %q", got)
	}
	for _, of := range k.withdrawn {
		if of != "failed of job 1" {
			t.Errorf("withdrew %q", k.withdrawn)
		}
	}
	if len(k.withdrawn) != 4 {
		t.Errorf("withdrew %q, want the first message and the reminder to two receivers", k.withdrawn)
	}
	k.track(nil, k.events(someSchedule, "", "S")...)
	if len(k.withdrawn) != 0 {
		t.Errorf("withdrew %q again", k.withdrawn)
	}
}

// The messages that a history keeps are bounded, however long a failure lasts.
func TestTrack_KeepsTheLatestMessages(t *testing.T) {
	var to []string
	for i := range MaxReceivers {
		to = append(to, fmt.Sprintf(`{"webhook":"https://%d.example/"}`, i))
	}
	k := newKept(t, `{"on":["failed"],"remind_every":60,"to":[`+strings.Join(to, ",")+`]}`)
	k.track(nil, k.events(someSchedule, "", "F")...)
	for range 10 {
		k.now = k.now.Add(time.Minute)
		k.track(nil)
	}
	k.track(nil, k.events(someSchedule, "", "S")...)
	if len(k.withdrawn) != 40 {
		t.Errorf("withdrew %d messages, want 40", len(k.withdrawn))
	}
}

// The tracker sends what a simple count says, whatever outcomes it gets at once: a
// failure that a success overtakes is not reported.
func TestTrack_AgreesWithACount(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		after := 1 + random.IntN(4)
		var outcomes strings.Builder
		for range random.IntN(60) {
			outcomes.WriteByte("FS"[random.IntN(2)])
		}
		k := newKept(t, fmt.Sprintf(`{"on":["failed","recovered"],"after":%d,%s}`, after, hook))
		var got, want []string
		row, told := 0, false
		text, events := outcomes.String(), k.events(someSchedule, "", outcomes.String())
		for len(events) > 0 {
			n := 1 + random.IntN(len(events))
			got = append(got, strings.Fields(k.track(nil, events[:n]...))...)
			for i, c := range text[:n] {
				switch {
				case c == 'S':
					if told {
						want = append(want, "recovered")
					}
					row, told = 0, false
				default:
					if row++; row >= after && !told && !strings.Contains(text[i+1:n], "S") {
						want, told = append(want, "failed"), true
					}
				}
			}
			text, events = text[n:], events[n:]
			k.now = k.now.Add(2 * time.Minute) // so that nothing is merged
		}
		if len(want) <= maxMessages && !slices.Equal(got, want) {
			t.Fatalf("after %d: %s: sent %v, want %v", after, outcomes.String(), got, want)
		}
	}
}

// E-mails that are held back in an hour are counted together with those that were not
// told of before.
func TestTrack_CountsTheEMailsOfQuietHours(t *testing.T) {
	k := newKept(t, `{"on":["skipped"],"to":[{"email":"a@example.com"},{"email":"b@example.com"}]}`)
	flood := func() {
		for range 4 {
			k.track(nil, k.events(someSchedule, "", strings.Repeat("K", 15))...)
			k.now = k.now.Add(time.Minute)
		}
	}
	flood() // 120 e-mails of which 60 are sent
	k.now = k.now.Add(time.Hour)
	k.track(nil) // the hour begins, and nothing is sent
	k.data = rawjson.Value(strings.Replace(string(k.data), `"hour":`, `"mails":60,"held":5,"hour":`, 1))
	k.now = k.now.Add(time.Hour)
	k.track(nil, k.events(someSchedule, "", "K")...)
	if body := string(k.sent[0].Body); !strings.Contains(body, "65 e-mails of the hour before were not sent") {
		t.Errorf("e-mail %s", body)
	}
}

// The bound on an account's deliveries counts every receiver.
func TestTrack_BoundsDeliveriesOfAnAccount(t *testing.T) {
	var to, alerts []string
	for i := range MaxReceivers {
		to = append(to, fmt.Sprintf(`{"webhook":"https://%d.example/"}`, i))
	}
	for range 11 { // 220 messages to 10 receivers
		alerts = append(alerts, `{"on":["skipped"],"to":[`+strings.Join(to, ",")+`]}`)
	}
	k := newKept(t, alerts...)
	k.track(nil, k.events(someSchedule, "", strings.Repeat("K", 20))...)
	if len(k.sent) != maxDeliveries {
		t.Errorf("sent %d deliveries in a minute, want %d", len(k.sent), maxDeliveries)
	}
	k = newKept(t, `{"on":["skipped"],"to":[`+strings.Join(to[:3], ",")+`]}`)
	k.data = encode(&accountData{Minute: k.now.UnixMicro(), Hour: k.now.UnixMicro(), Sent: maxDeliveries - 2})
	if got := k.track(nil, k.events(someSchedule, "", "K")...); got != "" {
		t.Errorf("sent %q, which exceeds the bound", got)
	}
}
