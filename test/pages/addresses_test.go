package pages

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// address is a page, a part of one or a call of the API.
type address struct {
	name, path string
	has        string // in the response
}

// get returns a response of the API.
func (v *visitor) get(path string) harness.JSON {
	v.t.Helper()
	status, body, _ := v.read(path)
	if status != 200 {
		v.t.Fatalf("%s: %d %s", path, status, body)
	}
	return harness.JSON(body)
}

// addresses returns what is read.
func (v *visitor) addresses() []address {
	all := []address{
		{"overview", "/", "<main"},
		{"overview, part", "/?part=overview", ""},
		{"overview, a day", "/?span=24h", "<main"},
		{"overview, a week", "/?range=7d", "<main"},
		{"new job", "/jobs/new", "<form"},
		{"words of queries", "/jobs/words", ""},
		{"failing, in the frame", "/failing", ""},
		{"schedules", "/schedules", "copy"},
		{"schedules by next run", "/schedules?order=next", "copy"},
		{"schedules by lateness", "/schedules?order=late", "copy"},
		{"schedules by name", "/schedules?order=name", "copy"},
		{"schedules, page 10 by next run", "/schedules?order=next&offset=225", "<main"},
		{"schedules, a search", "/schedules?q=copy+77", "copy"},
		{"schedules, a search by next run", "/schedules?q=copy+77&order=next", "copy"},
		{"schedules, a search without results", "/schedules?q=nothing+at+all", "<main"},
		{"schedules of a tag", "/schedules?tag=team-1", "copy"},
		{"schedules of a tag by lateness", "/schedules?tag=team-1&order=late", "copy"},
		{"logs", "/logs", "<main"},
		{"logs of an event", "/logs?event=worker.http.error", "<main"},
		{"logs of a rare event", "/logs?event=worker.state.rejected", "<main"},
		{"attempts", "/attempts", "<main"},
		{"attempts that failed", "/attempts?outcome=failed", "<main"},
		{"attempts, timeouts", "/attempts?outcome=timeout", "<main"},
		{"attempts of a host", "/attempts?host=localhost", "<main"},
		{"attempts of an unknown host", "/attempts?host=example.com", "<main"},
		{"attempts of a tag that failed", "/attempts?tag=export&outcome=failed", "<main"},
		{"limits", "/limits", "held"},
		{"a limit with a long line", "/limits/held", "held"},
		{"limit, part", "/limits/held?part=use", ""},
		{"groups", "/groups", "mirrors"},
		{"a group", "/groups/mirrors", "mirrors"},
		{"alerts", "/alerts", "ops"},
		{"operations", "/operations", "<main"},
		{"new operation", "/operations/new?tag=billing", "<main"},
		{"workflow runs", "/runs", "<main"},
		{"workflow runs that failed", "/runs?state=failed", "<main"},
		{"settings", "/settings", "<main"},
		{"members", "/settings/members", "<main"},
		{"usage", "/settings/usage", "<main"},
		{"audit log", "/settings/audit", "<main"},
		{"second factor", "/settings/second-factor", "<main"},
		{"secrets", "/secrets", "<main"},
		{"welcome", "/welcome", "<main"},
		{"rehearsal", "/rehearse", "<main"},
		{"operator", "/operator", "<main"},
		{"operator's audit log", "/operator/audit", "<main"},
		{"palette, empty", "/find?part=list", ""},
		{"palette, a name", "/find?part=list&q=invoice", ""},
		{"palette, not found", "/find?part=list&q=nothing+at+all", ""},
		{"palette, a number", "/find?part=list&q=12345", ""},
	}
	all = append(all, jobLists("/jobs", "jobs")...)
	all = append(all, jobLists("/api/jobs", "GET /api/jobs")...)
	all = append(all, jobLists("/api/jobs/counts", "GET /api/jobs/counts")...)
	for _, path := range []string{
		"schedules", "schedules?tag=team-1", "logs", "logs?event=worker.http.error", "alerts", "limits", "limits/held", "groups", "runs",
		"operations", "account", "account/keys", "account/members", "account/audit", "account/audit?event=sign_in", "stats", "punctuality",
		"secrets",
	} {
		path = "/api/" + path
		all = append(all, address{"GET " + path, path, ""})
	}
	return append(all, v.records()...)
}

