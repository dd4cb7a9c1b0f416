package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

const (
	noUUID = "00000000-0000-4000-8000-000000000000"
	noInt  = "999999999999"
)

func TestAPIRoute_UnknownIs404WithAndWithoutAKey(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, c := range []*harness.Client{s.Public(t), s.Client(t, ""), s.Client(t, "wrong")} {
		for _, path := range []string{"/api", "/api/", "/api/job", "/api/jobs/", "/api/jobs/1/2", "/api/jobs/1/cancel/",
			"/api/jobs/1/retry", "/api//jobs", "/api/jobs/../jobs", "/api/schedules/" + noUUID + "/enabled", "/api/keys", "/api/JOBS",
			"/nothing-here", "/openapi.yml", "/healthz/x", "/.git/config"} {
			c.Get(path).WantProblem(404)
		}
		c.Post("/api/unknown", `{"url":"https://example.com"}`).WantProblem(404)
	}
}

func TestAPIRoute_UnknownAndMalformedIDsAre404(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	for _, id := range []string{noUUID, noInt, "0", "-1", "1.5", "x", "99999999999999999999999", "%00", "%ff", "1%2f2",
		strings.Repeat("9", 3000), noUUID + "0", "{" + noUUID + "}", "null", "+1", "0x1", "1e3", "٣"} {
		c.Get("/api/jobs/" + id).WantProblem(404)
		c.Post("/api/jobs/"+id+"/cancel", nil).WantProblem(404)
		c.Post("/api/jobs/"+id+"/run", nil).WantProblem(404)
		c.Post("/api/jobs/"+id+"/rerun", nil).WantProblem(404)
		c.Do("PATCH", "/api/jobs/"+id, nil).WantProblem(404)
		c.Get("/api/jobs/" + id + "/details").WantProblem(404)
		c.Get("/api/jobs/" + id + "/revisions").WantProblem(404)
		c.Get("/api/schedules/" + id).WantProblem(404)
		c.Post("/api/schedules/"+id+"/disable", nil).WantProblem(404)
		c.Post("/api/schedules/"+id+"/enable", nil).WantProblem(404)
		c.Do("DELETE", "/api/schedules/"+id, nil).WantProblem(404)
		c.Do("PATCH", "/api/schedules/"+id, nil).WantProblem(404)
		c.Do("PUT", "/api/schedules/"+id, nil).WantProblem(404)
		c.Post("/api/schedules/"+id+"/run", nil).WantProblem(404)
		c.Get("/api/schedules/" + id + "/details").WantProblem(404)
		c.Get("/api/schedules/" + id + "/revisions").WantProblem(404)
		c.Get("/api/schedules/" + id + "/state").WantProblem(404)
		c.Do("PUT", "/api/schedules/"+id+"/state", nil).WantProblem(404)
		c.Get("/api/logs/" + id).WantProblem(404)
	}
}

func TestAPIRoute_OtherMethodsAre405WithAllow(t *testing.T) {
	t.Parallel()
	c := harness.Shared(t).Public(t)
	tests := []struct {
		path    string
		allowed []string
	}{
		{"/api/jobs", []string{"GET", "POST"}},
		{"/api/jobs/counts", []string{"GET"}},
		{"/api/jobs/1", []string{"GET", "PATCH"}},
		{"/api/jobs/1/details", []string{"GET"}},
		{"/api/jobs/cancel", []string{"POST"}},
		{"/api/jobs/1/run", []string{"POST"}},
		{"/api/jobs/1/rerun", []string{"POST"}},
		{"/api/jobs/1/cancel", []string{"POST"}},
		{"/api/schedules", []string{"GET"}},
		{"/api/schedules/" + noUUID, []string{"DELETE", "GET", "PATCH", "PUT"}},
		{"/api/schedules/" + noUUID + "/run", []string{"POST"}},
		{"/api/schedules/" + noUUID + "/state", []string{"DELETE", "GET", "PUT"}},
		{"/api/schedules/" + noUUID + "/disable", []string{"POST"}},
		{"/api/schedules/" + noUUID + "/enable", []string{"POST"}},
		{"/api/events", []string{"GET"}},
		{"/api/listen", []string{"GET"}},
		{"/api/logs", []string{"GET"}},
		{"/api/logs/" + noUUID, []string{"GET"}},
		{"/api/logs/export", []string{"GET"}},
		{"/api/preview", []string{"POST"}},
		{"/api/broadcast", []string{"POST"}},
		{"/api/ping", []string{"GET"}},
		{"/api/echo", []string{"POST"}},
		{"/healthz", []string{"GET"}},
		{"/readyz", []string{"GET"}},
		{"/metrics", []string{"GET"}},
		{"/openapi.json", []string{"GET"}},
		{"/docs", []string{"GET"}},
	}
	for _, test := range tests {
		t.Run(test.path, func(t *testing.T) {
			c := c.For(t)
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"} {
				if slices.Contains(test.allowed, method) {
					continue
				}
				answer := c.Do(method, test.path, nil).WantProblem(405)
				if got := allowed(answer); !slices.Equal(got, test.allowed) {
					t.Errorf("%s: Allow is %q, want %q", method, got, test.allowed)
				}
			}
		})
	}
}

// allowed parses the Allow header; HEAD and OPTIONS may be named too.
func allowed(a *harness.Answer) []string {
	var methods []string
	for _, value := range a.Header.Values("Allow") {
		for method := range strings.SplitSeq(value, ",") {
			if method = strings.TrimSpace(method); method != http.MethodHead && method != http.MethodOptions {
				methods = append(methods, method)
			}
		}
	}
	slices.Sort(methods)
	return methods
}

