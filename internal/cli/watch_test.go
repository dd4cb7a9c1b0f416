package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// detailsOf is a job in a state, as the API shows its details.
func detailsOf(state, more string) string {
	return fmt.Sprintf(`{"data":{"job":{"job_id":7,"job":{"state":%q,"scheduled_at":"2026-11-22T09:00:00.000000Z"}},"attempts":[]%s}}`,
		state, more)
}

func TestAwait_GoesOnWhenTheServiceIsAway(t *testing.T) {
	t.Parallel()
	responses := []string{
		detailsOf("available", `,"next_attempt_at":"2026-11-22T09:00:00.000000Z","waiting_for":["stripe\u001b"]`), "",
		detailsOf("executing", `,"completion":{"awaiting":true,"progress":{"progress":40,"message":null,"reported_at":"2026-11-22T09:00:01.000000Z"}}`),
		detailsOf("completed", ""),
	}
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := responses[min(calls, len(responses)-1)]
		if calls++; text == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	said := wantPlayed(t, "", 0, "jobs", "watch", "key:a", "--url", server.URL, "--api-key", "sk_a")
	want := "job 7 is available, due 2026-11-22T09:00:00Z, waiting for stripe\\x1b\n" +
		"no response for job 7; trying again: the service responded 503 Service Unavailable\n" +
		"job 7 is executing, and its target reports later: 40 %\n" +
		"job 7 is completed\n"
	if said != want {
		t.Errorf("said\n%swant\n%s", said, want)
	}
}

func TestAwait_AnUnknownJobEndsIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	wantPlayed(t, "", statusNotFound, "jobs", "watch", "7", "--url", server.URL, "--api-key", "sk_a")
	server.Close()
	wantPlayed(t, "", statusUnreachable, "jobs", "watch", "7", "--url", server.URL, "--api-key", "sk_a")
}

func TestRun_AnInterruptedCallEndsWith130(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}))
	defer server.Close()
	var out bytes.Buffer
	if status := run(ctx, []string{"jobs", "list", "--url", server.URL, "--api-key", "sk_a"}, strings.NewReader(""), &out,
		&out); status != statusInterrupted {
		t.Errorf("ended with status %d: %s", status, out.String())
	}
}

// An interrupt between two reads and one during a read are told alike: what is watched
// goes on.
func TestWatch_AnInterruptDuringARead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first string
		args  []string
	}{
		"a job": {detailsOf("executing", ""), []string{"jobs", "watch", "7"}},
		"an operation": {`{"data":{"id":"7","action":"cancel","state":"running"}}`,
			[]string{"operations", "start", "cancel", "--all", "--watch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			reads := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					reads++
				}
				if reads > 1 {
					stop()
					<-r.Context().Done()
					return
				}
				if r.Method == http.MethodPost {
					w.WriteHeader(http.StatusAccepted)
				}
				_, _ = w.Write([]byte(c.first))
			}))
			defer server.Close()
			var out bytes.Buffer
			status := run(ctx, append(c.args, "--url", server.URL, "--api-key", "sk_a"), strings.NewReader(""), &out, &out)
			if status != statusInterrupted || !strings.Contains(out.String(), " 7, which goes on") {
				t.Errorf("ended with status %d: %s", status, out.String())
			}
		})
	}
}

func TestList_ReadsPagesOfItsOwnPathOnly(t *testing.T) {
	t.Parallel()
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/jobs" {
			t.Errorf("the call is %s", r.URL)
		}
		calls++
		link := fmt.Sprintf(`</api/jobs?cursor=%d>; rel="next"`, calls)
		if calls == 3 {
			link = `<https://example.com/api/other?cursor=x>; rel="next"`
		}
		w.Header().Set("Link", link)
		_, _ = w.Write([]byte(`{"data":[{"job_id":1},{"job_id":2}]}`))
	}))
	defer server.Close()
	flags := []string{"jobs", "list", "-q", "--url", server.URL, "--api-key", "sk_a", "--limit"}
	if said := wantPlayed(t, "", 0, append(flags, "3")...); said != "1\n2\n1\n" || calls != 2 {
		t.Errorf("%d calls, %q", calls, said)
	}
	calls = 0
	if said := wantPlayed(t, "", statusFailed, append(flags, "10000")...); !strings.Contains(said, "the list is not complete") || calls != 3 {
		t.Errorf("%d calls, %q", calls, said)
	}
}
