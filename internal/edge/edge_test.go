package edge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

func TestRequestID_KeepsAValidIDOfAProxy(t *testing.T) {
	for given, kept := range map[string]bool{
		"abc-123_X.y": true, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "": false, "a b": false, "a\"b": false,
		"ä": false, "a<b": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-Request-Id", given)
		got := RequestID(r)
		if _, err := uuid.Parse(got); got != given == kept || !kept && err != nil {
			t.Errorf("%q goes by %q", given, got)
		}
	}
}

func TestAllow_GetImpliesHead(t *testing.T) {
	if got := Allow(maps.Keys(map[string]bool{"POST": true, "GET": true, "DELETE": true})); got != "DELETE, GET, HEAD, POST" {
		t.Errorf("allowed are %s", got)
	}
	if got := Allow(maps.Keys(map[string]bool{"POST": true})); got != "POST" {
		t.Errorf("allowed are %s", got)
	}
}

func TestClientGone_ReportsAClientThatClosedTheConnection(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	unreachable := fmt.Errorf("reading a job: %w", fault.Unreachable(context.Canceled))
	if ClientGone(r, unreachable) {
		t.Error("a client that waits has left")
	}
	leave()
	for err, want := range map[error]bool{
		unreachable: true, context.Canceled: true, fault.New(fault.NotFound, "no such job"): false,
		fault.New(fault.Internal, "broken"): false,
	} {
		if got := ClientGone(r, err); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

func TestLogsAreWrittenPartByPartAndNotForHead(t *testing.T) {
	broken := errors.New("the store is away")
	walk := func(part func([]*job.Log) error) error {
		for number := range int64(2) {
			if err := part([]*job.Log{{Job: number + 1}}); err != nil {
				return err
			}
		}
		return broken
	}
	w := httptest.NewRecorder()
	if err := WriteLogs(w, httptest.NewRequest("GET", "/", nil), walk); !errors.Is(err, broken) {
		t.Errorf("the walk's error is %v", err)
	}
	lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `"job_id":2`) || !w.Flushed {
		t.Errorf("written is %q", lines)
	}
	if got := w.Header().Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("the file is %s", got)
	}
	w = httptest.NewRecorder()
	parts := 0
	counted := func(part func([]*job.Log) error) error {
		return walk(func(logs []*job.Log) error { parts++; return part(logs) })
	}
	if err := WriteLogs(w, httptest.NewRequest("HEAD", "/", nil), counted); err != nil || w.Body.Len() > 0 || parts != 1 {
		t.Errorf("for HEAD %q is written of %d parts, %v", w.Body, parts, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("for HEAD the file is %s", got)
	}
	w = httptest.NewRecorder()
	refused := func(func([]*job.Log) error) error { return broken }
	if err := WriteLogs(w, httptest.NewRequest("GET", "/", nil), refused); !errors.Is(err, broken) || len(w.Header()) > 0 {
		t.Errorf("what can't begin has the header %v, %v", w.Header(), err)
	}
}
