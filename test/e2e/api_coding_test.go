package e2e

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// compressed returns a text as gzip compresses it.
func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// coded sets the Content-Encoding of a call.
func coded(coding string) func(*http.Request) {
	return func(req *http.Request) { req.Header.Set("Content-Encoding", coding) }
}

func TestAPIBody_GzipIsRead(t *testing.T) {
	t.Parallel()
	a := account(t)
	form := harness.ContentType("application/x-www-form-urlencoded")
	lines := harness.ContentType("application/x-ndjson")
	job := with(waiting, `"body":{"a":"`+strings.Repeat("x", 5000)+`"}`)
	a.Post("/api/jobs", compressed(t, job), coded("gzip")).Want(201)
	a.Post("/api/jobs", compressed(t, job), coded("gzip"), chunked).Want(201)
	a.Post("/api/jobs", compressed(t, "url=https://example.com&schedule_in[]=1&schedule_in[]=day"), coded("gzip"), form).Want(201)
	a.Post("/api/jobs/batch", compressed(t, job+"\n"+job+"\n"), coded("gzip"), lines).Want(201)
	a.Post("/api/jobs/batch", compressed(t, "["+job+"]"), coded("x-gzip")).Want(201)
	a.Post("/api/apply", compressed(t, `{"owner":"a","schedules":[{"key":"k","url":"https://example.com","repeat_every":3600}]}`),
		coded("gzip")).Want(200)
	a.Post("/api/echo", compressed(t, `{"a":1.10}`), coded("gzip")).Want(200)
	a.Post("/api/jobs", job, coded("identity")).Want(201)
	if n := len(a.Get("/api/jobs?limit=100").Want(200).Data().Items()); n != 8 {
		t.Errorf("%d jobs are stored, want 8", n)
	}
}

func TestAPIBody_LimitsAreForWhatGzipBecomes(t *testing.T) {
	t.Parallel()
	a := account(t)
	const limit = 1 << 20
	a.Post("/api/jobs", compressed(t, padded(limit)), coded("gzip")).Want(201)
	for _, path := range reading {
		a.Post(path, compressed(t, padded(limit+1)), coded("gzip")).WantProblem(413)
		a.Post(path, compressed(t, padded(40<<20)), coded("gzip")).WantProblem(413)
		a.Post(path, waiting, coded("gzip")).WantProblem(400)
		a.Post(path, compressed(t, padded(5000))[:60], coded("gzip")).WantProblem(400)
	}
	a.Post("/api/jobs/batch", compressed(t, "["+padded(8<<20)+"]"), coded("gzip")).WantProblem(413)
}

func TestAPIBody_OtherCodingsAre415(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, coding := range []string{"br", "deflate", "zstd", "gzip, gzip", "gzip, br", "compress"} {
		for _, path := range append(reading, "/api/jobs/batch") {
			answer := a.Post(path, compressed(t, waiting), coded(coding)).WantProblem(415)
			if got := answer.Header.Get("Accept-Encoding"); got != "gzip" {
				t.Errorf("%s: Accept-Encoding: %q", coding, got)
			}
		}
	}
	job := create(a.Client, waiting)
	a.Post(jobPath(job)+"/cancel", "x", coded("br")).Want(200) // takes no body
}

// Errors of the protocol never reach a call; they are problems all the same.
func TestAPIRoute_ProtocolErrorsAreProblems(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for sent, status := range map[string]int{
		"GET /api/jobs/%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":                                         400,
		"GET /api/jobs HTTP/1.1\r\n\r\n":                                                                400,
		"GET * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":                                                     404,
		"GET /api/jobs?q=" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":       431,
		"GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: " + strings.Repeat("a", 80<<10) + "\r\n\r\n": 431,
		"GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("A: b\r\n", 1200) + "\r\n":     431,
		"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip\r\n\r\n":                 501,
		"GET /api/jobs HTTP/4.2\r\nHost: 127.0.0.1\r\n\r\n":                                             505,
		"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: everything\r\nContent-Length: 0\r\n\r\n": 417,
	} {
		c := connect(t, s)
		c.send(sent)
		response := c.answer()
		if response == nil {
			t.Errorf("%.60q is not answered", sent)
			continue
		}
		body := text(response)
		if response.StatusCode != status || response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.60q: %d %s %s, want a problem with %d", sent, response.StatusCode, response.Header.Get("Content-Type"), body,
				status)
		}
		problem := harness.JSON(body)
		if problem.Get("status").Int() != int64(status) || problem.Get("detail").Str() == "" ||
			problem.Get("title").Str() != http.StatusText(status) {
			t.Errorf("%.60q: %s", sent, body)
		}
	}
}

