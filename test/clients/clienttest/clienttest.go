package clienttest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

// Start runs a service with everything switched on that the client has calls for,
// and returns the environment of the tests.
func Start(t *testing.T) (*harness.Service, []string) {
	t.Helper()
	address := ports.Free(t)
	// The address stays the same through crashes, as that of a service does.
	service := harness.Start(t, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
		harness.SecretsKey(t))
	account := service.Account(t)
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		service.Kill()
		if err := service.Run(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(control.Close)
	unreliable := NewUnreliable(t, service)
	return service, append(startMariaDB(t),
		"PUNCTUAL_TEST_UNRELIABLE="+unreliable.URL, "PUNCTUAL_TEST_COUNTED="+unreliable.Target,
		"PUNCTUAL_TEST_URL="+service.URL(), "PUNCTUAL_TEST_KEY="+account.Key, "PUNCTUAL_TEST_SECRET="+account.Secret,
		"PUNCTUAL_TEST_TARGET="+harness.BareTarget(t, passOn()), "PUNCTUAL_TEST_CONTROL="+control.URL,
		"PUNCTUAL_TEST_POSTGRES="+pgtest.URL(t), "PUNCTUAL_BINARY="+harness.Binary(t))
}

// passOn sends /PORT/path to 127.0.0.1:PORT/path.
func passOn() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			port, rest, _ := strings.Cut(strings.TrimPrefix(r.In.URL.Path, "/"), "/")
			r.Out.URL = &url.URL{Scheme: "http", Host: "127.0.0.1:" + port, Path: "/" + rest, RawQuery: r.In.URL.RawQuery}
		},
		// Receivers are killed on purpose.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
}

// Run runs a program in a client's directory; it must succeed.
func Run(t *testing.T, directory string, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pace.Limit(5*time.Minute))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", fmt.Sprint(append([]string{name}, args...)), err, out)
	}
	if len(out) > 0 {
		t.Logf("%s", out)
	}
}
