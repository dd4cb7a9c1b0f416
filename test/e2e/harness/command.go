package harness

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// Result is the result of a command that ran to its end.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// commandWithin is how long a command may take.
func commandWithin() time.Duration { return pace.Guard(30 * time.Second) }

// Command runs the program with arguments and waits for its end.
// Panics and data races fail the test.
func Command(t testing.TB, env []string, args ...string) Result {
	t.Helper()
	return commandReading(t, "", env, args...)
}

// commandReading is Command with what the program reads from standard input.
func commandReading(t testing.TB, input string, env []string, args ...string) Result {
	t.Helper()
	binary := Binary(t) // the first call builds it, which takes no time off the command's
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin())
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	dir, err := directory("command")
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env = dir, environment(env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		t.Errorf("punctual %q did not end within %s", args, commandWithin())
	case err != nil && !errors.As(err, &exit):
		t.Errorf("punctual %q: %v", args, err)
	}
	if found := alarm(stderr.String()); found != "" {
		t.Errorf("punctual %q wrote an alarm:\n%s", args, found)
	}
	return Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// Command runs a command on the service's database; it must succeed.
func (s *Service) Command(t testing.TB, args ...string) string {
	t.Helper()
	result := s.TryCommand(t, args...)
	if result.Code != 0 {
		t.Fatalf("punctual %q ended with status %d\n%s%s", args, result.Code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

// SetPassword sets an account's password to sign in to the dashboard with.
func (s *Service) SetPassword(t testing.TB, email, password string) {
	t.Helper()
	result := commandReading(t, password+"\n", s.settings.env, "accounts", "set-password", email, "--database-url", s.DatabaseURL)
	if result.Code != 0 {
		t.Fatalf("accounts set-password ended with status %d\n%s", result.Code, result.Stderr)
	}
}

// TryCommand runs a command on the service's database, whatever comes of it.
func (s *Service) TryCommand(t testing.TB, args ...string) Result {
	t.Helper()
	return Command(t, s.settings.env, append(args, "--database-url", s.DatabaseURL)...)
}
