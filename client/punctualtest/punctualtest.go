package punctualtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/client"
)

const (
	// stopWithin is how long the service may take to stop after a test.
	stopWithin = 10 * time.Second
	// advanceWithin is how long it may take to move its time.
	advanceWithin = 10 * time.Minute
)

// Service is a service that runs until the test ends.
type Service struct {
	URL string // such as http://127.0.0.1:8080
	Key string // an API key with all scopes
	// Env has what programs need to reach the service and its compatible APIs, by the name
	// of the variable: PUNCTUAL_URL, PUNCTUAL_API_KEY, QSTASH_URL, QSTASH_TOKEN,
	// CLOUD_TASKS_EMULATOR_HOST and others.
	Env map[string]string
	// Client calls the service.
	Client *client.Client
}

// Start starts a service with an empty database on free ports. It fails the test if that
// is impossible, and stops the service when the test ends.
func Start(t testing.TB) *Service {
	t.Helper()
	program := os.Getenv("PUNCTUAL_BINARY")
	if program == "" {
		var err error
		if program, err = exec.LookPath("punctual"); err != nil {
			t.Fatal("the command punctual is not installed; install it, or set PUNCTUAL_BINARY to its file")
		}
	}
	command := exec.Command(program, "dev", "--listen", "127.0.0.1:0", "--google-listen", "127.0.0.1:0")
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	stopped := make(chan error, 1)
	s := &Service{Env: map[string]string{}}
	ready := s.read(out)
	go func() {
		_, _ = io.Copy(io.Discard, out)
		stopped <- command.Wait()
	}()
	t.Cleanup(func() { stop(t, command, stopped) })
	if !ready {
		_ = command.Process.Kill() // it does not serve
		t.Fatalf("%s dev does not serve: %s", program, said.String())
	}
	s.URL, s.Key = s.Env["PUNCTUAL_URL"], s.Env["PUNCTUAL_API_KEY"]
	if s.Client, err = client.New(client.Config{URL: s.URL, Key: s.Key}); err != nil {
		t.Fatal(err)
	}
	return s
}

// read reads the lines to export until the service serves, and reports whether it does.
func (s *Service) read(out io.Reader) bool {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		line, exported := strings.CutPrefix(lines.Text(), "export ")
		if name, value, ok := strings.Cut(line, "="); exported && ok {
			s.Env[name] = strings.Trim(value, "'")
		}
		if strings.HasPrefix(line, "listening on ") {
			return true
		}
	}
	return false
}

// stop ends the service as at a shutdown; by force if that takes too long.
func stop(t testing.TB, command *exec.Cmd, stopped <-chan error) {
	if err := command.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = command.Process.Kill() // interrupts are not known everywhere
	}
	select {
	case <-stopped:
	case <-time.After(stopWithin):
		_ = command.Process.Kill() // fails only if it has just ended
		t.Errorf("the service did not stop within %v", stopWithin)
	}
}

// Advance moves the service's time ahead and returns what it is then. Everything that is
// due until then has been sent, and responses have been dealt with: retries, runs of
// schedules, callbacks. It fails the test if the service refuses.
func (s *Service) Advance(t testing.TB, by time.Duration) time.Time {
	t.Helper()
	for end := time.Now().Add(advanceWithin); ; { // the service ends a call that takes long
		moved, err := s.advance(by)
		switch {
		case err != nil:
			t.Fatalf("moving the time: %v", err)
		case moved.Complete:
			return moved.Now
		case time.Now().After(end):
			t.Fatalf("the service has not moved its time to %v within %v; its log says why", moved.Until, advanceWithin)
		}
		by = moved.Until.Sub(moved.Now)
	}
}

// moved is what the service says of its time.
type moved struct {
	Now, Until time.Time
	Complete   bool
}

func (s *Service) advance(by time.Duration) (m moved, err error) {
	body := fmt.Sprintf(`{"by":%.6f}`, by.Seconds())
	request, err := http.NewRequest(http.MethodPost, s.URL+"/api/dev/advance", strings.NewReader(body))
	if err != nil {
		return m, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return m, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return m, err
	}
	if response.StatusCode != http.StatusOK {
		return m, fmt.Errorf("the service responded %s: %s", response.Status, text)
	}
	err = json.Unmarshal(text, &struct{ Data *moved }{&m})
	return m, err
}
