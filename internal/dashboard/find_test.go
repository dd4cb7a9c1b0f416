package dashboard

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestFind_FindsPagesActionsSchedulesAndJobs(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	create := func(name, when string) {
		b.post("/jobs", "url", "https://example.com/"+name, "method", "post", "body_kind", "json", "when", when, "zone", "UTC", "name",
			name)
	}
	create("Invoice 1042", "in 3 days")
	create("Nightly report", "every day at 9:00")
	b.wantAll(b.get("/find"), "New job", "Sign out", "Audit log", "Operator")
	b.wantAll(b.get("/find?q=invoice"), "Invoice 1042", `href="/jobs/1"`, "Search all jobs for “invoice”")
	b.wantAll(b.get("/find?q=1"), "Invoice 1042")
	b.wantAll(b.get("/find?part=list&q=NIGHTLY"), `role="option"`, "/schedules/", "Nightly report")
	id := regexp.MustCompile(`/schedules/([0-9a-f-]{36})`).FindStringSubmatch(b.get("/find?q=nightly").body)[1]
	b.wantAll(b.get("/find?q="+id), "Nightly report")
	for range 8 {
		create("Many", "every day at 9:00")
	}
	if n := strings.Count(b.get("/find?part=list&q=many").body, `data-href="/schedules/`); n != foundShown {
		t.Errorf("found %d schedules, want %d", n, foundShown)
	}
	b.wantAll(b.get("/find?q=theme+dark"), `action="/preferences"`, `value="dark"`)
	b.wantAll(b.get("/find?part=list&q=out"), "Sign out", "data-post")
	b.wantAll(b.get("/find?q=zzz"), "No results")
	b.wantAll(b.get("/find?part=list&q=zzz"), "Search all jobs for “zzz”", `data-href="/jobs?q=zzz"`)
	b.wantAll(b.get("/find?q=%3Cb%3E"), "&lt;b&gt;")
	b.want(b.get("/find?q="+strings.Repeat("x", 301)), 422, "at most 300 bytes")
	other := w.browser()
	other.want(other.get("/find?q=invoice"), 303, "/sign-in?to=%2Ffind%3Fq%3Dinvoice")
}

func TestFind_ShowsOnlyTheAccountsRecords(t *testing.T) {
	w := newSite(t, false)
	a := w.citizen()
	a.post("/jobs", "url", "https://example.com/", "method", "post", "body_kind", "json", "when", "in 3 days", "zone", "UTC", "name",
		"Secret plan")
	other := w.account("other@example.com")
	page, err := w.service.FindSchedules(t.Context(), other.Owner, "Secret", 5)
	if err != nil || len(page) != 0 {
		t.Errorf("found %v, %v", page, err)
	}
}

// TestFind_IsBounded verifies how far back a search for schedules looks.
func TestFind_IsBounded(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	owner := w.owner("ann@example.com")
	find := func(text string) int {
		t.Helper()
		found, err := w.service.FindSchedules(t.Context(), owner, text, 5)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	add := func(name, body string) {
		w.create(owner, `{"url":"https://example.com","cron":"@daily","name":"`+name+`","body":"`+body+`"}`)
		w.pass(time.Millisecond)
	}
	add("oldest", "")
	add("second", "")
	for range 499 {
		add("other", "")
	}
	if n := find("oldest"); n != 1 {
		t.Errorf("%d schedules of the exact name are found, want 1", n)
	}
	if oldest, second := find("oldes"), find("secon"); oldest != 0 || second != 1 {
		t.Errorf("of the newest 501 schedules, %d of the first and %d of the second are found", oldest, second)
	}
	// Large ones end it earlier: no page is read after 4 MiB.
	for range 100 {
		add("large", strings.Repeat("x", 50_000))
	}
	if second, large := find("secon"), find("large"); second != 0 || large != 5 {
		t.Errorf("behind 5 MB, %d schedules are found; of those, %d", second, large)
	}
}

// TestFind_ExactNamesAtOnce verifies that jobs with exactly the name that is searched are
// on the first page, though many newer jobs are searched before their turn comes.
func TestFind_ExactNamesAtOnce(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	owner := w.owner("ann@example.com")
	for i := range 2101 {
		name := "other"
		if i == 0 {
			name = "Quarterly close"
		}
		w.create(owner, `{"url":"https://example.com","schedule_in":[1,"hour"],"name":"`+name+`"}`)
	}
	b.wantAll(b.get("/find?q=Quarterly+close"), "Quarterly close", `href="/jobs/1"`)
	b.wantAll(b.get("/find?part=list&q=quarterly"), "No results among the newest jobs", "Search all jobs for “quarterly”")
	first := b.wantAll(b.get("/jobs?q=Quarterly+close&state=available"), `href="/jobs/1"`)
	if n := strings.Count(first.body, `id="job-1"`); n != 1 {
		t.Errorf("the job is listed %d times", n)
	}
	b.wantAll(b.get("/jobs?q=Quarterly+close&state=completed"), "No job matches")
}
