package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestAlerts_ListWhatTheyHaveSent(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	b.want(b.post("/alerts", "name", "oncall", "on", "failed", "webhook", "https://example.com/"), 303, "/alerts?done=alertcreated")
	b.want(b.post("/alerts", "name", "billing", "on", "failed", "webhook", "https://example.com/"), 303, "/alerts?done=alertcreated")
	if strings.Contains(b.get("/alerts").body, `id="sent"`) {
		t.Error("alerts that have sent nothing have a list of what they sent")
	}
	run := w.create(owner, `{"url":"https://example.com/","repeat_every":60,"name":"Invoices"}`)
	notice := func(kind string, failures int) string {
		return fmt.Sprintf(`{"at":%q,"type":"alert.%s","schedule":%q,"job":%d,"failures":%d,"to":["example.com","Slack"],"left":2}`,
			w.clock().Format("2006-01-02T15:04:05Z07:00"), kind, run.ScheduleID, run.Number, failures)
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
	keep("oncall", strings.TrimSuffix(strings.Repeat(notice("failed", 3)+",", 20), ","))
	keep("billing", strings.TrimSuffix(strings.Repeat(notice("recovered", 0)+",", 10), ","))
	page := b.get("/alerts")
	b.wantAll(page, `id="sent"`, "Invoices", "3 in a row", "example.com, Slack; 2 e-mails over the limit",
		"last sent", "accepted", `href="/alerts?from=25#sent"`)
	if n := strings.Count(page.body, `data-label="Reports"`); n != noticesShown {
		t.Errorf("a page lists %d messages", n)
	}
	older := b.get("/alerts?from=25")
	if n := strings.Count(older.body, `data-label="Reports"`); n != 5 || !strings.Contains(older.body, `href="/alerts#sent"`) {
		t.Errorf("the last page lists %d messages", n)
	}
	for _, from := range []string{"-1", "9999999999999999999", "x"} {
		b.want(b.get("/alerts?from="+from), 200, `id="sent"`)
	}
	b.want(b.post("/schedules/"+run.ScheduleID.String()+"/delete"), 303, "/schedules?done=deleted")
	b.want(b.get("/alerts"), 200, "example.com, Slack")
	w.logs(run, job.EventAlertFailed, `{"type":"alert.failed","url":"https://example.com/"}`)
	b.wantAll(b.get("/alerts"), "1 given up", "accepted")
}
