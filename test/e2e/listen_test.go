package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// program is what a developer runs: it records requests.
type program struct {
	URL string

	mu     sync.Mutex
	served []served
	answer http.HandlerFunc
}

type served struct {
	method, uri, host, body string
	header                  http.Header
}

func newProgram(t *testing.T, answer http.HandlerFunc) *program {
	t.Helper()
	p := &program{answer: answer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.served = append(p.served, served{r.Method, r.RequestURI, r.Host, string(body), r.Header})
		p.mu.Unlock()
		p.answer(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

func (p *program) requests() []served {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]served(nil), p.served...)
}

func (p *program) await(t *testing.T, n int) []served {
	t.Helper()
	harness.Eventually(t, soon, "requests to the program", func() bool { return len(p.requests()) >= n })
	return p.requests()
}

func TestListen_AnswersJobsCallbacksAndWebhooksWithTheirSignatures(t *testing.T) {
	t.Parallel()
	a := account(t)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, `{"answered":true}`)
	})
	l := harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL+"/base", "--name", "ann")
	l.AwaitReady(t, 1)
	job := create(a.Client, `{"method":"put","url":"https://listen.invalid/ann/a%2Fb/c?x=1","query":{"y":"é"},"headers":{"X-Own":["1","2"],"authorization":"Bearer t"},
		"body":{"n":1.10},"callback_url":"https://listen.invalid/ann/callback","webhook_url":"https://listen.invalid/ann/webhook"}`)
	awaitState(t, a.Client, job, "completed")
	verifier, err := standardwebhooks.NewWebhook(a.Secret)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]int{}
	for _, r := range p.await(t, 6) {
		path, _, _ := strings.Cut(r.uri, "?")
		paths[r.method+" "+path]++
		if err := verifier.Verify([]byte(r.body), r.header); err != nil {
			t.Errorf("%s %s is not signed with the account's secret: %v", r.method, r.uri, err)
		}
		if "http://"+r.host != p.URL {
			t.Errorf("%s has the host %s", r.uri, r.host)
		}
	}
	if paths["PUT /base/a%2Fb/c"] != 1 || paths["POST /base/callback"] != 1 || paths["POST /base/webhook"] != 4 {
		t.Errorf("the program got %v", paths)
	}
	for _, r := range p.requests() {
		if r.method != "PUT" {
			continue
		}
		if want := `{"n":1.10,"$job"`; r.uri != "/base/a%2Fb/c?x=1&y=%C3%A9" || !strings.HasPrefix(r.body, want) {
			t.Errorf("the program got %s with %s", r.uri, r.body)
		}
		if got := r.header; strings.Join(got["X-Own"], ",") != "1,2" || got.Get("Authorization") != "Bearer t" ||
			got.Get("X-Punctual-Attempt") != "1" ||
			!strings.HasPrefix(got.Get("User-Agent"), "punctual/") || got.Get("Accept-Encoding") != "" {
			t.Errorf("the header is %v", got)
		}
	}
	logs := awaitLogs(t, a.Client, job, 2, soon)
	wantEvents(t, logs, "http.request", "http.response")
	payload := logs[1].Get("payload")
	if payload.Get("status").Raw() != "201" || payload.Get("body.answered").Raw() != "true" ||
		!strings.Contains(payload.Get("headers").Raw(), "b=2") {
		t.Errorf("the response's log: %s", payload)
	}
	line := "PUT    /a%2Fb/c?x=1&y=%C3%A9  job " + job.Get("job_id").Raw() + ", attempt 1"
	harness.Eventually(t, soon, "the request to be shown", func() bool {
		return strings.Contains(l.Output(), "201") && strings.Contains(l.Output(), line)
	})
}

func TestListen_FailsWithoutAListenerAndIsRetried(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {})
	harness.Listen(t, other.Service.URL(), other.Key, "--forward-to", p.URL, "--name", "bob").AwaitReady(t, 1)
	job := create(a.Client, `{"url":"https://listen.invalid/bob/x"}`)
	logs := awaitLogs(t, a.Client, job, 2, soon)
	payload := logs[1].Get("payload")
	if payload.Get("kind").Str() != "connect" || payload.Get("retry_at").Raw() == "null" ||
		payload.Get("message").Str() != "no listener named bob is connected; start one with punctual listen --name bob" {
		t.Errorf("the failure's log: %s", payload)
	}
	refusing := harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", "http://127.0.0.1:1", "--name", "bob", "--json")
	refusing.AwaitReady(t, 1)
	job = create(a.Client, `{"url":"https://listen.invalid/bob/x"}`)
	payload = awaitLogs(t, a.Client, job, 2, soon)[1].Get("payload")
	if payload.Get("kind").Str() != "connect" || payload.Get("message").Str() != "the listener reports: 127.0.0.1:1 refused the connection" {
		t.Errorf("the failure's log: %s", payload)
	}
	harness.Eventually(t, soon, "the request to be shown", func() bool { return refusing.Output() != "" })
	if out := refusing.Output(); !strings.Contains(out, `"status":null`) || !strings.Contains(out, `"path":"/x"`) {
		t.Errorf("--json shows %s", out)
	}
	if len(p.requests()) > 0 {
		t.Error("another account's program got a request")
	}
}

