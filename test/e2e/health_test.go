package e2e

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// awaitReady waits until a service fires jobs, which it does a moment after it listens.
func awaitReady(t *testing.T, s *harness.Service) {
	t.Helper()
	c := s.Client(t, "")
	harness.Eventually(t, soon, "the service to be ready", func() bool { return c.Get("/readyz").Status == 200 })
}

func TestHealth_TellsWhetherTheServiceIsReady(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("public-url", "https://punctual.example.com"))
	address := strings.TrimPrefix(s.URL(), "http://")
	health := func(args ...string) harness.Result {
		return harness.Command(t, []string{"PUNCTUAL_LISTEN=" + address}, append([]string{"health"}, args...)...)
	}
	awaitReady(t, s)
	if r := health(); r.Code != 0 || r.Stdout != "ok\n" {
		t.Errorf("of a ready service: %+v", r)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if r := health("--listen", "0.0.0.0:"+port); r.Code != 0 {
		t.Errorf("by the address of all networks: %+v", r)
	}
	s.Kill()
	if r := health(); r.Code != 1 || !strings.Contains(r.Stderr, "can't be reached") {
		t.Errorf("of a killed service: %+v", r)
	}
}

func TestDrain_ServesOnWithoutBeingReady(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("drain", "10m"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	status := func(path string) int {
		response, err := http.Get(s.URL() + path)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	awaitReady(t, s)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "the service not to be ready", func() bool { return status("/readyz") == 503 })
	if got := status("/healthz"); got != 200 {
		t.Errorf("/healthz is %d while it drains", got)
	}
	awaitState(t, c, create(c, `{"url":"`+target.URL+`"}`), "completed")
	address := strings.TrimPrefix(s.URL(), "http://")
	if r := harness.Command(t, nil, "health", "--listen", address); r.Code != 1 || !strings.Contains(r.Stderr, "not ready") {
		t.Errorf("health while it drains: %+v", r)
	}
	if r := harness.Command(t, nil, "health", "--live", "--listen", address); r.Code != 0 {
		t.Errorf("health --live while it drains: %+v", r)
	}
	// A second signal ends the process at once.
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.Wait(soon)
	if s.PID() != 0 {
		t.Error("it did not end at the second signal")
	}
}

func TestDrain_EndsInOrder(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("drain", "1s"))
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d: %s", code, s.Stderr())
	}
	if !strings.Contains(s.Stderr(), "draining") {
		t.Errorf("it did not drain: %s", s.Stderr())
	}
}
