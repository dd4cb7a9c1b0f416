package dashboard

import (
	"regexp"
	"strings"
	"testing"
)

func TestUndo_ReschedulesBack(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "2026-03-04 at 12:00:05", "zone", "UTC"), 303, "/jobs/1?done=created")
	there := b.post("/jobs/1/when", "when", "in 5 days", "zone", "UTC").Header.Get("Location")
	if there != "/jobs/1?done=rescheduled&undo=2026-03-04T12:00:05.000Z" {
		t.Fatalf("redirected to %s", there)
	}
	b.wantAll(b.get(there), "The job has been rescheduled", "Undo", `value="2026-03-04T12:00:05.000Z"`)
	b.post("/jobs/1/when", "when", "2026-03-04T12:00:05.000Z", "zone", "UTC")
	b.wantAll(b.get("/jobs/1"), "2026-03-04 12:00:05 UTC")
	for _, odd := range []string{"2026-02-01T00:00:00.000Z", "x", ""} {
		if page := b.get("/jobs/1?done=rescheduled&undo=" + odd); strings.Contains(page.body, "Undo") {
			t.Errorf("undoing to %q is offered", odd)
		}
	}
}

func TestUndo_PauseOfASchedule(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "every day at 9:00", "zone", "UTC"), 303, "/jobs/1?done=created")
	page := b.get("/schedules")
	id := regexp.MustCompile(`/schedules/[0-9a-f-]{36}`).FindString(page.body)
	for _, from := range []string{"", "list"} {
		there := b.post(id+"/disable", "from", from).Header.Get("Location")
		b.wantAll(b.get(there), "The schedule is paused", "Undo", `action="`+id+`/enable"`)
		there = b.post(id+"/enable", "from", from).Header.Get("Location")
		b.wantAll(b.get(there), "The schedule is resumed", "Undo", `action="`+id+`/disable"`)
	}
	if page := b.get("/schedules?done=disabled&undo=x"); strings.Contains(page.body, "Undo") {
		t.Error("undo is offered for no schedule")
	}
}
