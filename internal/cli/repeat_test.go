package cli

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCreate_RepeatsWhatWasLost: the responses to the first tries are lost, and the
// service recognises the last by its request_id.
func TestCreate_RepeatsWhatWasLost(t *testing.T) {
	t.Parallel()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch bodies = append(bodies, string(body)); len(bodies) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, `{"data":{"job_id":7,"job":{"state":"available","has_confict":true}}}`)
	}))
	defer s.Close()
	said := wantPlayed(t, "", 0, "jobs", "create", "https://x", "--url", s.URL, "--api-key", "sk_x")
	if want := "job 7 exists and is available; an earlier try of this command may have created it\n"; said != want {
		t.Errorf("said %q, want %q", said, want)
	}
	if len(bodies) != 3 || bodies[0] != bodies[1] || bodies[1] != bodies[2] || !strings.Contains(bodies[0], `"request_id":"auto-`) {
		t.Errorf("the bodies are %q", bodies)
	}
}

// TestRerun_RepeatsWhatWasLost: the service recognises the second try by its key.
func TestRerun_RepeatsWhatWasLost(t *testing.T) {
	t.Parallel()
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/jobs/7/rerun" {
			t.Errorf("called %s", r.URL.Path)
		}
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"data":{"job_id":8,"job":{"state":"available","has_confict":true}}}`)
	}))
	defer s.Close()
	said := wantPlayed(t, "", 0, "jobs", "rerun", "7", "--url", s.URL, "--api-key", "sk_x")
	if want := "job 8 exists and is available; an earlier try of this command may have created it\n"; said != want {
		t.Errorf("said %q, want %q", said, want)
	}
	if len(keys) != 2 || keys[0] != keys[1] || !strings.HasPrefix(keys[0], "auto-") {
		t.Errorf("the keys are %q", keys)
	}
}

// TestCreate_SaysWhatIsNotKnown: no try has a response.
func TestCreate_SaysWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		calls++
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	said := wantPlayed(t, "", statusUnreachable, "schedules", "create", "https://x", "--every", "1 hour", "--url", s.URL, "--api-key", "sk_x")
	if calls != 1+maxRepeats || !strings.Contains(said, "; with --request-id auto-") {
		t.Errorf("after %d calls: %s", calls, said)
	}
}

func TestCreate_DoesNotRepeatWithoutTrust(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	c := jobsCreate{serviceFlags: serviceFlags{URL: s.URL, Key: "sk_x"}}
	_, repeated, err := c.create(&environment{ctx: t.Context(), out: io.Discard, errOut: io.Discard}, []byte(`{}`))
	if repeated || exitStatus(err) != statusUnreachable {
		t.Errorf("repeated %v, %v", repeated, err)
	}
}

// TestCreate_DoesNotRepeatARefusal also of a service that nobody listens for.
func TestCreate_DoesNotRepeatARefusal(t *testing.T) {
	t.Parallel()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusUnprocessableEntity)
	}))
	env := &environment{ctx: t.Context(), out: io.Discard, errOut: io.Discard}
	c := jobsCreate{serviceFlags: serviceFlags{URL: s.URL, Key: "sk_x"}}
	_, repeated, err := c.callRepeating(env, "/api/jobs", []byte(`{}`), nil)
	if err == nil || repeated || calls != 1 {
		t.Errorf("after a refusal: %d calls, %v", calls, err)
	}
	s.Close()
	_, repeated, err = c.callRepeating(env, "/api/jobs", []byte(`{}`), nil)
	if err == nil || repeated || exitStatus(err) != statusUnreachable {
		t.Errorf("without a service: repeated %v, %v", repeated, err)
	}
}

func TestRepeats_EndInTime(t *testing.T) {
	t.Parallel()
	lost, busy := failed(statusUnreachable, "lost"), &refusal{status: http.StatusServiceUnavailable}
	down := failed(statusUnreachable, "down: %w", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH})
	type try struct {
		err   error
		at    int // seconds
		wait  int
		again bool
	}
	for name, tries := range map[string][]try{
		"each try hangs":      {{lost, 30, 0, true}, {lost, 60, 0, false}},
		"then it restarts":    {{lost, 30, 0, true}, {down, 31, 0, true}, {down, 59, 0, true}, {down, 61, 0, false}},
		"it asks for waits":   {{busy, 1, 20, true}, {busy, 21, 20, false}},
		"it never was there":  {{down, 1, 0, false}},
		"the request is bad":  {{lost, 1, 0, true}, {&refusal{status: http.StatusConflict}, 2, 0, false}},
		"it asks for one day": {{busy, 1, 86400, false}},
	} {
		var r repeats
		start := time.Unix(0, 0)
		for i, x := range tries {
			got := r.next(x.err, start.Add(time.Duration(x.at)*time.Second), time.Duration(x.wait)*time.Second)
			if got != x.again {
				t.Errorf("%s: after try %d it is repeated: %v", name, i, got)
			}
		}
	}
}

func TestIdentifyAll(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		text, want string
		lines      bool
	}{
		{"{\"a\":1.10}\n\n {} \n[1]\n", "{\"a\":1.10,\"request_id\":\"ID\"}\n\n{\"request_id\":\"ID\"}\n[1]\n", true},
		{`[{"request_id":null,"a":1}, {"request_id":"r"}]`, `[{"request_id":"ID","a":1},{"request_id":"r"}]`, false},
		{`{"jobs":[{"a":1}],"then":{"b":2}}`, `{"jobs":[{"a":1,"request_id":"ID"}],"then":{"b":2,"request_id":"ID"}}`, false},
		{`[{"a":1`, `[{"a":1`, false},
	} {
		got := regexp.MustCompile(`auto-[A-Z2-7]+`).ReplaceAllString(string(identifyAll([]byte(x.text), x.lines)), "ID")
		if got != x.want {
			t.Errorf("%s becomes %s, want %s", x.text, got, x.want)
		}
	}
}
