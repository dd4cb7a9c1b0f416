package httpapi

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/metrics"
)

func TestSimilar_NamesThePathThatWasMeant(t *testing.T) {
	s := New(Config{Metrics: metrics.New("test")})
	for wrong, want := range map[string]string{
		"/v1/jobs": "/api/jobs", "/api/api/jobs": "/api/jobs", "/jobs": "/api/jobs", "/api/v1/Schedules": "/api/schedules",
		"/api/job":   "/api/jobs",
		"/api/jobs/": "/api/jobs", "/job/7/cancel": "/api/jobs/7/cancel", "/api/keys": "/api/account/keys", "/api/ping/": "/api/ping",
		"/api/healthz": "/healthz",
		"/v1/tasks":    "/api/jobs", "/": "/api/jobs", "/wp-login.php": "", "/api/nothing": "", "/" + strings.Repeat("a", 400): "",
	} {
		if got := s.similar(wrong); got != want {
			t.Errorf("%s: got %q, want %q", wrong, got, want)
		}
	}
}
