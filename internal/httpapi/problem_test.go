package httpapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
)

// TestProblem_LogsNoErrorForAClientThatIsGone also verifies that such a client
// gets a response: it may have closed only its sending side.
func TestProblem_LogsNoErrorForAClientThatIsGone(t *testing.T) {
	var log bytes.Buffer
	s := &Server{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	ctx, leave := context.WithCancel(t.Context())
	answer := func() (*call, *httptest.ResponseRecorder) {
		w := httptest.NewRecorder()
		c := &call{ResponseWriter: w, r: httptest.NewRequestWithContext(ctx, "GET", "/api/jobs", nil)}
		s.problem(c, "id", fault.Unreachable(context.Canceled))
		return c, w
	}
	if c, w := answer(); c.status != 503 || w.Code != 503 || !strings.Contains(log.String(), "request failed") {
		t.Errorf("to a client that waits: %d, counted as %d, logged as %s", w.Code, c.status, &log)
	}
	leave()
	log.Reset()
	if c, w := answer(); c.status != edge.StatusClientClosedRequest || w.Code != 503 || w.Header().Get("Retry-After") == "" ||
		log.Len() > 0 {
		t.Errorf("to a client that left: %d, counted as %d, logged as %s", w.Code, c.status, &log)
	}
}
