package dashboard

import (
	"regexp"
	"strings"
	"testing"
)

func TestOperations_StartFromAFilteredList(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for range 3 {
		w.create(ann, `{"url":"https://example.com","tags":["import"],"schedule_in":3600}`)
	}
	w.create(ann, `{"url":"https://example.com","schedule_in":3600}`)
	b.want(b.get("/operations"), 200, "No operations yet")
	if strings.Contains(b.get("/jobs").body, "Change all matching jobs") {
		t.Error("a list without filters offers an operation")
	}
	b.want(b.get("/jobs?tag=import&state=available"), 200, `href="/operations/new?state=available&amp;tag=import"`)
	page := b.want(b.get("/operations/new?state=available&tag=import"), 200, `value="import"`)
	form := page.inputs("/operations")
	form.Set("go", "count")
	form.Set("action", "reschedule")
	form.Set("when", "in 2 hours")
	form.Set("spread", "10 minutes")
	counted := b.want(b.do("POST", "/operations", form), 200, "<strong>3</strong>")
	b.want(counted, 200, "Nothing has changed yet")
	b.want(counted, 200, "&#34;spread&#34;: [10, &#34;minutes&#34;]")
	form = counted.inputs("/operations")
	form.Set("go", "start")
	started := b.do("POST", "/operations", form)
	at := started.Header.Get("Location")
	if started.StatusCode != 303 || !regexp.MustCompile(`^/operations/[0-9a-f-]{36}$`).MatchString(at) {
		t.Fatalf("starting: %d to %s", started.StatusCode, at)
	}
	b.want(b.get(at), 200, "All scheduled jobs with tags import")
	b.want(b.get(at), 200, `hx-trigger="every 2s"`)
	b.want(b.get(at+"?part=operation"), 200, `id="operation"`)
	b.want(b.do("POST", "/operations", form), 409, "Another operation is running")
	b.want(b.post(at+"/stop"), 303, at+"?done=stopped")
	stopped := b.want(b.get(at), 200, "stopped")
	if strings.Contains(stopped.body, "hx-trigger") {
		t.Error("a stopped operation is fetched again")
	}
	b.want(b.post(at+"/stop"), 303, at)
	b.want(b.get("/operations"), 200, "Reschedule jobs")
	b.want(b.get("/settings/audit"), 200, "Operation started")
}

// TestOperations_SayWhatTheyDo: in plain words, with times in the zone of the page, what is
// called, and what became of it.
func TestOperations_SayWhatTheyDo(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	b.post("/preferences", "zone", "Europe/Berlin")
	report := w.create(ann, `{"url":"https://api.example.com/report","method":"post","repeat_every":3600,"name":"Report","retries":0}`)
	w.ends(report, 503)
	b.wantAll(b.get("/operations/new"), `value="Europe/Berlin"`)
	counted := b.post("/operations", "action", "rerun", "state", "discarded", "schedule_id", report.ScheduleID.String(), "since",
		"2026-03-01T11:00:00Z", "go", "count")
	b.wantAll(counted, "Run jobs again: all failed jobs of Report, created from 2026-03-01 12:00:00 CET.", "<strong>1</strong>", "It calls",
		"https://api.example.com/report", "for example job 1")
	form := counted.inputs("/operations")
	form.Set("go", "start")
	at := b.do("POST", "/operations", form).Header.Get("Location")
	b.wantAll(b.get(at), "All failed jobs with schedule id "+report.ScheduleID.String())
}

func TestOperations_RefuseWhatIsWrong(t *testing.T) {
	w := newSite(t, false, public)
	b := w.citizen()
	for _, c := range []struct{ fields, says string }{
		{"action=cancel", "No filter is set"},
		{"action=cancel&tag=NO", "Tags entry 1 must be"},
		{"action=cancel&schedule_id=7", "Schedule must be a UUID"},
		{"action=cancel&since=noon", "Created from, in UTC"},
		{"action=cancel&error_kind=odd", "Kind of error must be one of"},
		{"action=reschedule&tag=a", "must have schedule_in, scheduled_at or spread"},
		{"action=reschedule&tag=a&when=every day", "New time is a recurrence"},
		{"action=reschedule&tag=a&spread=long", "Spread over must"},
		{"action=rerun&tag=a&fields=[1]", "must be a JSON object"},
		{"action=rerun&tag=a&fields={\"timeout\":9999}", "timeout must"},
		{"action=destroy&tag=a", "Action must be one of"},
	} {
		var fields []string
		for _, pair := range strings.Split(c.fields, "&") {
			name, value, _ := strings.Cut(pair, "=")
			fields = append(fields, name, value)
		}
		b.want(b.post("/operations", fields...), 422, c.says)
	}
	b.want(b.post("/operations", "action", "cancel", "all", "true"), 200, "every job")
	b.want(b.get("/operations/x"), 404, "no such operation")
	b.want(b.get("/public/operations"), 404, "There is no page")
}
