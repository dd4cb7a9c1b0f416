package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// exchanges answers requests in turn and records them.
type exchanges struct {
	answers  []func() (*http.Response, error)
	next     func() (*http.Response, error) // answers in place of them unless nil
	requests []*http.Request
	bodies   []string
	at       []time.Duration // since the first
	began    time.Time
}

func (e *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	if len(e.requests) == 0 {
		e.began = time.Now()
	}
	e.requests, e.bodies, e.at = append(e.requests, r), append(e.bodies, string(body)), append(e.at, time.Since(e.began))
	if e.next != nil {
		return e.next()
	}
	return e.answers[min(len(e.requests), len(e.answers))-1]()
}

func respond(status int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func fail(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

func testClient(t *testing.T, change func(*Config), answers ...func() (*http.Response, error)) (*Client, *exchanges) {
	t.Helper()
	e := &exchanges{answers: answers}
	config := Config{URL: "https://punctual.example/base/", Key: "sk_x", HTTPClient: &http.Client{Transport: e}}
	if change != nil {
		change(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, e
}

const (
	created = `{"data": {"id": "a", "job_id": 7, "job": {"id": 7, "has_confict": true, "state": "available"}, "args": {"url": "https://x"}}}`
	refused = `{"type": "about:blank", "code": "unprocessable_content", "title": "Unprocessable Content", "status": 422, "detail": "url must use https", "errors": [{"detail": "must use https", "pointer": "#/url"}]}`
)

func TestCreateJob_RepeatsWithOneRequestID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := testClient(t, nil, respond(503, "", "Retry-After", "3"), fail(io.ErrUnexpectedEOF), respond(200, created))
		record, err := c.CreateJob(t.Context(), JobRequest{URL: "https://x"})
		if err != nil {
			t.Fatal(err)
		}
		if record.JobID != 7 || record.Job.HasConflict || string(record.Args) != `{"url": "https://x"}` {
			t.Errorf("the record is %+v", record)
		}
		if len(e.bodies) != 3 || !strings.HasPrefix(e.bodies[0], `{"url":"https://x","request_id":"auto-`) || e.bodies[2] != e.bodies[0] {
			t.Errorf("sent %q", e.bodies)
		}
		if e.at[1] < 3*time.Second || e.at[1] > 4*time.Second {
			t.Errorf("the first retry came after %s", e.at[1])
		}
		if got := e.requests[0]; got.URL.String() != "https://punctual.example/base/api/jobs" ||
			got.Header.Get("Authorization") != "Bearer sk_x" {
			t.Errorf("called %s with %v", got.URL, got.Header)
		}
	})
}

func TestRerunJob_RepeatsWithOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, x := range []struct {
			name     string
			keys     []IdempotencyKey
			none     bool // NoAutomaticKeys
			want     string
			requests int
			conflict bool
		}{
			{"without a key", nil, false, "auto-", 3, false},
			{"with a key", []IdempotencyKey{"mine"}, false, "mine", 3, true},
			{"with a key, without automatic ones", []IdempotencyKey{"mine"}, true, "mine", 3, true},
			{"without any key", nil, true, "", 1, false},
		} {
			c, e := testClient(t, func(config *Config) { config.NoAutomaticKeys = x.none }, respond(503, ""), fail(io.ErrUnexpectedEOF),
				respond(200, created))
			record, err := c.RerunJob(t.Context(), ID("a"), nil, x.keys...)
			if (err == nil) != (x.requests == 3) || err == nil && record.Job.HasConflict != x.conflict {
				t.Errorf("%s: %+v, %v", x.name, record, err)
			}
			if len(e.requests) != x.requests {
				t.Errorf("%s: %d requests, want %d", x.name, len(e.requests), x.requests)
			}
			first := e.requests[0].Header.Get("Idempotency-Key")
			for i, r := range e.requests {
				if got := r.Header.Get("Idempotency-Key"); got != first || !strings.HasPrefix(got, x.want) ||
					(got == "") != (x.want == "") {
					t.Errorf("%s: request %d has the key %q, the first %q", x.name, i, got, first)
				}
			}
		}
	})
}

