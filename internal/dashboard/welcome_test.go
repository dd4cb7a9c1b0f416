package dashboard

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/job"
)

func TestWelcome_ShowsTheMessageOfItsJob(t *testing.T) {
	w := newSite(t, true)
	b := w.citizen()
	page := b.want(b.get("/welcome"), 200, w.url+"/api/broadcast")
	channel := regexp.MustCompile(`page-[0-9a-f]{16}`).FindString(page.body)
	if channel == "" {
		t.Fatalf("no channel on the page: %s", page.body)
	}
	stream, lines := b.listen("/welcome/events")
	defer stream()
	send := func(channel, content string) {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/api/broadcast",
			strings.NewReader(`{"content":"`+content+`","author":"me","channel":"`+channel+`"}`))
		request.Header.Set("X-Punctual-Scheduled-At", job.FormatTime(w.clock().Add(-2*time.Millisecond)))
		request.Header.Set("X-Punctual-Job-Id", "77")
		response, err := w.tls.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != 200 || string(body) != `{"content":"`+content+`","author":"me","channel":"`+channel+`"}` {
			t.Errorf("the call returns %d, %s", response.StatusCode, body)
		}
	}
	send("page-0000000000000000", "for somebody else")
	send(channel, "<i>hello</i>")
	for line := range lines {
		if line == "event: message" {
			break
		}
	}
	part := b.want(b.get("/welcome?part=live"), 200, "me: &lt;i&gt;hello&lt;/i&gt; (from job 77)")
	b.want(part, 200, "2.0 ms after it was due")
	if strings.Contains(part.body, "somebody else") || strings.Contains(part.body, "<html") {
		t.Errorf("the part is %s", part.body)
	}
}

// listen opens an event stream and returns its lines.
func (b *browser) listen(path string) (stop func(), lines <-chan string) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	response, err := b.client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		b.Fatalf("the stream returns %d, %q", response.StatusCode, got)
	}
	read := make(chan string, 100)
	go func() {
		defer close(read)
		defer func() { _ = response.Body.Close() }()
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			read <- scanner.Text()
		}
	}()
	// The first line says that the page is being watched.
	<-read
	return cancel, read
}

func TestWelcome_CreatesTheFirstJob(t *testing.T) {
	w := newSite(t, true)
	b := w.citizen()
	stream, lines := b.listen("/welcome/events")
	defer stream()
	b.want(b.post("/welcome/send"), 303, "/welcome?done=sent")
	for line := range lines {
		if line == "event: job" {
			break
		}
	}
	b.want(b.get("/welcome?done=sent"), 200, "due in ten seconds")
	a, _ := w.s.AccountGet(t.Context(), "ann@example.com")
	jobs, err := w.s.JobList(t.Context(), a.Owner, job.Query{ListQuery: job.ListQuery{Limit: 10}})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	if spec := job.ReadSpec(jobs[0].Args); spec.URL != w.url+"/api/broadcast" || jobs[0].ScheduledAt.Sub(w.clock()) != 10*time.Second {
		t.Errorf("the job is sent to %s at %s", spec.URL, jobs[0].ScheduledAt)
	}
}

func TestWelcome_ShowsWaysToCreateTheFirstJob(t *testing.T) {
	w := newSite(t, true)
	page := w.citizen().get("/welcome").body
	for _, way := range []string{
		"curl " + w.url + "/api/jobs", "POST /api/jobs HTTP/1.1", "urllib.request", "await fetch(",
		"export PUNCTUAL_URL=" + w.url + "\n", "punctual jobs create " + w.url +
			"/api/broadcast --when &#39;in 10 seconds&#39; \\\n  --data &#39;{&#34;content&#34;",
	} {
		if !strings.Contains(page, way) {
			t.Errorf("the page does not show %q", way)
		}
	}
}

func TestWelcome_ExplainsPlainHTTP(t *testing.T) {
	plain := newSite(t, false)
	b := plain.citizen()
	b.want(b.get("/welcome"), 200, "jobs are sent to https addresses only")
	b.want(b.get("/welcome"), 200, "--allow-private-targets")
	b.want(b.post("/welcome/send"), 303, "/welcome?done=sent")
	b.want(b.get("/welcome?part=live"), 200, "Due")
}

func TestWelcome_ExplainsPrivateAddresses(t *testing.T) {
	w := newSite(t, true, func(c *Config, _ *auth.PeopleConfig) {
		c.Service.CheckHost = func(host string) string {
			if strings.HasPrefix(host, "127.0.0.1:") {
				return "must not be a loopback address"
			}
			return ""
		}
	})
	b := w.citizen()
	b.want(b.get("/welcome"), 200, "is a private address")
	b.want(b.get("/welcome"), 200, "https://example.com/")
}
