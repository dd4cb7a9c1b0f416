package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestTarget_PortsAreRestricted(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("target-ports"))
	c := s.Public(t)
	for _, address := range []string{"https://example.com:80/", "https://example.com:25/", "https://127.0.0.1:6667/", "https://[::1]:22/"} {
		for _, member := range urlMembers {
			c.Post("/api/jobs", jobCalling(member, address)).WantPointers("#/" + member)
		}
	}
	answer := c.Post("/api/jobs", `{"url":"https://example.com:6667/"}`).WantProblem(422)
	wantSame(t, "the reason", answer.JSON.Get("detail"),
		`"url must not use port 6667; permitted are 443,1024-65535, without those that browsers block"`)
	for _, address := range []string{"https://example.com/", "https://example.com:443/", "https://example.com:8443/",
		"https://example.com:65535/"} {
		create(c, `{"url":"`+address+`","scheduled_at":"`+far+`"}`)
	}
	target := harness.SharedTarget(t).Route(t).Respond(harness.Redirect(307, "https://127.0.0.1:80/"))
	job, payload := finished(t, c, `{"url":"`+target.URL+`"}`, "discarded")
	wantEvents(t, logsOf(c, job), "http.request", "http.error")
	wantSame(t, "kind", payload.Get("kind"), `"blocked"`)
	wantSame(t, "message", payload.Get("message"), `"127.0.0.1:80 may not be called: port 80 is not one of those that this service calls"`)
}

// wantCalled fails the test unless the job's request arrives.
func wantCalled(t *testing.T, c *harness.Client) {
	t.Helper()
	target := harness.SharedTarget(t).Route(t)
	finished(t, c, `{"url":"`+target.URL+`"}`, "completed")
}

// wantRefused fails the test unless the target's address is refused on create
// or, where a name resolves to it, when the service connects.
func wantRefused(t *testing.T, c *harness.Client) {
	t.Helper()
	target := harness.SharedTarget(t).Route(t)
	c.Post("/api/jobs", `{"url":"`+target.URL+`"}`).WantPointers("#/url")
	name := "https://" + privateName(t) + ":" + harness.SharedTarget(t).Port + target.Path
	_, payload := finished(t, c, `{"url":"`+name+`"}`, "discarded")
	wantSame(t, "kind", payload.Get("kind"), `"blocked"`)
	if message := payload.Get("message").Str(); strings.Contains(message, "127.") || strings.Contains(message, "::1") {
		t.Errorf("the message tells the address: %s", message)
	}
	if hits := target.Hits(); len(hits) > 0 {
		t.Errorf("the target was called: %+v", hits)
	}
}

func TestTarget_AllowedOneNeedsNoSwitch(t *testing.T) {
	t.Parallel()
	c := harness.Start(t, harness.NoFlag("allow-private-targets"), harness.Flag("allow-targets", "192.0.2.0/24,127.0.0.1")).Public(t)
	wantCalled(t, c)
	for _, address := range []string{"https://127.0.0.2:8443/", "https://10.0.0.1/", "https://192.0.3.1:6000/"} {
		c.Post("/api/jobs", `{"url":"`+address+`"}`).WantPointers("#/url")
	}
}

func TestTarget_DeniedOneIsRefusedWhateverElseIsPermitted(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]harness.Option{
		{harness.Flag("deny-targets", "127.0.0.0/8,::1")},
		{harness.Flag("deny-targets", "0.0.0.0/0,::/0"), harness.NoFlag("allow-private-targets"),
			harness.Flag("allow-targets", "127.0.0.1,::1")},
		{harness.Env("PUNCTUAL_DENY_TARGETS=127.0.0.0/8, ::1")},
	} {
		wantRefused(t, harness.Start(t, opts...).Public(t))
	}
}