func TestLists_PageIsRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, path := range []string{"/api/jobs", "/api/schedules", "/api/logs", "/api/operations", "/api/alerts", "/api/account/audit",
		"/api/account/keys", "/api/jobs/counts", "/api/logs/export", "/api/export"} {
		for _, query := range []string{"?page=2", "?page[number]=2&limit=5"} {
			problem := a.Get(path + query).WantProblem(422)
			if detail := problem.JSON.Get("detail").Str(); !strings.Contains(detail, "offset") || !strings.Contains(detail, "cursor") {
				t.Errorf("%s%s: %s", path, query, detail)
			}
		}
	}
	a.Get("/api/limits?page=2").WantProblem(422)
	a.Get("/api/ping?page=2").Want(200)
}

// A parameter that isn't known is listed beside those with wrong values, by every call
// that has parameters.
func TestQuery_AllProblemsAreListed(t *testing.T) {
	t.Parallel()
	a := account(t)
	s := a.Post("/api/jobs", with(waiting, `"repeat_every":[1,"day"]`)).Want(201)
	schedule := "/api/schedules/" + s.JSON.Get("data.schedule_id").Str()
	for query, want := range map[string]string{
		"/api/jobs?limit=0&page=2":             "page limit",
		"/api/jobs?limit=0&STATE=x":            "STATE limit",
		"/api/jobs?mask=x&limit=0&STATE=x":     "STATE mask limit",
		"/api/jobs?limit=%zz&offset=x":         "limit offset",
		"/api/jobs/counts?state=x&limit=1":     "limit state",
		"/api/jobs/1?mask=x&limit=1":           "limit mask",
		"/api/schedules?limit=0&cron=x&host=x": "host limit",
		"/api/schedules?include=x&limitt=1":    "limitt include",
		schedule + "?MASK=x":                   "MASK",
		schedule + "/details?include=x&limit=": "limit include",
		schedule + "/punctuality?month=&MONT=": "MONT month",
		"/api/logs?limit=0&job_id=x&host=":     "host job_id limit",
		"/api/logs/export?event=+&limit=1":     "limit event",
		"/api/logs/1?limit=1":                  "limit",
		"/api/alerts?limit=0&page=1":           "page limit",
		"/api/groups?limit=0&page=1":           "page limit",
		"/api/limits?limit=0&page=1":           "page limit",
		"/api/secrets?limit=0&page=1":          "page limit",
		"/api/runs?limit=0&page=1":             "page limit",
		"/api/operations?limit=0&page=1":       "page limit",
		"/api/account/members?limit=0&page=1":  "page limit",
		"/api/account/audit?limit=0&page=1":    "page limit",
		"/api/export?owner=&limit=1":           "limit owner",
		"/api/stats?minutes=x&limit=1":         "limit minutes",
		"/api/listen?name=&limit=1":            "limit name",
	} {
		named := a.Get(query).WantProblem(422).JSON.Get("errors").Pluck("parameter")
		if got := strings.ReplaceAll(strings.Join(named, " "), `"`, ""); got != want {
			t.Errorf("%s names %q, want %q", query, got, want)
		}
	}
	if batch := a.Post("/api/jobs/batch?atomic=x&limit=1", `[]`).WantProblem(422); len(batch.JSON.Get("errors").Items()) != 2 {
		t.Errorf("batch: %s", batch.Body)
	}
}

// Every well-formed UUID is one, also that of no record.
func TestLists_TheNilUUIDSelectsNothing(t *testing.T) {
	t.Parallel()
	a := account(t)
	a.Post("/api/jobs", waiting).Want(201)
	const id = "00000000-0000-0000-0000-000000000000"
	for _, path := range []string{
		"/api/jobs?schedule_id=" + id, "/api/logs?job_id=" + id, "/api/logs?schedule_id=" + id, "/api/logs/export?job_id=" + id,
	} {
		if got := a.Get(path).Want(200); strings.Contains(string(got.Body), "http") {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	if got := a.Get("/api/jobs/counts?schedule_id=" + id).Want(200); got.JSON.Get("data.available").Int() != 0 {
		t.Errorf("counts: %s", got.Body)
	}
	matched := a.Post("/api/operations", `{"action":"cancel","dry_run":true,"filter":{"schedule_id":"`+id+`"}}`).Want(200)
	if n := matched.JSON.Get("data.matched").Int(); n != 0 {
		t.Errorf("an operation finds %d jobs", n)
	}
}
