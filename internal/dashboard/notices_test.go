package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestAlerts_ListWhatTheyHaveSent(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	for _, name := range []string{"oncall", "nightly", "billing"} {
		b.want(b.post("/alerts", "name", name, "on", "failed", "webhook", "https://example.com/", "slack", "https://hooks.example.com/x"),
			303, "/alerts?done=alertcreated")
	}
	if strings.Contains(b.get("/alerts").body, `id="sent"`) {
		t.Error("alerts that have sent nothing have a list of what they sent")
	}
	run := w.create(owner, `{"url":"https://example.com/","repeat_every":60,"name":"Invoices"}`)
	notice := func(kind string, failures int) string {
		return fmt.Sprintf(`{"at":%q,"type":"alert.%s","schedule":%q,"job":%d,"failures":%d,"to":["example.com","Slack"],"left":2}`,
			w.clock().UTC().Format("2006-01-02T15:04:05Z07:00"), kind, run.ScheduleID, run.Number, failures)
	}
	keep := func(name, notices string) {
		_, err := w.s.AlertTrack(w.Context(), owner.Number, nil, func(m *store.AlertSnapshot) *store.AlertChanges {
			c := &store.AlertChanges{Data: m.Data}
			for _, a := range m.Alerts {
				if a.Name == name {
					a.Data = rawjson.Value(`{"notices":[` + notices + `]}`)
					c.Alerts = append(c.Alerts, a)
				}
			}
			return c
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	keep("oncall", strings.TrimSuffix(strings.Repeat(notice("failed", 3)+",", 10), ","))
	keep("nightly", strings.TrimSuffix(strings.Repeat(notice("failed", 3)+",", 10), ","))
	keep("billing", strings.TrimSuffix(strings.Repeat(notice("recovered", 0)+",", 10), ","))
	page := b.get("/alerts")
	b.wantAll(page, `id="sent"`, "Invoices", "3 in a row", "example.com, Slack; 2 e-mails over the limit",
		"Last sent", "not known", `href="/alerts?from=25#sent"`)
	if n := strings.Count(page.body, `data-label="Outcome"`); n != noticesShown {
		t.Errorf("a page lists %d messages", n)
	}
	older := b.get("/alerts?from=25")
	if n := strings.Count(older.body, `data-label="Outcome"`); n != 5 || !strings.Contains(older.body, `href="/alerts#sent"`) {
		t.Errorf("the last page lists %d messages", n)
	}
	for _, from := range []string{"-1", "9999999999999999999", "x"} {
		b.want(b.get("/alerts?from="+from), 200, `id="sent"`)
	}
	b.want(b.post("/schedules/"+run.ScheduleID.String()+"/delete"), 303, "/schedules?done=deleted")
	b.want(b.get("/alerts"), 200, "example.com, Slack")
}

// TestAlerts_SayWhatTheQueueHas follows the messages of an alert to three receivers: they
// wait, then one waits for its third attempt, then none does, then all have an outcome.
func TestAlerts_SayWhatTheQueueHas(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	b.want(b.post("/alerts", "name", "oncall", "on", "failed", "webhook", "https://example.com/a\nhttps://example.net/b\nhttps://example.org/c"),
		303, "/alerts?done=alertcreated")
	run := w.create(owner, `{"url":"https://example.com/","repeat_every":60,"name":"Invoices"}`)
	track := func(change func(*store.AlertSnapshot) *store.AlertChanges) {
		t.Helper()
		if _, err := w.s.AlertTrack(w.Context(), owner.Number, nil, change); err != nil {
			t.Fatal(err)
		}
	}
	var sent []job.Delivery
	track(func(m *store.AlertSnapshot) *store.AlertChanges {
		m.Events = []store.AlertOutcome{{Owner: owner, Job: run.Number, Schedule: run.ScheduleID, Kind: store.AlertFailed, At: m.Now}}
		c := alert.Track(m, alert.Input{})
		sent = c.Deliveries
		return c
	})
	if len(sent) != 3 {
		t.Fatalf("%d messages are sent", len(sent))
	}
	shows := func(want string, others ...string) {
		t.Helper()
		page := b.wantAll(b.get("/alerts"), want, "example.com, example.net, example.org")
		for _, other := range append(others, "accepted</span>", "not known") {
			if strings.Contains(page.body, other) {
				t.Errorf("the page has %q beside %q", other, want)
			}
		}
	}
	shows("attempt 1 ", " of 3 still trying", "no longer waiting<")
	withdraw := func(messages ...store.AlertMessage) {
		track(func(m *store.AlertSnapshot) *store.AlertChanges {
			return &store.AlertChanges{Data: m.Data, Withdrawn: messages}
		})
	}
	withdraw(store.AlertMessage{Job: run.Number, ID: sent[0].MessageID}, store.AlertMessage{Job: run.Number, ID: sent[2].MessageID})
	shows("1 of 3 still trying")
	keys, err := w.s.QueuePeek(w.Context(), store.QueueKey{}, w.clock().Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	node, err := w.s.NodeStart(w.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key.Kind != store.KindDelivery {
			continue
		}
		held, err := w.s.QueueClaim(w.Context(), node, []store.Claim{{QueueKey: key, Attempt: 1, StartAt: w.clock()}})
		if err != nil || !held[0] {
			t.Fatal(held, err)
		}
		end := &store.DeliveryEnd{Attempt: 2, Again: w.clock().Add(5 * time.Minute)}
		if _, err := w.s.QueueFinish(w.Context(), []store.Finish{{QueueKey: key, Node: node, Attempt: 1, Delivery: end}}); err != nil {
			t.Fatal(err)
		}
	}
	shows("attempt 3 ", "no longer waiting<")
	withdraw(store.AlertMessage{Job: run.Number, ID: sent[1].MessageID})
	shows("no longer waiting<", "attempt ")

	track(func(m *store.AlertSnapshot) *store.AlertChanges {
		for i, answer := range []string{`"status":204,"attempts":1`, `"status":410,"given_up":true,"attempts":1`,
			`"error":"timeout","given_up":true,"attempts":9`} {
			m.Events = append(m.Events, store.AlertOutcome{Owner: owner, Job: run.Number, Kind: store.AlertAnswered, At: m.Now,
				Detail: rawjson.Value(`{"id":"` + sent[i].MessageID + `",` + answer + `}`)})
		}
		return alert.Track(m, alert.Input{})
	})
	b.wantAll(b.get("/alerts"), "1 of 3 accepted", ">204<", "given up", "example.net: HTTP 410 after 1 attempt<",
		"example.org: timeout after 9 attempts<")
}

// TestAlerts_ForgetWhatTheRetentionForgets: neither old messages nor receivers that an
// alert doesn't have any more are shown.
func TestAlerts_ForgetWhatTheRetentionForgets(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	put := func(webhooks, done string) {
		b.want(b.post("/alerts", "name", "oncall", "on", "failed", "webhook", webhooks), 303, "/alerts?done="+done)
	}
	put("https://example.com/\nhttps://gone.example.net/", "alertcreated")
	run := w.create(owner, `{"url":"https://example.com/","repeat_every":60,"name":"Invoices"}`)
	_, err := w.s.AlertTrack(w.Context(), owner.Number, nil, func(m *store.AlertSnapshot) *store.AlertChanges {
		m.Events = []store.AlertOutcome{{Owner: owner, Job: run.Number, Schedule: run.ScheduleID, Kind: store.AlertFailed, At: m.Now}}
		return alert.Track(m, alert.Input{})
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantAll(b.get("/alerts"), `id="sent"`, "example.com, gone.example.net")
	put("https://example.com/", "alertchanged")
	if page := b.wantAll(b.get("/alerts"), "example.com and 1 more"); strings.Contains(page.body, "gone.example.net") {
		t.Error("a removed receiver is shown")
	}
	w.pass(31 * 24 * time.Hour)
	again := w.browser()
	again.want(again.signIn("ann@example.com", secretWords), 303, "/")
	if page := again.get("/alerts"); strings.Contains(page.body, `id="sent"`) {
		t.Error("a message older than the retention is shown")
	}
}
