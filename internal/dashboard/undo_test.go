package dashboard

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestUndo_ReschedulesBack(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "2026-03-04 at 12:00:05", "zone", "UTC"), 303, "/jobs/1?done=created")
	b.want(b.post("/jobs/1/when", "when", "in 5 days", "zone", "UTC"), 303, "/jobs/1?done=rescheduled")
	b.wantAll(b.get("/jobs/1?done=rescheduled"), "The job has been rescheduled", "Undo", `value="2026-03-04T12:00:05.000Z"`)
	if page := b.get("/jobs/1?done=rescheduled"); strings.Contains(page.body, "Undo") {
		t.Error("undo is offered twice")
	}
	b.want(b.post("/jobs/1/when", "when", "2026-03-04T12:00:05.000Z", "zone", "UTC"), 303, "/jobs/1?done=rescheduled")
	b.wantAll(b.get("/jobs/1"), "2026-03-04 12:00:05 UTC")
	session := b.client.Jar.Cookies(b.get("/jobs").Request.URL)
	for _, odd := range []string{"rescheduled|1|2026-02-01T00:00:00.000Z", "rescheduled|2|2026-03-05T00:00:00.000Z", "rescheduled|1|x", "rescheduled|1", "rescheduled", "disabled|1", "|"} {
		b.client.Jar.SetCookies(b.get("/jobs").Request.URL, append(session, &http.Cookie{Name: undoCookie, Value: odd, Path: "/"}))
		if page := b.get("/jobs/1?done=rescheduled"); strings.Contains(page.body, "Undo") {
			t.Errorf("undoing to %q is offered", odd)
		}
	}
}

func TestUndo_PauseOfASchedule(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "every day at 9:00", "zone", "UTC"), 303, "/jobs/1?done=created")
	id := regexp.MustCompile(`/schedules/[0-9a-f-]{36}`).FindString(b.get("/schedules").body)
	for _, from := range []string{"", "list"} {
		there := b.post(id+"/disable", "from", from).Header.Get("Location")
		b.wantAll(b.get(there), "The schedule is paused", "Undo", `action="`+id+`/enable"`)
		there = b.post(id+"/enable", "from", from).Header.Get("Location")
		b.wantAll(b.get(there), "The schedule is resumed", "Undo", `action="`+id+`/disable"`)
	}
	if page := b.get("/schedules?done=disabled"); strings.Contains(page.body, "Undo") {
		t.Error("a link makes undo be offered")
	}
}