// jobLists are a list of jobs with each filter.
func jobLists(path, name string) (all []address) {
	for _, f := range [][2]string{
		{"", ""},
		{"available", "state=available"},
		{"executing", "state=executing"},
		{"retryable", "state=retryable"},
		{"completed", "state=completed"},
		{"discarded", "state=discarded"},
		{"cancelled", "state=cancelled"},
		{"a tag", "tag=billing"},
		{"two tags", "tag=billing&tag=tenant-3"},
		{"tags that no job has together", "tag=billing&tag=export"},
		{"a host", "host=localhost"},
		{"a name", "name=invoice+3"},
		{"a name and a state", "name=export&state=completed"},
		{"a key", "idempotency_key=export-1-7"},
		{"a kind of error", "error_kind=status"},
		{"a kind of error, a host", "error_kind=timeout&host=localhost"},
		{"since", "since=2020-01-01T00:00:00Z"},
		{"until", "until=2020-01-01T00:00:00Z"},
	} {
		a := address{name, path, ""}
		if f[0] != "" {
			a = address{name + ": " + f[0], path + "?" + f[1], ""}
		}
		all = append(all, a)
	}
	if path == "/jobs" {
		for _, more := range [][2]string{
			{": search", "q=invoice"}, {": search without results", "q=nothing+at+all"},
			{": search of a state", "q=reminder&state=available"},
			{", part", "part=list"}, {": far page", "after=5000"},
		} {
			all = append(all, address{name + more[0], "/jobs?" + more[1], ""})
		}
	}
	return all
}

// records are the pages of single records.
func (v *visitor) records() (all []address) {
	one := func(path, of string) string { return strings.TrimPrefix(v.get(path).Get(of).Raw(), `"`) }
	clean := func(text string) string { return strings.Trim(text, `"`) }
	for _, j := range [][2]string{
		{"completed", "state=completed&tag=billing"}, {"failed", "state=discarded"}, {"rerun", "name=chain"},
		{"waiting for a limit", "name=mail"},
		{"waiting", "name=reminder"}, {"waiting for a retry", "state=retryable"},
	} {
		id, name := one("/api/jobs?limit=1&"+j[1], "data.0.job_id"), "job, "+j[0]
		all = append(all,
			address{name, "/jobs/" + id, "<main"},
			address{name + ", panel", "/jobs/" + id + "?part=peek", ""},
			address{name + ", part", "/jobs/" + id + "?part=job", ""},
			address{"GET /api/jobs/{id}/details, " + j[0], "/api/jobs/" + id + "/details", ""})
		if j[0] == "failed" {
			all = append(all,
				address{"GET /api/jobs/{id}", "/api/jobs/" + id, ""},
				address{"logs of a job", "/logs?job_id=" + id, ""},
				address{"history of a job", "/jobs/" + id + "/history", "<main"},
				address{"edit and rerun a job", "/jobs/" + id + "/rerun/edit", "<main"})
		}
	}
	for _, s := range [][2]string{{"", "0"}, {" that fails", "19"}} {
		id := clean(one("/api/schedules?limit=20", "data."+s[1]+".id"))
		for _, part := range []string{"", "?part=peek", "?part=head", "?part=runs"} {
			all = append(all, address{"schedule" + s[0] + part, "/schedules/" + id + part, ""})
		}
		all = append(all, address{"report of a schedule" + s[0], "/schedules/" + id + "/report", "<main"},
			address{"history of a schedule" + s[0], "/schedules/" + id + "/history", "<main"},
			address{"edit a schedule" + s[0], "/schedules/" + id + "/edit", "<main"},
			address{"jobs of a schedule" + s[0], "/jobs?schedule_id=" + id, "<main"},
			address{"failed jobs of a schedule" + s[0], "/jobs?state=discarded&schedule_id=" + id, "<main"},
			address{"logs of a schedule" + s[0], "/logs?schedule_id=" + id, "<main"},
			address{"attempts of a schedule" + s[0], "/attempts?schedule_id=" + id, "<main"},
			address{"GET /api/schedules/{id}/details" + s[0], "/api/schedules/" + id + "/details", ""},
			address{"GET /api/schedules/{id}/punctuality" + s[0], "/api/schedules/" + id + "/punctuality", ""},
			address{"GET /api/jobs of a schedule" + s[0], "/api/jobs?schedule_id=" + id, ""})
	}
	log := clean(one("/api/logs?limit=1", "data.0.id"))
	operation := clean(one("/api/operations?limit=1", "data.0.id"))
	run := clean(one("/api/runs?limit=1", "data.0.id"))
	_, operator, _ := v.read("/operator")
	account := regexp.MustCompile(`/operator/accounts/[^"?]+`).FindString(operator)
	all = append(all,
		address{"a log entry", "/logs/" + log, "<main"},
		address{"an operation", "/operations/" + operation, "<main"},
		address{"a workflow run", "/runs/" + url.PathEscape(run), "<main"},
		address{"an account, for operators", account, "<main"})
	_, page, _ := v.read("/jobs")
	if next := regexp.MustCompile(`/jobs\?after=\d+`).FindString(page); next != "" {
		all = append(all, address{"jobs: page 2", next, "<main"})
	}
	return all
}