// credentialed are the calls that need a key.
var credentialed = []struct{ method, path, body string }{
	{"POST", "/api/jobs", waiting},
	{"GET", "/api/jobs", ""},
	{"GET", "/api/jobs/1", ""},
	{"POST", "/api/jobs/1/cancel", ""},
	{"GET", "/api/schedules", ""},
	{"GET", "/api/schedules/" + noUUID, ""},
	{"POST", "/api/schedules/" + noUUID + "/disable", ""},
	{"POST", "/api/schedules/" + noUUID + "/enable", ""},
	{"DELETE", "/api/schedules/" + noUUID, ""},
	{"GET", "/api/logs", ""},
	{"GET", "/api/logs/" + noUUID, ""},
}

func TestAPIRoute_MissingAndWrongKeysAre401(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	c := s.Client(t, "")
	key := harness.PublicKey
	for _, call := range credentialed {
		t.Run(call.method+" "+call.path, func(t *testing.T) {
			c := c.For(t)
			for _, header := range []string{"", "Bearer", "Bearer ", "Token", key, "Bearer " + key + "x", "Bearer x" + key,
				"Bearer " + strings.ToUpper(key), "Bearer " + key + " " + key, "Basic " + key, "Bearer sk_unknown",
				"Bearer " + key[:len(key)-1], "BearerToken " + key, "Bearer " + strings.Repeat("k", 5000)} {
				opt := harness.Header("Authorization", header)
				if header == "" {
					opt = harness.Header("Authorization")
				}
				var body any
				if call.body != "" {
					body = call.body
				}
				answer := c.Do(call.method, call.path, body, opt).WantProblem(401)
				if got := answer.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
					t.Errorf("WWW-Authenticate is %q", got)
				}
			}
		})
	}
}

func TestAPIRoute_BearerAndTokenCarryTheSameKeys(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	record := create(a.Client, waiting)
	c := s.Client(t, "")
	for _, scheme := range []string{"Bearer", "Token", "bearer", "TOKEN"} {
		got := c.Get(jobPath(record), harness.Header("Authorization", scheme+" "+a.Key)).Want(200).Data()
		wantSame(t, scheme, got, record.Raw())
	}
}

func TestAPIRoute_PublicCallsNeedNoKey(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	awaitReady(t, s)
	for _, c := range []*harness.Client{s.Client(t, ""), s.Client(t, "wrong")} {
		for _, path := range []string{"/api/ping", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"} {
			c.Get(path).Want(200)
		}
		c.Post("/api/broadcast", `{}`).Want(200)
		c.Post("/api/echo", `{}`).Want(200)
	}
}

func TestAPIRoute_RecordsOfAnotherAccountAre404(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	mine, other := s.Account(t), s.Account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(mine.Client, with(waiting, `"repeat_every":60`))
	done := create(mine.Client, `{"url":"`+target.URL+`"}`)
	awaitState(t, mine.Client, done, "completed")
	log := mine.Get("/api/logs?limit=1").Want(200).Data().Get("0")
	schedule := "/api/schedules/" + job.Get("schedule_id").Str()
	for _, c := range []*harness.Client{other.Client, s.Public(t)} {
		c.Get(jobPath(job)).WantProblem(404)
		c.Get("/api/jobs/" + job.Get("id").Str()).WantProblem(404)
		c.Post(jobPath(job)+"/cancel", nil).WantProblem(404)
		c.Get(schedule).WantProblem(404)
		c.Post(schedule+"/disable", nil).WantProblem(404)
		c.Post(schedule+"/enable", nil).WantProblem(404)
		c.Do("DELETE", schedule, nil).WantProblem(404)
		c.Get("/api/logs/" + log.Get("id").Str()).WantProblem(404)
		empty := c.Get("/api/jobs?schedule_id=" + job.Get("schedule_id").Str()).Want(200)
		wantSame(t, "jobs of a foreign schedule", empty.Data(), `[]`)
		empty = c.Get("/api/logs?job_id=" + done.Get("id").Str()).Want(200)
		wantSame(t, "logs of a foreign job", empty.Data(), `[]`)
	}
	for _, list := range []string{"/api/jobs", "/api/schedules", "/api/logs"} {
		wantSame(t, list, other.Get(list).Want(200).Data(), `[]`)
	}
	wantSame(t, "the job afterwards", mine.Get(jobPath(job)).Want(200).Data(), job.Raw())
}

func TestAPIRoute_OtherHostsThanThePublicURLAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("public-url", "https://punctual.example.com"))
	awaitReady(t, s)
	ask := func(path, host string, headers ...string) *http.Response {
		t.Helper()
		c := connect(t, s)
		c.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n")
		response := c.answer()
		if response == nil {
			t.Fatalf("%s at %s is not answered", path, host)
		}
		return response
	}
	for _, path := range []string{"/", "/sign-up", "/api/ping", "/api/jobs", "/nowhere"} {
		response := ask(path, "evil.example")
		if response.StatusCode != 421 || response.Header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(text(response), "this service is at https://punctual.example.com; use that address") {
			t.Errorf("%s is answered with %d", path, response.StatusCode)
		}
	}
	if response := ask("/api/ping", "punctual.example.com"); response.StatusCode != 200 ||
		response.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("the public host is answered with %d and %q", response.StatusCode, response.Header)
	}
	if response := ask("/api/ping", "punctual.example.com",
		"X-Forwarded-Proto: http\r\n"); response.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("over http there is %q", response.Header)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if response := ask(path, "10.0.0.7:8080"); response.StatusCode != 200 {
			t.Errorf("%s is answered with %d", path, response.StatusCode)
		}
	}
	s.Client(t, "").Get("/api/ping").Want(200) // by the machine's own address
}