func TestConditions_AreSent(t *testing.T) {
	daily := JobRequest{URL: "https://x", Cron: "@daily"}
	for _, x := range []struct {
		call          func(*Client) error
		match, noneOf string
	}{
		{func(c *Client) error { _, err := c.CancelJob(t.Context(), ID("a"), IfMatch(`"1"`)); return err }, `"1"`, ""},
		{func(c *Client) error { _, err := c.DisableSchedule(t.Context(), Key("k"), IfMatch(`"2"`)); return err }, `"2"`, ""},
		{func(c *Client) error {
			_, _, err := c.PutSchedule(t.Context(), Key("k"), daily, IfMatch(`"3"`))
			return err
		}, `"3"`, ""},
		{func(c *Client) error { _, _, err := c.PutSchedule(t.Context(), Key("k"), daily, IfNew); return err }, "", "*"},
		{func(c *Client) error { _, err := c.CancelJob(t.Context(), ID("a")); return err }, "", ""},
	} {
		c, e := testClient(t, nil, respond(200, created))
		if err := x.call(c); err != nil {
			t.Error(err)
		}
		if got := e.requests[0].Header; got.Get("If-Match") != x.match || got.Get("If-None-Match") != x.noneOf {
			t.Errorf("%s has %v, want If-Match %q, If-None-Match %q", e.requests[0].URL, got, x.match, x.noneOf)
		}
	}
}

func TestCreateJobs_IdentifiesEachItem(t *testing.T) {
	c, e := testClient(t, nil, respond(201, `{"data": [{"job": {"has_confict": true}}, {"job": {"has_confict": true}}]}`))
	requests := []JobRequest{{URL: "https://x"}, {URL: "https://x", IdempotencyKey: "mine"}}
	records, err := c.CreateJobs(t.Context(), requests)
	if err != nil || records[0].Job.HasConflict || !records[1].Job.HasConflict {
		t.Errorf("%+v, %v", records, err)
	}
	if strings.Count(e.bodies[0], `"request_id":"auto-`) != 2 || strings.Contains(e.bodies[0], "throttle") || requests[0].RequestID != "" {
		t.Errorf("sent %s", e.bodies[0])
	}
}

func TestCalls_AreRetriedWhenThatIsSafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		get := func(c *Client) error { return c.Ping(t.Context()) }
		run := func(c *Client) error { _, err := c.RunSchedule(t.Context(), Key("k")); return err }
		for _, x := range []struct {
			name   string
			call   func(*Client) error
			answer func() (*http.Response, error)
			want   int
		}{
			{"reading, 503", get, respond(503, ""), 5},
			{"reading, connection lost", get, fail(io.ErrUnexpectedEOF), 5},
			{"reading, 500", get, respond(500, ""), 1},
			{"reading, 404", get, respond(404, ""), 1},
			{"reading, asked to wait too long", get, respond(503, "", "Retry-After", "61"), 1},
			{"running, 503", run, respond(503, ""), 1},
			{"running, connection lost", run, fail(io.ErrUnexpectedEOF), 1},
			{"running, 429", run, respond(429, ""), 5},
		} {
			c, e := testClient(t, nil, x.answer)
			if err := x.call(c); err == nil {
				t.Errorf("%s: no error", x.name)
			}
			if len(e.requests) != x.want {
				t.Errorf("%s: %d requests, want %d", x.name, len(e.requests), x.want)
			}
		}
	})
}

func TestCalls_WaitForTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := testClient(t, nil, respond(200, "{}", "RateLimit", `"account";r=0;t=2`),
			respond(200, "{}", "RateLimit", `"account";r=9;t=1`))
		for range 3 {
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if e.at[1] != 2*time.Second || e.at[2] != 2*time.Second {
			t.Errorf("called at %v, want 0, 2s and 2s", e.at)
		}
	})
}

