package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// idle is an engine that has nothing under way.
type idle struct{}

func (idle) Revoke(int64, time.Time) dispatch.ClaimState { return dispatch.NotOwned }
func (idle) Restore(int64)                               {}
func (idle) Abort(int64)                                 {}
func (idle) LimitsFreed(int64, []string)                 {}

// owner returns the account with an email.
func (w *site) owner(email string) job.Owner {
	w.Helper()
	a, err := w.s.AccountGet(w.Context(), email)
	if err != nil {
		w.Fatal(err)
	}
	return a.Owner
}

// stranger returns another account than the citizen's.
func (w *site) stranger() job.Owner {
	w.Helper()
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: "sam@example.com", CreatedAt: w.s.Now()}
	if err := w.s.AccountInsert(w.Context(), a); err != nil {
		w.Fatal(err)
	}
	return w.owner(a.Email)
}

func (w *site) create(owner job.Owner, body string) *job.Job {
	w.Helper()
	j, _, err := w.service.Create(w.Context(), owner, []byte(body), nil)
	if err != nil {
		w.Fatal(err)
	}
	return j
}

// ends takes a job through one attempt, half a second late and a quarter long,
// with a response of a status.
func (w *site) ends(j *job.Job, status int) {
	w.Helper()
	start := w.clock().Add(500 * time.Millisecond)
	end := start.Add(250 * time.Millisecond)
	w.pass(750 * time.Millisecond)
	log := func(event string, at time.Time, payload string) job.Log {
		return job.Log{ID: job.NewID(at), Owner: j.Owner, Job: j.Number, Event: event, InsertedAt: at, Payload: rawjson.Value(payload)}
	}
	_, err := w.s.JobChange(w.Context(), j.Owner, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Begin(start)
		if status == 200 {
			after.Complete(end)
		} else {
			after.Discard(end)
		}
		return &store.Changes{Job: &after, Logs: []job.Log{
			log(job.EventRequest, start, `{"body":null,"headers":{},"query":{},"url":"https://example.com/hook"}`),
			log(job.EventResponse, end, fmt.Sprintf(`{"status":%d,"headers":{},"body":"<b>hi</b>","duration_ms":250,"truncated":false}`,
				status)),
		}}
	})
	if err != nil {
		w.Fatal(err)
	}
	w.pass(time.Second)
}

