package e2e

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// clientOf returns the environment of a command that calls the account's service.
func clientOf(a *harness.Account) []string {
	return []string{"PUNCTUAL_URL=" + a.Service.URL(), "PUNCTUAL_API_KEY=" + a.Key}
}

// spawned is a command that runs beside the test.
type spawned struct {
	t    *testing.T
	cmd  *exec.Cmd
	read chan struct{} // closed when all it printed was read; nil if Wait waits for that

	mu   sync.Mutex
	text bytes.Buffer // what it printed, both streams
}

// Write implements io.Writer.
func (s *spawned) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *spawned) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// spawn starts a command. It is killed at the end of the test.
func spawn(t *testing.T, env []string, args ...string) *spawned {
	t.Helper()
	s := newSpawned(t, env, args)
	s.cmd.Stdout, s.cmd.Stderr = s, s
	s.start()
	return s
}

func newSpawned(t *testing.T, env, args []string) *spawned {
	t.Helper()
	s := &spawned{t: t, cmd: exec.Command(harness.Binary(t), args...)}
	s.cmd.Dir, s.cmd.Env = t.TempDir(), append(os.Environ(), env...)
	return s
}

func (s *spawned) start() {
	s.t.Helper()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = s.cmd.Process.Kill() })
}

// await waits until the command has printed a text.
func (s *spawned) await(text string) {
	s.t.Helper()
	for end := time.Now().Add(pace.Guard(3 * soon)); !strings.Contains(s.said(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("punctual %q does not say %q but %q", s.cmd.Args[1:], text, s.said())
		}
	}
}

// interrupt sends what ^C sends and returns the exit status.
func (s *spawned) interrupt() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		s.t.Fatal(err)
	}
	return s.end()
}

// end waits for the end of the command and returns its exit status.
func (s *spawned) end() int {
	s.t.Helper()
	late := time.AfterFunc(pace.Guard(3*soon), func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait()
	if s.read != nil {
		<-s.read
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestCommandWait_TheExitStatusTellsTheOutcome(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	wantSaid(t, jobs(t, a, "create", target.URL, "--wait"), 0, " is completed: 200 in ")
	target.Respond(harness.Status(http.StatusTeapot))
	failing := jobs(t, a, "create", target.URL, "--wait", "--retries", "0")
	wantSaid(t, failing, 1, "punctual: job ")
	wantSaid(t, failing, 1, " is discarded: 418 in ")
	asJSON := jobs(t, a, "create", target.URL, "-w", "--retries", "0", "--json")
	wantSame(t, "the state", harness.JSON(asJSON.Stdout).Get("job.state"), `"discarded"`)
	wantSaid(t, asJSON, 1, `"exit_status": 1`)
	wantSaid(t, jobs(t, a, "create", target.URL, "--wait-for", "50ms"), 8, "is not final after 50ms")
	wantSaid(t, jobs(t, a, "create", target.URL, "--wait-for", "soon"), 2, "--wait-for")
}

func TestCommandWait_ACancelledJobIsAFailure(t *testing.T) {
	t.Parallel()
	a := account(t)
	s := spawn(t, clientOf(a), "jobs", "create", "https://example.com/", "--when", "in 9 days", "--name", "w", "--wait")
	s.await("is available, due ")
	a.Post("/api/jobs/"+a.Get("/api/jobs?name=w").Data().Get("0.job_id").Raw()+"/cancel", nil).Want(200)
	if status := s.end(); status != 1 || !strings.Contains(s.said(), " is cancelled") {
		t.Errorf("ended with status %d and said %s", status, s.said())
	}
}

func TestCommandWait_AnInterruptLeavesTheJobAlone(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(http.StatusOK))
	s := spawn(t, clientOf(a), "jobs", "create", target.URL, "--name", "held", "--wait")
	s.await("is executing, attempt 1")
	if status := s.interrupt(); status != 130 || !strings.Contains(s.said(), "which goes on") {
		t.Errorf("ended with status %d and said %s", status, s.said())
	}
	release()
	awaitState(t, a.Client, a.Get("/api/jobs?name=held").Data().Get("0"), "completed")
}

func TestCommandLogs_TailShowsEntriesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	s := spawn(t, clientOf(a), "logs", "tail", "--event", "worker.http.response")
	s.await("waiting for log entries")
	wantSaid(t, jobs(t, a, "create", target.URL), 0, "is due")
	s.await("worker.http.response  200, ")
	if status := s.interrupt(); status != 130 || strings.Contains(s.said(), "worker.http.request") {
		t.Errorf("ended with status %d and said %s", status, s.said())
	}
	wantSaid(t, harness.Command(t, clientOf(a), "logs", "tail", "--api-key", "sk_wrong"), 4, "key")
	wantSaid(t, harness.Command(t, clientOf(a), "logs", "tail", "--url", "http://127.0.0.1:1"), 5, "can't be reached")
}

func TestCommandLogs_ListAndExportAreComplete(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	var batch strings.Builder
	for range 60 {
		batch.WriteString(`{"url":"` + target.URL + `"}` + "\n")
	}
	a.Post("/api/jobs/batch", batch.String(), harness.ContentType("application/x-ndjson")).Want(201)
	target.AwaitEnds(t, 60, 3*soon)
	count := func(args ...string) int {
		t.Helper()
		got := harness.Command(t, clientOf(a), args...)
		if got.Code != 0 {
			t.Fatalf("%q ended with status %d: %s", args, got.Code, got.Stderr)
		}
		return strings.Count(got.Stdout, "\n")
	}
	if n := count("logs", "list", "--event", "worker.http.request", "--limit", "55", "--quiet"); n != 55 {
		t.Errorf("%d entries are listed, want 55", n)
	}
	if n := count("jobs", "list", "--limit", "1000", "--quiet"); n != 60 {
		t.Errorf("%d jobs are listed, want 60", n)
	}
	if n := count("logs", "export", "--event", "worker.http.request"); n != 60 {
		t.Errorf("%d entries are exported, want 60", n)
	}
}