// TestTarget_BlockedOneIsRefusedForAllAccounts blocks the target of a running
// service that has open connections to it.
func TestTarget_BlockedOneIsRefusedForAllAccounts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	wantCalled(t, c)
	waits := create(c, `{"url":"`+harness.SharedTarget(t).Route(t).URL+`","scheduled_at":"`+far+`"}`)
	refused := `{"url":"` + harness.SharedTarget(t).Route(t).URL + `","scheduled_at":"` + far + `"}`
	s.Command(t, "targets", "block", "127.0.0.0/8", "--reason", "a test")
	harness.Eventually(t, soon, "the target to be refused", func() bool { return c.Post("/api/jobs", refused).Status == 422 })
	c.Post("/api/jobs", refused).WantPointers("#/url")
	c.Post(jobPath(waits)+"/run", "").Want(200)
	waits = awaitState(t, c, waits, "discarded")
	wantEvents(t, logsOf(c, waits), "http.request", "http.error")
	s.Command(t, "targets", "block", "Example.com")
	harness.Eventually(t, soon, "the host to be refused", func() bool { return c.Post("/api/jobs", waiting).Status == 422 })
	s.Stop()
	s.Restart(t)
	c = s.Public(t)
	c.Post("/api/jobs", waiting).WantPointers("#/url")
	wantRefused(t, c)
	s.Command(t, "targets", "unblock", "127.0.0.0/8")
	s.Command(t, "targets", "unblock", "example.com")
	harness.Eventually(t, soon, "the host to be permitted", func() bool { return c.Post("/api/jobs", waiting).Status == 201 })
	wantCalled(t, c)
}

// TestTarget_JobsThatCreateJobsEndAfterThreeHops creates a job that calls the
// API, through a TLS proxy, to create a job like itself.
func TestTarget_JobsThatCreateJobsEndAfterThreeHops(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Public(t)
	for name, recurs := range map[string]string{"one-off": "", "recurring": `"repeat_every":[1,"hour"],`} {
		proxy := harness.SharedTarget(t).Route(t)
		body := `{"retries":0,"method":"post",` + recurs + `"url":"` + proxy.URL + `","callback_url":"` + proxy.URL + `/callback"}`
		statuses := make(chan int, 10)
		proxy.Respond(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/callback") {
				return
			}
			call, _ := http.NewRequest("POST", s.URL()+"/api/jobs", strings.NewReader(body))
			call.Header = http.Header{"Authorization": {"Bearer " + harness.PublicKey}, "Content-Type": {"application/json"}}
			call.Header["X-Punctual-Hops"] = r.Header["X-Punctual-Hops"]
			resp, err := http.DefaultClient.Do(call)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
			w.WriteHeader(resp.StatusCode)
		}))
		create(c, body)
		proxy.AwaitEnds(t, 6, soon)
		hops := map[string]int{}
		for _, hit := range proxy.Hits() {
			hops[strings.TrimPrefix(hit.Path, proxy.Path)+" "+hit.Header.Get("X-Punctual-Hops")]++
		}
		for _, want := range []string{" 1", " 2", " 3", "/callback 1", "/callback 2", "/callback 3"} {
			if hops[want] != 1 {
				t.Errorf("%s: %d requests are %q, want 1: %v", name, hops[want], want, hops)
			}
		}
		// A job may start before the call that creates it has its answer.
		got := []int{<-statuses, <-statuses, <-statuses}
		if slices.Sort(got); !slices.Equal(got, []int{201, 201, 422}) {
			t.Errorf("%s: the creates were answered with %v, want 201 twice and 422", name, got)
		}
	}
}

func TestTarget_HTTPIsCalledWithTheSwitchOnly(t *testing.T) {
	t.Parallel()
	hits := make(chan string, 10)
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hits <- r.URL.Path }))
	t.Cleanup(target.Close)
	without := harness.Start(t).Public(t)
	without.Post("/api/jobs", `{"url":`+quote(target.URL+"/refused")+`}`).WantPointers("#/url")
	with := harness.Start(t, harness.Flag("allow-http-targets", "true")).Public(t)
	record := create(with, `{"url":`+quote(target.URL+"/job")+`,"callback_url":`+quote(target.URL+"/callback")+`}`)
	awaitState(t, with, record, "completed")
	for _, want := range []string{"/job", "/callback"} {
		if got := <-hits; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
