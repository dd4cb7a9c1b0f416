package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// answers is an API that calls a function for each request.
type answers func(*http.Request) (status int, body string)

func (f answers) Do(r *http.Request) (*http.Response, error) {
	status, body := f(r)
	header := http.Header{}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "3")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func jobIn(state, due string) string {
	return fmt.Sprintf(`{"data":{"job_id":7,"job":{"state":%q,"scheduled_at":%q}}}`, state, due)
}

func waitWith(ctx context.Context, s *Server, api API, seconds string) (*result, error) {
	a := &arguments{given: []rawjson.Member{{Name: "seconds", Value: rawjson.Value(seconds)}}}
	return (&session{Server: s, api: api, account: 1}).wait(ctx, a, "/api/jobs/key:k")
}

func bare() *Server {
	return &Server{calls: newGate(accountCalls, allCalls), waits: newGate(accountWaits, allWaits), stopping: make(chan struct{})}
}

func TestWait_EndsWithTheJobOrTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, reads := time.Now(), 0
		due := began.Add(20 * time.Second).UTC().Format(time.RFC3339Nano)
		api := answers(func(r *http.Request) (int, string) {
			if reads++; reads > 1 && r.URL.Path != "/api/jobs/7" {
				t.Errorf("read %s: the key may name another job by now", r.URL.Path)
			}
			switch since := time.Since(began); {
			case since > 8*time.Second && since < 12*time.Second:
				return http.StatusTooManyRequests, `{"detail":"slow down"}`
			case since > 21*time.Second:
				return http.StatusOK, jobIn("completed", due)
			}
			return http.StatusOK, jobIn("available", due)
		})
		if r, err := waitWith(t.Context(), bare(), api, "5"); err != nil || string(r.facts[0].Value) != "false" ||
			time.Since(began) != 5*time.Second {
			t.Errorf("after %s: %v %v", time.Since(began), r, err)
		}
		first := reads
		reads = 0
		if r, err := waitWith(t.Context(), bare(), api, "50"); err != nil || string(r.facts[0].Value) != "true" ||
			time.Since(began) > 24*time.Second {
			t.Errorf("after %s: %v %v", time.Since(began), r, err)
		}
		if reads += first; reads > 25 {
			t.Errorf("the job was read %d times in %s", reads, time.Since(began))
		}
	})
}

func TestWait_EndsWhenTheServiceStopsOrTheClientGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := atomic.Int32{}
		status.Store(http.StatusOK)
		api := answers(func(*http.Request) (int, string) {
			return int(status.Load()), jobIn("available", "2031-01-01T00:00:00Z")
		})
		s := bare()
		ctx, cancel := context.WithCancel(t.Context())
		gone, stopped := make(chan error, 1), make(chan *result, 1)
		go func() { _, err := waitWith(ctx, s, api, "50"); gone <- err }()
		go func() { r, _ := waitWith(t.Context(), s, api, "50"); stopped <- r }()
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait of a client that is gone ends with %v", err)
		}
		status.Store(http.StatusServiceUnavailable) // as of a service that stops
		s.Drain()
		s.Drain()
		synctest.Wait()
		if r := <-stopped; r == nil || string(r.facts[0].Value) != "false" {
			t.Errorf("the wait ends with %v", r)
		}
		if n := len(s.waits.accounts) + len(s.calls.accounts); n != 0 {
			t.Errorf("%d places are still taken", n)
		}
	})
}

func TestWait_IsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := answers(func(*http.Request) (int, string) { return http.StatusOK, jobIn("available", "2031-01-01T00:00:00Z") })
		s := bare()
		var refused atomic.Int32
		for range accountWaits + 5 {
			go func() {
				var c *complaint
				if _, err := waitWith(t.Context(), s, api, "10"); errors.As(err, &c) {
					refused.Add(1)
				}
			}()
		}
		time.Sleep(time.Second)
		if n := refused.Load(); n != 5 {
			t.Errorf("%d of %d waits are refused", n, accountWaits+5)
		}
		time.Sleep(10 * time.Second)
	})
}

func TestGate_BoundsAnAccountAndAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, 3)
		var under, most, done atomic.Int32
		for i := range 12 {
			go func() {
				leave, err := g.enter(t.Context(), int64(i%2))
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), under.Add(1)))
				time.Sleep(time.Second)
				under.Add(-1)
				leave()
				done.Add(1)
			}()
		}
		time.Sleep(10 * time.Second)
		if most.Load() != 3 || done.Load() != 12 || len(g.accounts) != 0 {
			t.Errorf("%d at once, %d done, %d accounts left", most.Load(), done.Load(), len(g.accounts))
		}
		leave, _ := g.try(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		second, _ := g.try(1)
		if _, err := g.enter(ctx, 1); err == nil {
			t.Error("a third call of an account enters")
		}
		if _, ok := g.try(1); ok {
			t.Error("a third wait of an account enters")
		}
		leave()
		second()
	})
}

// A panic of a tool is an error of its call, and ends nothing else.
func TestServer_SurvivesAPanic(t *testing.T) {
	var log strings.Builder
	s := New(Config{Version: "1", Log: slog.New(slog.NewTextHandler(&log, nil))})
	broken := answers(func(*http.Request) (int, string) { panic("broken") })
	clientSide, serverSide := sdk.NewInMemoryTransports()
	ctx := withConnection(t.Context(), &session{Server: s, api: broken})
	served, err := s.sdk().Connect(ctx, serverSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), clientSide, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "get_job",
			Arguments: map[string]any{"job_id": 1}}); err == nil || !strings.Contains(err.Error(), "tell its operator") {
			t.Errorf("the call ends with %v", err)
		}
	}
	if len(s.calls.accounts) != 0 {
		t.Error("the calls still have their places")
	}
	_ = client.Close()
	_ = served.Wait()
	if !strings.Contains(log.String(), "panic in a tool") {
		t.Errorf("the log is %q", log.String())
	}
}