func TestCalls_EndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, _ := testClient(t, nil, respond(503, "", "Retry-After", "30"))
		began := time.Now()
		var problem *Problem
		if err := c.Ping(ctx); !errors.As(err, &problem) || problem.RetryAfter != 30*time.Second ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestProblem_SaysWhatIsWrong(t *testing.T) {
	c, _ := testClient(t, nil, respond(422, refused, "X-Request-Id", "r1"))
	_, err := c.CreateJob(t.Context(), JobRequest{URL: "http://x"})
	var problem *Problem
	if !errors.As(err, &problem) {
		t.Fatalf("the error is %v", err)
	}
	if problem.Status != 422 || problem.Code != "unprocessable_content" || problem.Detail != "url must use https" ||
		problem.Pointer() != "#/url" || problem.RequestID != "r1" {
		t.Errorf("the problem is %+v", problem)
	}
	if err.Error() != "punctual: 422 Unprocessable Content: url must use https" {
		t.Errorf("it reads %q", err)
	}
	c, _ = testClient(t, nil, respond(404, "<html>nobody here\xff"))
	if err := c.Ping(t.Context()); err == nil || err.Error() != "punctual: 404 Not Found: the answer is no problem document: <html>nobody here\uFFFD" {
		t.Errorf("it reads %q", err)
	}
}

func TestResponses_AreBounded(t *testing.T) {
	c, e := testClient(t, func(config *Config) { config.MaxResponseBytes = 10 }, respond(200, "12345678901"))
	if err := c.Ping(t.Context()); !errors.Is(err, ErrTooLarge) || len(e.requests) != 1 {
		t.Errorf("%v after %d requests", err, len(e.requests))
	}
}

func TestRedirects_AreNotFollowed(t *testing.T) {
	c, e := testClient(t, nil, respond(307, "", "Location", "https://elsewhere.example/"))
	var problem *Problem
	if err := c.Ping(t.Context()); !errors.As(err, &problem) || problem.Status != 307 || len(e.requests) != 1 {
		t.Errorf("%v after %d requests", err, len(e.requests))
	}
}

func TestLists_FollowTheLinkToTheEnd(t *testing.T) {
	c, e := testClient(t, nil,
		respond(200, `{"data": [{"job_id": 3}, {"job_id": 2}]}`, "Link", `</base/api/jobs?limit=2&cursor=abc>; rel="next"`),
		respond(200, `{"data": [{"job_id": 1}]}`))
	var ids []int64
	for job, err := range c.ListJobs(t.Context(), JobFilter{Page: Page{PageSize: 2}, State: Scheduled, Tags: []string{"a", "b"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.JobID)
	}
	if len(ids) != 3 || ids[0] != 3 || ids[2] != 1 {
		t.Errorf("listed %v", ids)
	}
	if got := e.requests[0].URL.RawQuery; got != "limit=2&state=scheduled&tag=a&tag=b" {
		t.Errorf("asked for %s", got)
	}
	if got := e.requests[1].URL.String(); got != "https://punctual.example/base/api/jobs?cursor=abc&limit=2" {
		t.Errorf("went on at %s", got)
	}
}

func TestLists_KeepTheKeyWithTheService(t *testing.T) {
	c, e := testClient(t, nil, respond(200, `{"data": []}`, "Link", `<https://elsewhere.example/api/schedules?cursor=x>; rel=next`),
		respond(200, `{"data": []}`))
	for _, err := range c.ListSchedules(t.Context(), ScheduleFilter{}) {
		t.Errorf("an item, or %v", err)
	}
	if got := e.requests[1].URL.Host; got != "punctual.example" {
		t.Errorf("went on at %s", got)
	}
	c, _ = testClient(t, nil, respond(200, `{"data": []}`, "Link", `</elsewhere?cursor=x>; rel=next`))
	found := false
	for _, err := range c.ListSchedules(t.Context(), ScheduleFilter{}) {
		found = err != nil
	}
	if !found {
		t.Error("a link to another path is followed")
	}
}

func TestFollowEvents_ComesBackWithoutRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := testClient(t, nil,
			respond(200, ": following\n\nevent: job\ndata: {\"job_id\":1}\n\nevent: log\nid: l1\ndata: {\"id\":\"l1\"}\n\nevent: skipped\ndata: {}\n\nevent: log\nid: lost\ndata: {"),
			fail(io.ErrUnexpectedEOF),
			respond(200, "event: log\nid: l2\ndata: {\"id\":\"l2\"}\n\n"),
			respond(401, ""))
		var got []string
		for event, err := range c.FollowEvents(t.Context(), "l0") {
			switch {
			case err != nil:
				got = append(got, "error")
			case event.Job != nil:
				got = append(got, "job")
			case event.Skipped:
				got = append(got, "skipped")
			default:
				got = append(got, event.Log.ID)
			}
		}
		if text := strings.Join(got, " "); text != "job l1 skipped l2 error" {
			t.Errorf("got %s", text)
		}
		var after []string
		for _, r := range e.requests {
			after = append(after, r.Header.Get("Last-Event-Id"))
		}
		if text := strings.Join(after, " "); text != "l0 l1 l1 l2" {
			t.Errorf("came back with %s", text)
		}
	})
}

