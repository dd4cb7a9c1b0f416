package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestListFilter_StateMatchesItselfAndScheduledMeansPending(t *testing.T) {
	t.Parallel()
	a := variety(t)
	all := a.Get("/api/jobs?limit=100").Want(200).Data().Items()
	for filter, states := range map[string][]string{
		"scheduled": {"available", "retryable"}, "completed": {"completed"}, "cancelled": {"cancelled"},
		"available": {"available"}, "executing": {"executing"}, "retryable": {"retryable"}, "discarded": {"discarded"},
	} {
		want := []string{}
		for _, record := range all {
			if slices.Contains(states, record.Get("job.state").Str()) {
				want = append(want, record.Get("id").Str())
			}
		}
		if len(want) < 2 {
			t.Fatalf("the account has too few jobs for %s", filter)
		}
		if got := ids(a.Get("/api/jobs?limit=100&state=" + filter)); !slices.Equal(got, want) {
			t.Errorf("state=%s\n got %q\nwant %q", filter, got, want)
		}
	}
	for _, filter := range []string{"", "pending", "Completed", "completed,cancelled", "all", "%00"} {
		a.Get("/api/jobs?state=" + filter).WantParameters("state")
	}
}

func TestListFilter_JobsByScheduleAndKey(t *testing.T) {
	t.Parallel()
	a := account(t)
	recurring := create(a.Client, with(keyed("a b&c"), `"repeat_every":60`))
	plain := create(a.Client, keyed("other"))
	schedule := recurring.Get("schedule_id").Str()
	a.Post(jobPath(recurring)+"/cancel", nil).Want(200)
	runs := ids(a.Get("/api/jobs?schedule_id=" + schedule))
	if len(runs) != 2 || slices.Contains(runs, plain.Get("id").Str()) {
		t.Errorf("runs of the schedule: %q", runs)
	}
	if got := ids(a.Get("/api/jobs?idempotency_key=a+b%26c")); !slices.Equal(got, runs) {
		t.Errorf("jobs with the key: %q, want %q", got, runs)
	}
	if got := ids(a.Get("/api/jobs?state=cancelled&schedule_id=" + schedule)); !slices.Equal(got, []string{recurring.Get("id").Str()}) {
		t.Errorf("cancelled runs: %q", got)
	}
	for _, empty := range []string{"schedule_id=" + noUUID, "idempotency_key=nobody", "state=completed&idempotency_key=other"} {
		wantSame(t, empty, a.Get("/api/jobs?"+empty).Want(200).Data(), `[]`)
	}
	for _, malformed := range []string{"x", "", "1", noUUID + "0", "{" + noUUID + "}"} {
		a.Get("/api/jobs?schedule_id=" + malformed).WantParameters("schedule_id")
	}
	a.Get("/api/jobs?idempotency_key=").WantParameters("idempotency_key")
}

func TestListFilter_LogsByJobAndEvent(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	var jobs []harness.JSON
	for range 2 {
		job := create(a.Client, `{"url":"`+target.URL+`"}`)
		awaitState(t, a.Client, job, "completed")
		jobs = append(jobs, job)
	}
	for _, job := range jobs {
		byInteger := a.Get("/api/logs?job_id=" + job.Get("job_id").Raw()).Want(200).Data()
		if got := byInteger.Pluck("job_id"); !slices.Equal(got, []string{job.Get("job_id").Raw(), job.Get("job_id").Raw()}) {
			t.Errorf("logs of the job are of %q", got)
		}
		wantSame(t, "logs by UUID", a.Get("/api/logs?job_id="+job.Get("id").Str()).Want(200).Data(), byInteger.Raw())
	}
	responses := a.Get("/api/logs?event=worker.http.response").Want(200).Data().Pluck("event")
	if !slices.Equal(responses, []string{`"worker.http.response"`, `"worker.http.response"`}) {
		t.Errorf("logs of the event: %q", responses)
	}
	one := a.Get("/api/logs?event=worker.http.request&job_id=" + jobs[0].Get("job_id").Raw()).Want(200).Data()
	if len(one.Items()) != 1 {
		t.Errorf("logs by job and event: %s", one.Raw())
	}
	wantSame(t, "logs of no job", a.Get("/api/logs?job_id="+noInt).Want(200).Data(), `[]`)
	for _, malformed := range []string{"", "x", "1.5", noUUID + "0"} {
		a.Get("/api/logs?job_id=" + malformed).WantParameters("job_id")
	}
	a.Get("/api/logs?event=").WantParameters("event")
}

// labelled creates a job that waits, with a name, a url and tags.
func labelled(c *harness.Client, name, url, tags string) harness.JSON {
	return create(c, `{"url":"`+url+`","scheduled_at":"2031-06-01T09:00:00Z","name":"`+name+`","tags":[`+tags+`]}`)
}

