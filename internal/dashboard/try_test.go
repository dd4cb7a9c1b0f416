package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/quota"
)

func TestTry_CallsAsThePersonWhoIsSignedIn(t *testing.T) {
	w := newSite(t, false, limits(0, quota.Defaults{Rate: 100}))
	ann := w.citizen()
	account := w.owner("ann@example.com")
	w.create(account, `{"url":"https://example.com/","name":"Mine","headers":{"Authorization":"Bearer hunter2"}}`)
	viewer := w.joins(account, "vic@example.com", identity.RoleViewer)

	if a := ann.get("/try"); a.StatusCode != http.StatusForbidden {
		t.Errorf("a request without the header of the script: status %d", a.StatusCode)
	}
	ann.header.Set(tryHeader, "1")
	viewer.header.Set(tryHeader, "1")
	stranger := w.browser()
	stranger.header.Set(tryHeader, "1")

	ann.wantAll(ann.get("/try"), `"person":"ann@example.com"`, `"role":"owner"`)
	viewer.wantAll(viewer.get("/try"), `"person":"vic@example.com"`, `"account":"ann@example.com"`, `"role":"viewer"`)
	stranger.want(stranger.get("/try"), http.StatusNoContent, "")
	stranger.want(stranger.get("/try/api/jobs"), http.StatusUnauthorized, "Nobody is signed in")

	for _, path := range []string{"/try/api/jobs", "/try/api/jobs?mask=false"} {
		jobs := ann.wantAll(ann.get(path), `"name":"Mine"`, `"***"`)
		if strings.Contains(jobs.body, "hunter2") {
			t.Errorf("GET %s shows a credential", path)
		}
		if jobs.Header.Get("Content-Type") != "application/json" || jobs.Header.Get("RateLimit") == "" {
			t.Errorf("GET %s: %v", path, jobs.Header)
		}
	}
	viewer.wantAll(viewer.get("/try/api/jobs"), `"name":"Mine"`)
	ann.wantAll(ann.get("/try/api/account/keys"), `"prefix":"sk_`)
	viewer.want(viewer.get("/try/api/account/keys"), http.StatusForbidden, "needs the role admin")
}

func TestTry_FindsNamesWithSlashesAndDots(t *testing.T) {
	w := newSite(t, false)
	ann := w.citizen()
	ann.header.Set(tryHeader, "1")
	w.create(w.owner("ann@example.com"), `{"url":"https://example.com/","name":"Mine","idempotency_key":"a//b/.c","schedule_in":3600}`)
	ann.wantAll(ann.get("/try/api/jobs/key:a%2F%2Fb%2F.c"), `"name":"Mine"`)
	ann.want(ann.get("/try/api/limits/.dots"), http.StatusNotFound, "no such limit")
}

func TestTry_RefusesWhatChangesStreamsOrShowsSecrets(t *testing.T) {
	w := newSite(t, false)
	ann := w.citizen()
	ann.header.Set(tryHeader, "1")
	one := w.create(w.owner("ann@example.com"), `{"url":"https://example.com/","schedule_in":3600}`)
	for _, path := range []string{"/try/api/events", "/try/api/listen", "/try/api/logs/export", "/try/api/account/signing-secrets",
		"/try/api/operations", "/try/api/groups", "/try/api/alerts", "/try/api/alerts/ops", "/try/api/jobs/" + one.ID.String() + "/revisions",
		"/try/mcp", "/try/metrics", "/try/docs", "/try/api"} {
		if a := ann.get(path); a.StatusCode != http.StatusForbidden || !strings.Contains(a.body, "needs a key") {
			t.Errorf("GET %s: status %d, %s", path, a.StatusCode, a.body)
		}
	}
	if a := ann.do(http.MethodPost, "/try/api/jobs", nil); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", a.StatusCode)
	}
	if a := ann.do(http.MethodDelete, "/try/api/jobs/"+one.ID.String(), nil); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: status %d", a.StatusCode)
	}
	// The session's cookie means nothing to the API itself, with the header or without.
	if a := ann.get("/api/jobs"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET /api/jobs with a session's cookie: status %d", a.StatusCode)
	}
}
