package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// posting is a job with a body and headers of its own that does not retry.
func posting(url, members string) string {
	return with(`{"method":"post","retries":0,"metadata":false,"body":{"a":1},"url":"`+url+`"}`, members)
}

func TestTargetRedirect_KeepsOrChangesTheMethodByStatus(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct {
		status       int
		method, want string
		body         bool
	}{
		{301, "post", "GET", false}, {302, "post", "GET", false}, {303, "post", "GET", false},
		{307, "post", "POST", true}, {308, "post", "POST", true},
		{301, "put", "PUT", true}, {302, "patch", "PATCH", true}, {303, "put", "GET", false}, {303, "delete", "GET", false},
		{307, "delete", "DELETE", true}, {308, "put", "PUT", true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, " ", test.method), func(t *testing.T) {
			c := a.For(t)
			target := harness.SharedTarget(t).Route(t)
			target.RespondOnce(harness.Redirect(test.status, target.URL+"/next")).Respond(harness.Status(201))
			body := strings.Replace(posting(target.URL, ""), `"post"`, `"`+test.method+`"`, 1)
			_, payload := finished(t, c, body, "completed")
			wantSame(t, "the last answer counts", payload.Get("status"), "201")
			hit := target.Hits()[1]
			if hit.Method != test.want || hit.Path != target.Path+"/next" {
				t.Errorf("sent on as %s %s, want %s", hit.Method, hit.Path, test.want)
			}
			if got := string(hit.Body) == `{"a":1}`; got != test.body || !got && len(hit.Body) > 0 {
				t.Errorf("sent on with body %q", hit.Body)
			}
			if got := hit.Header.Get("Content-Type"); (got == "application/json") != test.body {
				t.Errorf("sent on with content type %q", got)
			}
		})
	}
}

func TestTargetRedirect_LastResponseCounts(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Redirect(302, "?relative=1")).Respond(harness.Reply(500, "text/plain", "end"))
	_, payload := finished(t, a.Client, posting(target.URL, ""), "discarded")
	wantSame(t, "status", payload.Get("status"), "500")
	wantSame(t, "body", payload.Get("body"), `"end"`)
	if got := target.Hits()[1].RawQuery; got != "relative=1" {
		t.Errorf("the relative location led to %q", got)
	}
}

func TestTargetRedirect_AtMostFiveAreFollowed(t *testing.T) {
	t.Parallel()
	a := account(t)
	redirect := func(target *harness.Route) *harness.Route {
		return target.Respond(harness.Redirect(307, target.URL))
	}
	five := redirect(harness.SharedTarget(t).Route(t))
	for range 5 {
		five.RespondOnce(harness.Redirect(307, five.URL))
	}
	five.Respond(harness.Status(200))
	finished(t, a.Client, posting(five.URL, ""), "completed")
	if got := len(five.Hits()); got != 6 {
		t.Errorf("five redirects made %d requests", got)
	}
	endless := redirect(harness.SharedTarget(t).Route(t))
	job, payload := finished(t, a.Client, posting(endless.URL, ""), "discarded")
	wantEvents(t, logsOf(a.Client, job), "http.request", "http.error")
	wantSame(t, "kind", payload.Get("kind"), `"redirect"`)
	if got := len(endless.Hits()); got != 6 {
		t.Errorf("an endless redirect made %d requests", got)
	}
}

func TestTargetRedirect_IsFollowedToHTTPSOnly(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, location := range []string{"http://127.0.0.1:1/", "ftp://127.0.0.1/", "javascript:alert(1)", "//"} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.Redirect(302, location))
		_, payload := finished(t, a.Client, posting(target.URL, ""), "discarded")
		wantSame(t, location, payload.Get("kind"), `"redirect"`)
	}
}

// ownHeaders are headers that a job might carry, some of them secrets.
const ownHeaders = `"headers":{"authorization":"Bearer secret","cookie":"a=b","x-mine":"1","accept":"text/plain",
	"content-type":"application/vnd.x+json","user-agent":"mine"}`

func TestTargetRedirect_ToAnotherOriginDropsSecretHeaders(t *testing.T) {
	t.Parallel()
	a := account(t)
	here, there := harness.SharedTarget(t).Route(t), harness.NewTarget(t).Route(t)
	here.Respond(harness.Redirect(307, there.URL))
	job, _ := finished(t, a.Client, posting(here.URL, ownHeaders), "completed")
	hit := there.Hits()[0]
	for name, want := range map[string]string{
		"Accept": "text/plain", "Content-Type": "application/vnd.x+json",
		"X-Punctual-Job-Id": job.Get("job_id").Raw(), "X-Punctual-Attempt": "1",
		"X-Punctual-Scheduled-At": job.Get("job.scheduled_at").Str(),
	} {
		if got := hit.Header.Values(name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Mine", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Referer"} {
		if got := hit.Header.Values(name); len(got) > 0 {
			t.Errorf("%s went along: %q", name, got)
		}
	}
	if got := hit.Header.Get("User-Agent"); !strings.HasPrefix(got, "punctual/") {
		t.Errorf("User-Agent is %q, want the service's own", got)
	}
}

func TestTargetRedirect_OnTheSameOriginKeepsHeadersAndSignature(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Redirect(308, target.URL+"/next"))
	finished(t, a.Client, posting(target.URL, ownHeaders), "completed")
	hit := target.Hits()[1]
	for name, want := range map[string]string{"Authorization": "Bearer secret", "Cookie": "a=b", "X-Mine": "1",
		"User-Agent": "mine punctual/"} {
		if got := hit.Header.Get(name); got != want && !(name == "User-Agent" && strings.HasPrefix(got, want)) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	wantSigned(t, hit, a.Secret)
}

func TestTargetRedirect_OriginIsSchemeHostAndPort(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Redirect(307, strings.Replace(target.URL, "127.0.0.1", "localhost", 1)))
	finished(t, a.Client, posting(target.URL, ownHeaders), "completed")
	if got := target.Hits()[1].Header.Get("Authorization"); got != "" {
		t.Errorf("another host got the Authorization %q", got)
	}
}