func TestListFilter_JobsByTagHostNameAndTimeCombine(t *testing.T) {
	t.Parallel()
	a := account(t)
	labelled(a.Client, "1", "https://one.example/", `"a"`)
	two := labelled(a.Client, "2", "https://ONE.example:8443/x", `"a","b:c"`)
	labelled(a.Client, "3", "https://two.example/", `"b:c","a"`)
	labelled(a.Client, "3", "https://one.example/", ``)
	a.Post(jobPath(two)+"/cancel", nil).Want(200)
	at := two.Get("job.inserted_at").Str()
	for query, want := range map[string][]string{
		"tag=a": {"3", "2", "1"}, "tag=a&tag=b:c": {"3", "2"}, "tag=b:c&tag=a&tag=a": {"3", "2"}, "tag=none": nil, "tag=b": nil,
		"host=one.example": {"3", "2", "1"}, "host=ONE.EXAMPLE": {"3", "2", "1"}, "host=example": nil, "name=3": {"3", "3"},
		"name=3&tag=a":          {"3"},
		"tag=a&state=cancelled": {"2"}, "tag=a&state=scheduled": {"3", "1"}, "host=one.example&state=scheduled&tag=a": {"1"},
		"since=" + at: {"3", "3", "2"}, "until=" + at: {"1"}, "tag=a&since=" + at: {"3", "2"}, "since=" + at + "&until=" + at: nil,
		"tag=a&order_by=job_id,asc": {"1", "2", "3"}, "tag=a&offset=1": {"2", "1"}, "tag=a&host=one.example&offset=1": {"1"},
		"q=one.example&tag=a": {"2", "1"}, "tag=a&q=zzz": nil,
	} {
		var names []string
		for _, record := range a.Get("/api/jobs?" + query).Want(200).Data().Items() {
			names = append(names, record.Get("name").Str())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", query, names, want)
		}
	}
	for query, parameters := range map[string][]string{
		"tag=": {"tag"}, "tag=A": {"tag"}, "tag=a&tag=-b": {"tag"}, "host=": {"host"}, "host=one.example:8443": {"host"},
		"host=https://one.example": {"host"},
		"name=":                    {"name"}, "name=1&name=2": {"name"}, "since=yesterday&until=soon": {"since", "until"},
		"since=2030-01-02&until=2030-01-01": {"until"},
	} {
		a.Get("/api/jobs?" + query).WantParameters(parameters...)
		a.Get("/api/jobs/counts?" + query).WantParameters(parameters...)
	}
}

func TestListFilter_PagesOfCombinedFiltersMakeUpTheList(t *testing.T) {
	t.Parallel()
	a := account(t)
	var want []string
	for i := range 12 {
		record := labelled(a.Client, "n", "https://one.example/", []string{`"a"`, `"b"`, `"a","b"`}[i%3])
		if i%3 == 2 {
			want = append([]string{record.Get("id").Str()}, want...)
		}
	}
	var got []string
	for path := "/api/jobs?tag=a&tag=b&host=one.example&state=scheduled&limit=1"; path != ""; {
		answer := a.Get(path)
		got = append(got, ids(answer)...)
		path = answer.Next()
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %q, want %q", got, want)
	}
}

// TestListFilter_JobsByKindOfError reads jobs that failed in two ways among those that
// did not, in pages and with other filters.
func TestListFilter_JobsByKindOfError(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.NewTarget(t)
	broken := target.Route(t).Respond(harness.Reply(500, "text/plain", "broken")).URL
	var want []string
	for i, url := range []string{broken, "https://127.0.0.1:1/", broken, target.Route(t).Respond(harness.JSONReply(`{}`)).URL, broken} {
		record := create(a.Client, fmt.Sprintf(`{"url":%q,"retries":0,"name":"n%d"}`, url, i))
		final := awaitFinal(t, a.Client, record)
		if url == broken {
			want = append([]string{final.Get("id").Str()}, want...)
		}
	}
	labelled(a.Client, "n9", "https://one.example/", `"a"`)
	var got []string
	for path := "/api/jobs?error_kind=status&limit=1"; path != ""; {
		answer := a.Get(path).Want(200)
		got = append(got, ids(answer)...)
		path = answer.Next()
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages have %q, want %q", got, want)
	}
	for query, count := range map[string]int{
		"error_kind=connect": 1, "error_kind=timeout": 0, "error_kind=status&state=completed": 0, "error_kind=status&state=discarded": 3,
		"error_kind=status&q=n2": 1, "error_kind=status&name=n1": 0, "error_kind=connect&name=n1": 1, "error_kind=status&since=2099-01-01": 0,
	} {
		if got := len(ids(a.Get("/api/jobs?" + query).Want(200))); got != count {
			t.Errorf("%s: %d jobs, want %d", query, got, count)
		}
	}
	counts := a.Get("/api/jobs/counts?error_kind=status").Want(200).Data()
	if counts.Get("discarded").Raw() != "3" || counts.Get("completed").Raw() != "0" || counts.Get("available").Raw() != "0" {
		t.Errorf("the counts are %s", counts.Raw())
	}
	for _, query := range []string{"error_kind=late", "error_kind=status&order_by=job_id", "error_kind=status&offset=1"} {
		a.Get("/api/jobs?" + query).WantParameters("error_kind")
	}
}