func TestNew_RefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "punctual.example", "ftp://punctual.example", "https://", "%"} {
		if _, err := New(Config{URL: address}); err == nil {
			t.Errorf("%q is accepted", address)
		}
	}
}

func TestCalls_OutlastARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := fail(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
		for _, x := range []struct {
			name     string
			retries  int
			refused  time.Duration
			down     time.Duration
			restarts bool
		}{
			{"by default", 0, 0, 25 * time.Second, true},
			{"for longer", 0, 0, 40 * time.Second, false},
			{"configured", 0, time.Minute, 40 * time.Second, true},
			{"without retries", -1, 0, time.Second, false},
		} {
			start := time.Now()
			c, e := testClient(t, func(config *Config) { config.MaxRetries, config.RefusedFor = x.retries, x.refused })
			e.next = func() (*http.Response, error) {
				if time.Since(start) < x.down {
					return refused()
				}
				return respond(200, created)()
			}
			_, err := c.CreateJob(t.Context(), JobRequest{URL: "https://x"})
			if (err == nil) != x.restarts {
				t.Errorf("%s: %v after %s and %d tries", x.name, err, time.Since(start), len(e.requests))
			}
		}
	})
}

// The service hangs before it stops: the time of the first try is none of the restart's.
func TestCalls_OutlastARestartAfterATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hangs, down = 40 * time.Second, 25 * time.Second
		for _, cause := range []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH} {
			start := time.Now()
			c, e := testClient(t, nil)
			e.next = func() (*http.Response, error) {
				switch {
				case len(e.requests) == 1:
					time.Sleep(hangs)
					return nil, context.DeadlineExceeded
				case time.Since(start) < hangs+down:
					return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", cause)}
				}
				return respond(200, created)()
			}
			if _, err := c.CreateJob(t.Context(), JobRequest{URL: "https://x"}); err != nil {
				t.Errorf("%v after %s and %d tries", err, time.Since(start), len(e.requests))
			}
		}
	})
}

func TestProblem_SaysEachThingOnce(t *testing.T) {
	p := &Problem{Status: 422, Title: "Unprocessable Content", Detail: "url is required; retries must be a whole number",
		Errors: []ProblemEntry{
			{Pointer: "#/url", Detail: "is required"}, {Pointer: "#/retries", Detail: "must be a whole number"},
			{Pointer: "#/name", Detail: "is too long"},
		}}
	if got, want := p.Error(), "punctual: 422 Unprocessable Content: url is required; retries must be a whole number; #/name is too long"; got != want {
		t.Errorf("got %q", got)
	}
}