func (w *site) schedule(owner job.Owner, id uuid.UUID) *job.Schedule {
	w.Helper()
	s, err := w.s.ScheduleGet(w.Context(), owner, id)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func TestSchedules_ListChangeAndDisable(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/schedules"), 200, "No schedules yet")
	ann := w.owner("ann@example.com")
	j := w.create(ann, `{"url":"https://example.com/hook","cron":"0 9 * * 1-5","timezone":"Europe/Berlin","name":"Mornings <1>"}`)
	at := "/schedules/" + j.ScheduleID.String()
	list := b.want(b.get("/schedules"), 200, "every weekday at 09:00, Europe/Berlin")
	b.want(list, 200, "Mornings &lt;1&gt;")
	b.want(b.get("/schedules?part=list"), 200, `id="schedules"`)
	b.want(b.get("/schedules?after=nonsense"), 200, "Mornings")
	b.want(b.get(at), 200, "Every weekday at 09:00, Europe/Berlin")

	b.want(b.post(at+"/disable", "from", "list"), 303, "/schedules?done=disabled")
	if w.schedule(ann, j.ScheduleID).Live() {
		t.Error("it is not disabled")
	}
	b.want(b.get(at), 200, "Paused")
	b.want(b.post(at+"/enable"), 303, at+"?done=enabled")
	if !w.schedule(ann, j.ScheduleID).Live() {
		t.Error("it is not enabled")
	}
	// The run that the pause cancelled has never been due.
	if list := b.want(b.get("/schedules"), 200, "none yet"); strings.Contains(list.body, "cancelled. The latest") {
		t.Error("the list shows the run that was cancelled before it was due")
	}
	b.want(b.post(at+"/delete"), 303, "/schedules?done=deleted")
	b.want(b.get(at), 404, "Not found")
	b.want(b.get("/schedules/nonsense"), 404, "Not found")
}

func TestState_IsSavedUnlessARunChangedIt(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	j := w.create(ann, `{"url":"https://example.com/hook","repeat_every":60}`)
	at := "/schedules/" + j.ScheduleID.String()
	was := func() string { return stateVersion(w.schedule(ann, j.ScheduleID)) }
	state := func() string { return string(w.schedule(ann, j.ScheduleID).State) }
	opened := was()
	b.want(b.post(at+"/state", "was", opened, "state", `{"a": 1.10}`), 303, at+"?done=state")
	b.want(b.get(at), 200, "&#34;a&#34;: 1.10")
	b.want(b.post(at+"/state", "was", opened, "state", `{"a":2}`), 422, "has been changed by a run")
	for _, bad := range []string{``, `{"a":`, `[]`, `{"a":1,"a":2}`, `{"a":"` + strings.Repeat("x", 64<<10) + `"}`} {
		if a := b.post(at+"/state", "was", was(), "state", bad); a.StatusCode != 422 || state() != `{"a":1.10}` {
			t.Errorf("%.20s: status %d, the state is %.40s", bad, a.StatusCode, state())
		}
	}
	b.want(b.get(at+"/state"), 200, `"a": 1.10`)
	b.want(b.post(at+"/clear"), 303, at+"?done=cleared")
	if state() != "" {
		t.Errorf("after clearing: %s", state())
	}
	// A large state fits on the page as well: by its beginning.
	large := `{"items":[` + strings.TrimSuffix(strings.Repeat(`"abcdefgh",`, 5000), ",") + `]}`
	b.want(b.post(at+"/state", "was", was(), "state", large), 303, at+"?done=state")
	b.want(b.get(at), 200, "too large to be edited here")
}

func TestPages_OfOtherAccountsAreNotFound(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	sam := w.stranger()
	j := w.create(sam, `{"url":"https://example.com/secret","repeat_every":60}`)
	w.ends(j, 500)
	at := "/schedules/" + j.ScheduleID.String()
	b.want(b.get(at), 404, "Not found")
	b.want(b.get(at+"/state"), 404, "Not found")
	for _, action := range []string{"edit", "state", "clear", "enable", "disable", "delete"} {
		b.want(b.post(at+"/"+action, "when", "every hour", "zone", "UTC", "state", "{}"), 404, "Not found")
	}
	logs, err := w.s.LogList(t.Context(), sam, job.LogQuery{ListQuery: job.ListQuery{Limit: 1}})
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	b.want(b.get("/logs/"+logs[0].ID.String()), 404, "Not found")
	for _, page := range []string{"/", "/schedules", "/logs", fmt.Sprintf("/logs?job=%d", j.Number),
		"/logs?schedule=" + j.ScheduleID.String(), "/logs/export"} {
		if a := b.get(page); a.StatusCode != 200 || strings.Contains(a.body, "secret") ||
			strings.Contains(a.body, "worker.http.response</code>") {
			t.Errorf("%s: status %d, %s", page, a.StatusCode, a.body)
		}
	}
}

func TestLogs_FilterAndExport(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	b.want(b.get("/logs"), 200, "Nothing has happened yet")
	ann := w.owner("ann@example.com")
	first := w.create(ann, `{"url":"https://example.com/hook"}`)
	w.ends(first, 200)
	w.pass(time.Hour)
	second := w.create(ann, `{"url":"https://example.com/hook","repeat_every":60}`)
	w.ends(second, 503)
	lines := func(query string) int { return strings.Count(b.get("/logs"+query).body, "<tr id=\"log-") }
	for query, want := range map[string]int{
		"": 4, "?event=worker.http.response": 2, "?event=worker.http.error": 0, fmt.Sprintf("?job=%d", first.Number): 2,
		fmt.Sprintf("?job=%%23%d", first.Number): 2,
		"?job=" + second.ID.String():             2, "?schedule=" + second.ScheduleID.String(): 2, "?last=15m": 2, "?last=24h": 4,
		"?since=2026-03-01T12:30": 2, "?until=2026-03-01+12:30": 2,
		"?since=2026-03-01+12:00&until=2026-03-01+12:30&event=worker.http.request": 1, "?follow=off": 4, "?part=list": 4,
		"?after=nonsense": 4,
	} {
		if got := lines(query); got != want {
			t.Errorf("/logs%s shows %d lines, want %d", query, got, want)
		}
	}
	for query, why := range map[string]string{
		"?event=nonsense": "Event must be one", "?job=x": "Job must be", "?schedule=x": "Schedule must be",
		"?since=yesterdayish":                "From, in UTC",
		"?since=2026-03-02&until=2026-03-01": "must not be earlier",
	} {
		b.want(b.get("/logs"+query), 422, why)
		b.want(b.get("/logs/export"+query), 422, why)
	}
	export := b.want(b.get("/logs/export?job="+second.ID.String()), 200, `"event":"worker.http.request"`)
	if got := strings.Count(export.body, "\n"); got != 2 || export.Header.Get("Content-Type") != "application/x-ndjson" ||
		strings.Index(export.body, "request") > strings.Index(export.body, "response") {
		t.Errorf("the export has %d lines of %s: %s", got, export.Header.Get("Content-Type"), export.body)
	}
	logs, err := w.s.LogList(t.Context(), ann, job.LogQuery{ListQuery: job.ListQuery{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b.want(b.get("/logs/"+logs[0].ID.String()), 200, "&lt;b&gt;hi&lt;/b&gt;")
	b.want(b.get("/logs/nonsense"), 404, "Not found")
}

func TestLogs_Pages(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	for range logsListed {
		w.ends(w.create(ann, `{"url":"https://example.com/hook"}`), 200)
	}
	shown, at := 0, "/logs"
	for pages := 1; ; pages++ {
		a := b.want(b.get(at), 200, "worker.http")
		shown += strings.Count(a.body, "<tr id=\"log-")
		_, after, more := strings.Cut(a.body, `/logs?after=`)
		if pages > 1 || !more {
			break
		}
		at = "/logs?after=" + after[:strings.IndexByte(after, '"')]
	}
	if shown != 2*logsListed {
		t.Errorf("%d lines on two pages, want %d", shown, 2*logsListed)
	}
}

func TestOverview_ShowsRunsFailuresAndDueJobs(t *testing.T) {
	var config *Config
	w := newSite(t, false, func(c *Config, _ *auth.PeopleConfig) { config = c })
	b := w.citizen()
	b.want(b.get("/"), 200, "Nothing has run yet")
	ann := w.owner("ann@example.com")
	w.ends(w.create(ann, `{"url":"https://example.com/hook","name":"Broken one"}`), 503)
	for i := range 200 {
		config.Stats.Observe(ann.Number, i > 0, 2*time.Millisecond, 40*time.Millisecond)
	}
	w.create(ann, `{"url":"https://example.com/hook","name":"Soon to come","schedule_in":600}`)
	w.create(ann, `{"url":"https://example.com/hook","name":"Far away","schedule_in":90000}`)
	b.want(b.get("/"), 200, "Last hour: 200 attempts") // all of a new account's life
	a := b.want(b.get("/?span=24h"), 200, "Soon to come")
	for _, says := range []string{`<a class="triage-name" href="/jobs?host=example.com&amp;state=discarded">example.com</a>`, "HTTP 503",
		"99.5 %", "in the last 24 hours: p50 39 ms, p99 39 ms.",
		"Last 24 hours: 200 attempts, 1 of them failed. 1 planned until 18:10 UTC; most, 1, at 12:10–12:20 UTC.",
		"peak 200 in 10 min at 12:00 UTC", "{&#34;144&#34;:&#34;Soon to come&#34;}",
		// The column of 12:00 is one of 180, its failure hangs below the line, and the run to come stands in the next one.
		`viewBox="0 0 180 100"`, `class="ran" d="M143.12 78v-76h0.76v76z"`, `class="failed" d="M143.12 78v3h0.76v-3z"`,
		`class="planned" d="M144.12 78v-5.4h0.76v5.4z"`} {
		b.want(a, 200, says)
	}
	if strings.Contains(a.body, "Far away") || strings.Contains(a.body, "NaN") {
		t.Error("it shows what is not to be shown")
	}
	// A schedule counts with its pending run and with those that follow it.
	w.create(ann, `{"url":"https://example.com/hook","name":"Hourly","cron":"0 * * * *"}`)
	b.want(b.get("/?span=24h"), 200, "7 planned until 18:10 UTC; most, 1, at 12:10–12:20 UTC.")
	b.want(b.get("/?view=table&span=24h"), 200, `<td class="main">12:10–12:20 UTC <span class="below">Soon to come</span></td><td class="right" data-label="Planned">1</td>`)
	for _, query := range []string{"span=6h", "span=1h", "span=3d", "span=7d", "span=nonsense", "from=nonsense&to=2026-03-01T12:00:00Z",
		"from=2026-03-01T11:50:00Z&to=2026-03-01T12:01:00Z", "from=2020-01-01T00:00:00Z&to=2030-01-01T00:00:00Z"} {
		b.want(b.get("/?"+query), 200, "99.5 %")
	}
	b.want(b.get("/?from=2026-03-01T08:00:00Z&to=2026-03-01T09:00:00Z"), 200, "Selected time: 0 attempts, 0 of them failed.")
	b.want(b.get("/?view=table&span=6h"), 200, `<a href="/attempts?outcome=failed&amp;since=2026-03-01T12%3A00%3A00.000000Z&amp;until=2026-03-01T12%3A05%3A00.000000Z">1</a>`)
	b.want(b.get("/?part=overview"), 200, `<div id="overview"`)
	w.pass(25 * time.Hour)
	if a := b.get("/"); strings.Contains(a.body, "HTTP 503") {
		t.Error("what failed the day before yesterday is still shown")
	}
}
