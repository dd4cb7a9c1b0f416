package dashboard

import (
	"strings"
	"testing"
	"time"
)

func TestLimits_SavePauseAndDelete(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/limits"), 200, "No limits yet")
	b.want(b.post("/limits", "key", "stripe", "calls", "100", "per", "1 minute", "parallel", "5"), 303, "/limits?done=limitcreated")
	b.want(b.get("/limits"), 200, "100 calls in 1 minute, 5 at once")
	b.want(b.get("/limits?key=stripe"), 200, `value="60 seconds"`)
	b.want(b.post("/limits", "key", "host:api.example.com", "parallel", "1"), 303, "/limits?done=limitcreated")
	b.want(b.get("/limits/host:api.example.com"), 200, "1 at once")

	b.want(b.post("/limits/stripe/pause"), 303, "/limits/stripe?done=limitpaused")
	w.create(w.owner("ann@example.com"), `{"url":"https://example.com","limits":["stripe"]}`)
	w.pass(time.Second)
	use := b.want(b.get("/limits/stripe"), 200, "paused")
	b.want(use, 200, "100 calls in 1 minute, 5 at once")
	b.wantAll(use, "Unfinished jobs that name it", `href="/jobs/1"`)
	b.wantAll(b.get("/limits"), `href="/limits/stripe#waiting"`, "1 job waits since 12:00 UTC")
	b.want(b.get("/limits/stripe?part=use"), 200, `id="use"`)
	b.want(b.get("/jobs/1"), 200, `href="/limits/stripe"`)
	b.want(b.post("/limits/stripe/resume"), 303, "/limits/stripe?done=limitresumed")
	if strings.Contains(b.get("/limits/stripe").body, "paused") {
		t.Error("it is still paused")
	}
	b.want(b.post("/limits/stripe/delete"), 409, "1 unfinished job names this limit")
	b.want(b.post("/limits/host:api.example.com/delete"), 303, "/limits?done=limitdeleted")
	b.want(b.get("/limits/nothing"), 404, "no such limit")

	for _, c := range [][]string{
		{"Key must", "key", "bad key", "parallel", "1"},
		{"Calls must be at least 1", "key", "x", "calls", "0", "per", "1 minute"},
		{"In is required", "key", "x", "calls", "5"},
		{"In must", "key", "x", "calls", "5", "per", "soon"},
		{"At once must be a whole number", "key", "x", "parallel", "many"},
	} {
		b.want(b.post("/limits", c[1:]...), 422, c[0])
	}
}

func TestAudit_ShowsEdits(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.post("/limits", "key", "stripe", "parallel", "5")
	b.post("/limits/stripe/pause")
	b.post("/limits/stripe/delete")
	b.want(b.post("/alerts", "name", "nightly", "on", "failed", "webhook", "https://hooks.example.com/private"), 303,
		"/alerts?done=alertcreated")
	b.post("/alerts/nightly/delete")
	for event, want := range map[string]string{
		"limit.created": "stripe: 5 at once", "limit.changed": "stripe: 5 at once, paused", "limit.deleted": "Limit deleted",
		"alert.created": "nightly: on failed, to hooks.example.com", "alert.deleted": "Alert deleted",
	} {
		page := b.want(b.get("/settings/audit?event="+event), 200, want)
		b.want(page, 200, "Dashboard")
		if strings.Contains(page.body, "/private") {
			t.Errorf("%s contains the path of a receiver", event)
		}
	}
}
