package dashboard

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestReschedule_ShowsWhatADueTimeChanges tests the preview of another due time: it names the
// difference, the end of the time to start, and the times of the schedule that pass.
func TestReschedule_ShowsWhatADueTimeChanges(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	w.create(ann, `{"url":"https://example.com","schedule_in":3600,"expires_in":60}`)
	w.create(ann, `{"url":"https://example.com","schedule_in":3600,"repeat_every":3600}`)
	w.create(ann, `{"url":"https://example.com","schedule_in":3600,"repeat_every":3600,"ends_at":"`+
		w.clock().Add(150*time.Minute).UTC().Format(time.RFC3339)+`"}`)
	w.create(ann, `{"url":"https://example.com","schedule_in":3600,"repeat_every":3600,"catch_up":"none"}`)
	preview := func(job, when string) *result {
		return b.post("/jobs/"+job+"/when/preview", "when", when, "zone", "UTC")
	}
	b.wantAll(preview("1", "in 3 hours"), "Later than planned by 2 h", "discarded if it can&#39;t start by", `id="reschedule" open`)
	b.wantAll(preview("4", "in 3 hours"), "discarded if it can&#39;t start by") // before the schedule's next time
	if page := preview("2", "in 3 hours"); strings.Contains(page.body, "discarded if") {
		t.Error("a run that is caught up is shown as one that expires")
	}
	b.wantAll(preview("1", "in 10 minutes"), "Earlier than planned by 50 min.")
	b.wantAll(preview("1", "now"), "the job starts at once")
	b.wantAll(preview("2", "in 3 hours"), "Only this run is rescheduled. Until then 2 further times of the schedule pass")
	b.wantAll(preview("2", "in 500 days"), "100 or more further times")
	b.wantAll(preview("3", "in 500 days"), "Until then 1 further time of the schedule passes")
	b.wantAll(preview("2", "in 61 minutes"), "Only this run is rescheduled: the schedule stays as it is.")
	b.want(preview("1", "every day"), 422, "is a recurrence")
	b.want(preview("1", "soonish"), 422, "")
	b.want(preview("99", "in 3 hours"), 404, "")
	if page := b.get("/jobs/1"); !strings.Contains(page.body, "in 59 min") && !strings.Contains(page.body, "in 1 h") {
		t.Error("a preview has changed the job")
	}
}

func TestUndo_ReschedulesBack(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "2026-03-04 at 12:00:05", "zone",
		"UTC"), 303, "/jobs/1?done=created")
	b.want(b.post("/jobs/1/when", "when", "in 5 days", "zone", "UTC"), 303, "/jobs/1?done=rescheduled")
	b.wantAll(b.get("/jobs/1?done=rescheduled"), "The job has been rescheduled", "Undo", `value="2026-03-04T12:00:05.000000Z"`)
	if page := b.get("/jobs/1?done=rescheduled"); strings.Contains(page.body, "Undo") {
		t.Error("undo is offered twice")
	}
	b.want(b.post("/jobs/1/when", "when", "2026-03-04T12:00:05.000000Z", "zone", "UTC"), 303, "/jobs/1?done=rescheduled")
	b.wantAll(b.get("/jobs/1"), "2026-03-04 12:00:05 UTC")
	session := b.client.Jar.Cookies(b.get("/jobs").Request.URL)
	for _, odd := range []string{"rescheduled|1|2026-02-01T00:00:00.000Z", "rescheduled|2|2026-03-05T00:00:00.000Z", "rescheduled|1|x",
		"rescheduled|1", "rescheduled", "disabled|1", "|"} {
		b.client.Jar.SetCookies(b.get("/jobs").Request.URL, append(session, &http.Cookie{Name: undoCookie, Value: odd, Path: "/"}))
		if page := b.get("/jobs/1?done=rescheduled"); strings.Contains(page.body, "Undo") {
			t.Errorf("undoing to %q is offered", odd)
		}
	}
}

func TestUndo_PauseOfASchedule(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "every day at 9:00", "zone",
		"UTC"), 303, "/jobs/1?done=created")
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

func TestUndo_CreatesACancelledJobAgain(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	offered := func(body, want string) {
		t.Helper()
		n := strconv.FormatInt(w.create(owner, body).Number, 10)
		b.want(b.post("/jobs/"+n+"/cancel"), 303, "/jobs/"+n+"?done=cancelled")
		page := b.get("/jobs/" + n + "?done=cancelled").body
		if want == "" && strings.Contains(page, "Create again") {
			t.Errorf("creating %s again is offered", body)
		}
		if want != "" && !(strings.Contains(page, "Create again") && strings.Contains(page, `action="/jobs/`+n+`/rerun"`) &&
			strings.Contains(page, want)) {
			t.Errorf("creating %s again is not offered", body)
		}
	}
	offered(`{"url":"https://example.com/a","scheduled_at":"2026-03-04T12:00:05.123456Z","name":"Once"}`,
		`value="2026-03-04T12:00:05.123456Z"`)
	b.want(b.post("/jobs/1/rerun", "at", "2026-03-04T12:00:05.123456Z"), 303, "/jobs/2?done=recreated")
	b.wantAll(b.get("/jobs/2?done=recreated"), "This is the new job, with the same request and time", "Once", "2026-03-04 12:00:05.123 UTC")
	b.want(b.post("/jobs/1/rerun", "at", "never"), 422, "")
	offered(`{"url":"https://example.com/a","schedule_in":60,"idempotency_key":"k"}`, "")
	offered(`{"url":"https://example.com/a","cron":"@daily"}`, "")
	offered(`{"url":"https://example.com/a"}`, "") // it is due
}

func TestUndo_EditsOfALimit(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.post("/limits", "key", "host:api.example.com", "calls", "100", "per", "1 minute", "parallel", "5")
	if page := b.get("/limits?done=limitchanged"); strings.Contains(page.body, "Undo") {
		t.Error("a link makes undo be offered")
	}
	b.want(b.post("/limits", "key", "host:api.example.com", "parallel", "1"), 303, "/limits?done=limitchanged")
	b.wantAll(b.get("/limits?done=limitchanged"), "Undo", `action="/limits"`, `name="calls" value="100"`, `name="per" value="60 seconds"`,
		`name="parallel" value="5"`)
	b.want(b.post("/limits", "key", "host:api.example.com", "calls", "100", "per", "60 seconds", "parallel", "5"), 303,
		"/limits?done=limitchanged")
	b.want(b.post("/limits/host:api.example.com/delete"), 303, "/limits?done=limitdeleted")
	b.wantAll(b.get("/limits?done=limitdeleted"), "Undo", `name="key" value="host:api.example.com"`, `name="calls" value="100"`)
	b.want(b.post("/limits/host:api.example.com/delete"), 404, "no such limit")
}
