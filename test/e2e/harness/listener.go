package harness

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// Listener is a `punctual listen` that runs in the background.
type Listener struct {
	proc           *process
	stdout, stderr *output
}

// Listen starts `punctual listen` for an account of a service at url. It is killed
// when the test ends; the test fails if it panicked or raced.
func Listen(t testing.TB, url, key string, args ...string) *Listener {
	t.Helper()
	dir, err := directory("listener")
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{proc: &process{done: make(chan struct{})}, stdout: newOutput(), stderr: newOutput()}
	cmd := exec.Command(Binary(t), append([]string{"listen", "--url", url}, args...)...)
	cmd.Dir, cmd.Env = dir, environment([]string{"PUNCTUAL_API_KEY=" + key})
	cmd.Stdout, cmd.Stderr = l.stdout, l.stderr
	l.proc.cmd = cmd
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.proc.err = cmd.Wait()
		close(l.proc.done)
	}()
	t.Cleanup(func() {
		l.Kill()
		if found := alarm(l.stderr.String()); found != "" {
			t.Errorf("punctual listen wrote an alarm:\n%s", found)
		}
		if t.Failed() {
			t.Logf("punctual listen %q:\n%s%s", args, tail(l.stdout.String()), tail(l.stderr.String()))
		}
	})
	return l
}

// Output returns what was written to standard output, and Notes what was written to
// standard error.
func (l *Listener) Output() string { return l.stdout.String() }

// Notes returns what was written to standard error.
func (l *Listener) Notes() string { return l.stderr.String() }

// AwaitReady waits until it has said n times that it is ready.
func (l *Listener) AwaitReady(t testing.TB, n int) {
	t.Helper()
	Eventually(t, startWithin, "a listener to be ready", func() bool { return strings.Count(l.Notes(), "ready: ") >= n })
}

// Kill kills the process.
func (l *Listener) Kill() {
	_ = l.proc.cmd.Process.Kill()
	<-l.proc.done
}

// Signal sends a signal.
func (l *Listener) Signal(signal os.Signal) error { return l.proc.cmd.Process.Signal(signal) }

// Wait waits for its end and returns the exit status; -1 if it does not end in time.
func (l *Listener) Wait(within time.Duration) int {
	select {
	case <-l.proc.done:
		return l.proc.cmd.ProcessState.ExitCode()
	case <-time.After(pace.Guard(within)):
		return -1
	}
}
