package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// public adds the account of a public key.
func public(config *Config, people *auth.PeopleConfig) {
	account, err := auth.PublicAccount(context.Background(), people.Store, people.Now())
	if err != nil {
		panic(err)
	}
	config.Public = account
}

func (b *browser) jobs(t *testing.T) int {
	t.Helper()
	account, err := auth.PublicAccount(t.Context(), b.s, b.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := b.s.JobList(t.Context(), account.Owner, job.Query{ListQuery: job.ListQuery{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	return len(jobs)
}

func TestPages_HaveSecurityHeaders(t *testing.T) {
	b := newSite(t, false, public).browser()
	for _, path := range []string{"/public/jobs", "/public/jobs/new", "/public/jobs/999", "/nothing-here", "/sign-in", "/assets/none.css"} {
		header := b.get(path).Header
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if got := header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s may be kept: %q", path, got)
		}
	}
}

func TestErrors_AreOnlyPagesForBrowsers(t *testing.T) {
	b := newSite(t, false, public).browser()
	b.want(b.get("/nothing-here"), http.StatusNotFound, "There is no page at this address")
	b.want(b.get("/public/jobs/999"), http.StatusNotFound, "There is no such job.")
	b.want(b.get("/public/jobs/x"), http.StatusNotFound, "Not found")
	b.want(b.get("/public/settings"), http.StatusNotFound, "There is no page")
	b.want(b.get("/api/nothing"), http.StatusNotFound, `"status":404`)
	b.want(b.get("/public/jobs?q="+strings.Repeat("x", 301)), http.StatusUnprocessableEntity, "at most 300 bytes")
	refused := b.want(b.do(http.MethodDelete, "/public/jobs", nil), http.StatusMethodNotAllowed, "does not accept DELETE")
	if got := refused.Header.Get("Allow"); got != "GET, HEAD, POST" {
		t.Errorf("allowed: %q", got)
	}
	b.header.Set("Accept", "*/*")
	b.want(b.get("/nothing-here"), http.StatusNotFound, `"status":404`)
	head := b.do(http.MethodHead, "/public/jobs", nil)
	if head.StatusCode != http.StatusOK || head.body != "" || head.ContentLength < 1000 {
		t.Errorf("HEAD: %d, %d bytes, %q", head.StatusCode, head.ContentLength, head.body)
	}
}

func TestPublicPages_NeedAPublicAccount(t *testing.T) {
	b := newSite(t, false).browser()
	for _, path := range []string{"/public", "/public/jobs", "/public/jobs/new"} {
		b.want(b.get(path), http.StatusNotFound, "There is no page at this address")
	}
}

func TestForgedRequests_CreateNoJobs(t *testing.T) {
	b := newSite(t, false, public).browser()
	for _, from := range []string{"cross-site", "same-site"} {
		b.header.Set("Sec-Fetch-Site", from)
		b.want(b.post("/public/jobs", "method", "get", "url", "https://example.com"), http.StatusForbidden, "came from another site")
	}
	if n := b.jobs(t); n != 0 {
		t.Errorf("%d jobs were created", n)
	}
}

func TestJobs_CreateWithoutScripts(t *testing.T) {
	b := newSite(t, false, public).browser()
	refused := b.want(b.post("/public/jobs", "method", "get", "url", "http://example.com", "when", "whenever", "metadata", "true"),
		http.StatusUnprocessableEntity, "Nothing was created")
	for _, says := range []string{"URL must use https", "When is not understood", `value="whenever"`, `aria-invalid="true"`} {
		if !strings.Contains(refused.body, says) {
			t.Errorf("does not say %q", says)
		}
	}
	b.want(b.post("/public/jobs", "method", "get", "url", "https://example.com", "when", "in 5 minutes", "go", "check", "metadata", "true"),
		http.StatusOK, "5 min")
	b.want(b.post("/public/jobs", "as", "json", "json", `{"url":"https://example.com","cron":"61 * * * *"}`),
		http.StatusUnprocessableEntity, "cron has ")
	if n := b.jobs(t); n != 0 {
		t.Errorf("%d jobs were created", n)
	}
	b.want(b.post("/public/jobs", "method", "get", "url", "https://example.com", "when", "every day at 13:00", "idempotency_key", "k",
		"metadata", "true"), http.StatusSeeOther, "/public/jobs/1?done=created")
	b.want(b.post("/public/jobs", "method", "get", "url", "https://example.com", "idempotency_key", "k", "metadata", "true"),
		http.StatusSeeOther, "/public/jobs/1?done=held")
	b.want(b.get("/public/jobs/1?done=held"), http.StatusOK, "No other job was created")
	b.want(b.get("/public/jobs/1?done=<script>alert(1)</script>"), http.StatusOK, "example.com")
	b.want(b.post("/public/jobs/1/when", "when", "every day"), http.StatusUnprocessableEntity, "is a recurrence")
	b.want(b.post("/public/jobs/1/when", "when", "in 2 hours"), http.StatusSeeOther, "/public/jobs/1?done=rescheduled")
	b.want(b.post("/public/jobs/cancel"), http.StatusSeeOther, "/public/jobs?done=none")
	b.want(b.post("/public/jobs/cancel", "job", "77"), http.StatusNotFound, "none was cancelled")
}

// TestPages_StaySmall tests that what others put into a job can't make a page
// large; get fails the test where it does.
func TestPages_StaySmall(t *testing.T) {
	b := newSite(t, false, public).browser()
	account, err := auth.PublicAccount(t.Context(), b.s, b.s.Now())
	if err != nil {
		t.Fatal(err)
	}
	hostile := string(rawjson.Quote(strings.Repeat(`<&"'>`, 40_000)))
	long := "https://example.com/?q=" + strings.Repeat("&'", 4000)
	for range 30 {
		body := `{"method":"post","url":` + string(rawjson.Quote(long)) + `,"name":"` + strings.Repeat("&", 255) + `","description":"` +
			strings.Repeat("<", 2000) +
			`","idempotency_key":null,"body":` + hostile + `,"headers":{"X-Large":` + string(rawjson.Quote(strings.Repeat("<", 20_000))) +
			`},"callback_url":` + string(rawjson.Quote(long)) + `,"schedule_in":3600}`
		if _, _, err := b.service.Create(t.Context(), account.Owner, []byte(body), nil); err != nil {
			t.Fatal(err)
		}
	}
	b.want(b.get("/public/jobs"), http.StatusOK, "example.com")
	b.want(b.get("/public/jobs?q="+strings.Repeat("%26'", 10)), http.StatusOK, "example.com")
	tags := ""
	for i := range job.MaxTags {
		tags += fmt.Sprintf("&tag=%d%s", i, strings.Repeat("x", 63))
	}
	b.want(b.get("/public/jobs?since=2020-01-01"+tags), http.StatusOK, "No job matches")
	b.want(b.get("/public/jobs/1"), http.StatusOK, "not shown.")
}
