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
