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