func TestListen_AnswersJobsWithATagInPlaceOfTheirTargets(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(202) })
	l := harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL, "--tag", "dev:ann")
	l.AwaitReady(t, 1)
	tagged := create(a.Client, `{"url":"`+target.URL+`/a?b=c","tags":["x","dev:ann"]}`)
	awaitState(t, a.Client, tagged, "completed")
	if got := p.requests(); len(got) != 1 || got[0].uri != target.Path+"/a?b=c" {
		t.Errorf("the program got %v", got)
	}
	untagged := create(a.Client, `{"url":"`+target.URL+`/b","tags":["x"]}`)
	awaitState(t, a.Client, untagged, "completed")
	l.Kill()
	// The service may not have noticed yet that the listener is gone.
	after := create(a.Client, `{"retries":20,"backoff":[1],"url":"`+target.URL+`/c","tags":["dev:ann"]}`)
	awaitState(t, a.Client, after, "completed")
	if hits := target.Hits(); !strings.HasSuffix(hits[len(hits)-1].Path, "/c") {
		t.Errorf("the target got %v last", hits[len(hits)-1].Path)
	}
	for _, hit := range target.Hits() {
		if strings.HasSuffix(hit.Path, "/a") {
			t.Error("the target got a request of a job with the tag")
		}
	}
}

func TestListen_FollowsRedirectsOfTheProgramThroughTheListener(t *testing.T) {
	t.Parallel()
	a := account(t)
	p := newProgram(t, nil)
	p.answer = func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/from":
			http.Redirect(w, r, p.URL+"/to?x=1", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}
	}
	harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL).AwaitReady(t, 1)
	awaitState(t, a.Client, create(a.Client, `{"url":"https://listen.invalid/dev/from"}`), "completed")
	if got := p.requests(); len(got) != 2 || got[1].uri != "/to?x=1" {
		t.Errorf("the program got %v", got)
	}
	away := create(a.Client, `{"url":"https://listen.invalid/dev/away"}`)
	if payload := awaitLogs(t, a.Client, away, 2, soon)[1].Get("payload"); payload.Get("kind").Str() != "redirect" {
		t.Errorf("a redirect elsewhere: %s", payload)
	}
}

func TestListen_BoundsWhatTheProgramResponds(t *testing.T) {
	t.Parallel()
	a := account(t)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			_, _ = io.WriteString(w, strings.Repeat("x", 300<<10))
			return
		}
		for range 100_000 {
			if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
	})
	harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL).AwaitReady(t, 1)
	job := create(a.Client, `{"url":"https://listen.invalid/dev/long"}`)
	awaitState(t, a.Client, job, "completed")
	payload := awaitLogs(t, a.Client, job, 2, soon)[1].Get("payload")
	if payload.Get("truncated").Raw() != "true" || len(payload.Get("body").Str()) != 256<<10 {
		t.Errorf("%d bytes are kept, truncated %s", len(payload.Get("body").Str()), payload.Get("truncated"))
	}
	awaitState(t, a.Client, create(a.Client, `{"url":"https://listen.invalid/dev/endless"}`), "completed")
}

func TestListen_RefusesBadOptionsAndTheWrongKeys(t *testing.T) {
	t.Parallel()
	a := account(t)
	for body, pointer := range map[string]string{
		`{"url":"https://listen.invalid/"}`:                                              "#/url",
		`{"url":"https://listen.invalid:444/dev"}`:                                       "#/url",
		`{"url":"https://example.com","callback_url":"https://listen.invalid/UPPER/x"}`:  "#/callback_url",
		`{"url":"https://example.com","webhook_url":"https://listen.invalid./dev/hook"}`: "#/webhook_url",
	} {
		a.Post("/api/jobs", body).WantPointers(pointer)
	}
	a.Get("/api/listen?name=dev").WantProblem(400)
	a.Get("/api/listen").WantParameters("name")
	a.Get("/api/listen?name=Dev&tag=%20").WantParameters("name", "tag")
	a.Service.Public(t).Get("/api/listen?name=dev").WantProblem(403)
	_, reading := a.Service.NewKey(t, a.Email, "--scope", "read")
	a.Service.Client(t, reading).Get("/api/listen?name=dev").WantProblem(403)
	for _, key := range []string{"sk_wrong", reading} {
		l := harness.Listen(t, a.Service.URL(), key)
		if code := l.Wait(soon); code != 4 || l.Notes() == "" {
			t.Errorf("with a wrong key: status %d, %s", code, l.Notes())
		}
	}
	public := create(a.Service.Public(t), `{"url":"https://listen.invalid/dev"}`)
	awaitState(t, a.Service.Public(t), public, "discarded")
	l := harness.Listen(t, a.Service.URL(), a.Key)
	l.AwaitReady(t, 1)
	if err := l.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := l.Wait(soon); code != 0 {
		t.Errorf("a signal ends it with status %d", code)
	}
}