func TestListFilter_RunsHaveTheTagsOfTheirSchedule(t *testing.T) {
	t.Parallel()
	a := account(t)
	run := create(a.Client, with(waiting, `"repeat_every":60,"tags":["nightly","a"]`))
	create(a.Client, with(waiting, `"repeat_every":60,"tags":["nightly"]`))
	a.Post(jobPath(run)+"/cancel", nil).Want(200)
	if got := len(ids(a.Get("/api/jobs?tag=a"))); got != 2 {
		t.Errorf("%d runs have the tag, want 2", got)
	}
	schedule := run.Get("schedule_id").Str()
	if got := ids(a.Get("/api/schedules?tag=a")); !slices.Equal(got, []string{schedule}) {
		t.Errorf("schedules with the tag: %q", got)
	}
	if got := len(ids(a.Get("/api/schedules?tag=nightly&order_by=name"))); got != 2 {
		t.Errorf("%d schedules, want 2", got)
	}
	if got := ids(a.Get("/api/schedules?tag=nightly&tag=a")); !slices.Equal(got, []string{schedule}) {
		t.Errorf("schedules with both tags: %q", got)
	}
	a.Do("DELETE", "/api/schedules/"+schedule, nil).Want(204)
	if got := ids(a.Get("/api/schedules?tag=a")); len(got) != 0 {
		t.Errorf("the deleted schedule is listed: %q", got)
	}
	a.Get("/api/schedules?tag=%20").WantParameters("tag")
}

func TestListFilter_CountsTakeTheFilters(t *testing.T) {
	t.Parallel()
	a := account(t)
	labelled(a.Client, "1", "https://one.example/", `"a"`)
	gone := labelled(a.Client, "2", "https://two.example/", `"a"`)
	a.Post(jobPath(gone)+"/cancel", nil).Want(200)
	run := create(a.Client, with(waiting, `"repeat_every":60`))
	for query, want := range map[string]string{
		"": "2 1", "tag=a": "1 1", "tag=a&host=one.example": "1 0", "tag=a&state=cancelled": "0 1", "name=2": "0 1",
		"state=scheduled": "2 0",
		"schedule_id=" + run.Get("schedule_id").Str(): "1 0", "until=2020-01-01": "0 0",
	} {
		answer := a.Get("/api/jobs/counts?" + query).Want(200)
		if got := answer.Data().Get("available").Raw() + " " + answer.Data().Get("cancelled").Raw(); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		wantKeys(t, "the counts", answer.JSON, "data", "limit")
	}
}

func TestQuery_MisspeltParametersNameTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, with(waiting, `"repeat_every":60`))
	for path, hint := range map[string]string{
		"/api/jobs?status=completed":         "did you mean state?",
		"/api/jobs?tags=a":                   "did you mean tag?",
		"/api/jobs/counts?limit=5":           "this call, which takes state,",
		"/api/schedules?state=disabled":      "this call, which takes tag, include, mask, limit, offset, order_by, cursor",
		"/api/logs?jobid=1":                  "did you mean job_id?",
		"/api/stats?minute=5":                "did you mean minutes?",
		"/api/account/audit?events=accounts": "did you mean event?",
	} {
		answer := a.Get(path)
		name, _, _ := strings.Cut(path[strings.IndexByte(path, '?')+1:], "=")
		answer.WantParameters(name)
		if !strings.Contains(answer.JSON.Get("detail").Str(), hint) {
			t.Errorf("%s: %s, want %q", path, answer.JSON.Get("detail").Str(), hint)
		}
	}
	a.Get("/api/jobs?status=a&tags=b&limit=5").WantParameters("status", "tags")
	a.Get("/api/jobs?utm_source=x&_=1&x=%zz").Want(200)
	for query, name := range map[string]string{"limit=%zz": "limit", "tag=100%": "tag", "limit=5;offset=3": "limit",
		"order_by[]=%": "order_by"} {
		a.Get("/api/jobs?" + query).WantParameters(name)
	}
	a.Get(jobPath(job) + "?verbose=1").Want(200)
	for _, query := range []string{"order_by[]=job_id&order_by[]=desc", "order_by[0]=job_id&order_by[1]=desc"} {
		a.Get("/api/jobs?" + query).Want(200)
	}
	if detail := a.Get("/api/jobs?order_by[2]=x").WantParameters("order_by").JSON.Get("detail").Str(); !strings.Contains(detail,
		"can't be given as order_by[2]") {
		t.Errorf("the detail is %q", detail)
	}
	a.Get("/api/ping?x=1").Want(200)
	a.Get("/healthz?x=1").Want(200)
}
