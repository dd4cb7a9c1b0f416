package python

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const directory = "../../../clients/python"

func TestClient_AgainstTheService(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: install Python 3.9 or newer (on Debian and Ubuntu, the package python3)")
	}
	run(t, nil, python, "-B", "scripts/generate.py", "--check")
	service, env := start(t)
	tests, err := filepath.Glob(filepath.Join(directory, "tests/test_*.py"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("there are no tests: %v", err)
	}
	env = append(env, "PYTHONPATH=src", "PYTHONWARNINGS=error::ResourceWarning")
	for _, file := range tests {
		name := strings.TrimSuffix(filepath.Base(file), ".py")
		// One after the other: some tests crash the service that all use.
		t.Run(name, func(t *testing.T) {
			run(t, env, python, "-B", "-m", "unittest", "-v", "tests."+name)
		})
	}
	if code := service.Stop(); code != 0 {
		t.Errorf("the service ended with status %d", code)
	}
}

// start runs a service with everything switched on that the client has calls for,
// and returns the environment of the tests.
func start(t *testing.T) (*harness.Service, []string) {
	t.Helper()
	address := freeAddress(t)
	keyFile := filepath.Join(t.TempDir(), "secrets-key")
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if err := os.WriteFile(keyFile, []byte(base64.StdEncoding.EncodeToString(key)), 0o600); err != nil {
		t.Fatal(err)
	}
	// The address stays the same through crashes, as that of a service does.
	service := harness.Start(t, harness.Flag("listen", address), harness.Flag("public-url", "http://"+address),
		harness.Flag("secrets-key-file", keyFile))
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
	return service, []string{
		"PUNCTUAL_TEST_URL=" + service.URL(), "PUNCTUAL_TEST_KEY=" + account.Key, "PUNCTUAL_TEST_SECRET=" + account.Secret,
		"PUNCTUAL_TEST_TARGET=" + harness.BareTarget(t, passOn()), "PUNCTUAL_TEST_CONTROL=" + control.URL,
		"PUNCTUAL_TEST_POSTGRES=" + pgtest.URL(t),
	}
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

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run runs a program in the client's directory; it must succeed.
func run(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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
