package dashboard

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/punctual-dev/punctual/internal/auth"
)

// noAPI is an API without calls.
type noAPI struct{}

func (noAPI) Answers(*http.Request) bool                   { return false }
func (noAPI) ServeHTTP(http.ResponseWriter, *http.Request) {}

func (noAPI) ServeSession(http.ResponseWriter, *http.Request, auth.Caller) {}

func TestErrors_BrowsersThatGoAreNone(t *testing.T) {
	var log bytes.Buffer
	var config *Config
	newSite(t, false, func(c *Config, _ *auth.PeopleConfig) {
		config, c.Log = c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handler := New(*config).Wrap(noAPI{})
	for _, path := range []string{"/sign-in", "/sign-up", "/forgot-password", "/nowhere"} {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.Header.Set("Accept", "text/html")
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}
