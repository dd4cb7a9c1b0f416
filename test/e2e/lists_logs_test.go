package e2e

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// twoRuns creates a schedule that runs twice, beside a one-off job, and returns
// the runs.
func twoRuns(t *testing.T, a *harness.Account) (first, second harness.JSON) {
	t.Helper()
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(200), harness.Status(500))
	first = create(a.Client, `{"url":"`+target.URL+`","retries":0,"repeat_every":[1,"day"],"schedule_in":[1,"day"]}`)
	other := create(a.Client, `{"url":"`+harness.SharedTarget(t).Route(t).URL+`"}`)
	a.Post(jobPath(first)+"/run", nil).Want(200)
	awaitState(t, a.Client, first, "completed")
	awaitState(t, a.Client, other, "completed")
	second = unfinished(a.Client, first.Get("schedule_id").Str())[0]
	a.Post(jobPath(second)+"/run", nil).Want(200)
	return first, awaitState(t, a.Client, second, "discarded")
}

// lines splits an export into its records.
func lines(answer *harness.Answer) []harness.JSON {
	var records []harness.JSON
	for line := range bytes.Lines(answer.Want(200).Body) {
		records = append(records, harness.JSON(bytes.TrimSuffix(line, []byte("\n"))))
	}
	return records
}

func idsOf(records []harness.JSON) string {
	var all []string
	for _, record := range records {
		all = append(all, record.Get("id").Str())
	}
	return strings.Join(all, " ")
}

func TestListLogs_OfAScheduleAreThoseOfItsRuns(t *testing.T) {
	t.Parallel()
	a := account(t)
	first, second := twoRuns(t, a)
	filter := "schedule_id=" + first.Get("schedule_id").Str()
	logs := a.Get("/api/logs?limit=100&" + filter).Want(200).Data().Items()
	var shown []string
	for _, log := range logs {
		shown = append(shown, log.Get("job_id").Raw()+" "+log.Get("event").Str())
	}
	one, two := first.Get("job_id").Raw(), second.Get("job_id").Raw()
	want := []string{two + " worker.http.response", two + " worker.http.request", one + " worker.http.response",
		one + " worker.http.request"}
	if !slices.Equal(shown, want) {
		t.Errorf("the logs are %q, want %q", shown, want)
	}
	if walked := everyRecord(t, a.Client, "/api/logs?limit=1&"+filter); idsOf(walked) != idsOf(logs) {
		t.Errorf("walked %s, want %s", idsOf(walked), idsOf(logs))
	}
	exported := lines(a.Get("/api/logs/export?" + filter))
	slices.Reverse(exported)
	if idsOf(exported) != idsOf(logs) {
		t.Errorf("exported %s, want %s", idsOf(exported), idsOf(logs))
	}
	for query, n := range map[string]int{
		"&event=worker.http.response": 2, "&event=worker.http.error": 0, "&job_id=" + one: 2, "&job_id=" + noInt: 0,
		"&since=2031-01-01": 0, "&until=2020-01-01": 0, "&since=2020-01-01&until=2031-01-01": 4, "&until=1": 0,
	} {
		if got := a.Get("/api/logs?limit=100&" + filter + query).Want(200).Data().Items(); len(got) != n {
			t.Errorf("%s: %d logs, want %d", query, len(got), n)
		}
		if got := lines(a.Get("/api/logs/export?" + filter + query)); len(got) != n {
			t.Errorf("%s: %d logs exported, want %d", query, len(got), n)
		}
	}
	other := account(t)
	wantSame(t, "another's", other.Get("/api/logs?"+filter).Want(200).Data(), "[]")
	if got := other.Get("/api/logs/export?" + filter).Want(200); len(got.Body) != 0 {
		t.Errorf("another's logs are exported: %s", got)
	}
}

func TestListLogs_FromATimeSpan(t *testing.T) {
	t.Parallel()
	a := account(t)
	twoRuns(t, a)
	all := a.Get("/api/logs?limit=100").Want(200).Data().Items()
	if len(all) != 6 {
		t.Fatalf("%d logs, want 6", len(all))
	}
	at := all[2].Get("inserted_at").Str()
	for query, want := range map[string][]harness.JSON{
		"since=" + at: all[:3], "until=" + at: all[3:], "since=" + at + "&until=" + all[0].Get("inserted_at").Str(): all[1:3],
		"since=" + url.QueryEscape(strings.Replace(at, "T", " ", 1)): all[:3],
		"since=" + strings.TrimSuffix(at, "Z") + "+00:00":            all[:3], // the plus is a space in a query
		"since=0": all, "until=0": nil, "since=-1e9": all,
	} {
		if got := a.Get("/api/logs?limit=100&" + query).Want(200).Data().Items(); idsOf(got) != idsOf(want) {
			t.Errorf("%s: %s, want %s", query, idsOf(got), idsOf(want))
		}
		exported := lines(a.Get("/api/logs/export?" + query))
		slices.Reverse(exported)
		if idsOf(exported) != idsOf(want) {
			t.Errorf("%s: exported %s, want %s", query, idsOf(exported), idsOf(want))
		}
	}
	if walked := everyRecord(t, a.Client, "/api/logs?limit=2&since="+at); idsOf(walked) != idsOf(all[:3]) {
		t.Errorf("walked %s, want %s", idsOf(walked), idsOf(all[:3]))
	}
}

func TestListLogs_InvalidFiltersAreRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	for query, parameters := range map[string][]string{
		"since=": {"since"}, "since=yesterday": {"since"}, "until=2026-13-01": {"until"}, "since=2026-01-02&until=2026-01-01": {"until"},
		"schedule_id=x": {"schedule_id"}, "schedule_id=": {"schedule_id"}, "since=1&since=2": {"since"},
		"until=1e99": {"until"}, "since=%00": {"since"},
	} {
		a.Get("/api/logs?" + query).WantParameters(parameters...)
		a.Get("/api/logs/export?" + query).WantParameters(parameters...)
	}
	for _, query := range []string{"&offset=1", "&order_by=event", "&order_by[0]=event"} {
		a.Get("/api/logs?schedule_id=" + noUUID + query).WantParameters("schedule_id")
	}
	cursor := a.Get("/api/logs?limit=1").Want(200).Next()
	if cursor != "" {
		t.Fatalf("an empty list has a next page: %s", cursor)
	}
	twoRuns(t, a)
	next := a.Get("/api/logs?limit=1").Want(200).Next()
	a.Get(next + "&schedule_id=" + noUUID).WantParameters("cursor")
}

// TestListLogs_ExportIsReadInPagesUpToItsStart exports more logs than a page
// has.
func TestListLogs_ExportIsReadInPagesUpToItsStart(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	for range 300 {
		create(a.Client, `{"url":"`+target.URL+`"}`)
	}
	target.Await(t, 300, 3*soon)
	harness.Eventually(t, soon, "all jobs to be completed", func() bool {
		return a.Get("/api/jobs/counts").Want(200).Data().Get("completed").Int() == 300
	})
	answer := a.Get("/api/logs/export")
	if got := answer.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("the media type is %s", got)
	}
	records := lines(answer)
	seen := map[string]bool{}
	last := time.Time{}
	for _, record := range records {
		at := instant(t, record.Get("inserted_at"))
		if at.Before(last) {
			t.Errorf("%s comes behind %s", at, last)
		}
		last = at
		seen[record.Get("id").Str()] = true
	}
	if len(records) != 600 || len(seen) != 600 {
		t.Errorf("%d lines of %d logs, want 600", len(records), len(seen))
	}
}
