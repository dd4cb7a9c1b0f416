package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// Time allowed for the program to come up, and to go after a signal. Generous,
// because the machine may be busy; a healthy service needs a fraction.
const (
	startWithin = 30 * time.Second
	stopWithin  = 45 * time.Second
)

// Service is one instance of `punctual serve`, over any number of restarts.
type Service struct {
	DatabaseURL string
	Dir         string // the program's working directory

	binary   string
	settings *settings
	stdout   *output
	stderr   *output

	mu   sync.Mutex
	url  string
	proc *process
}

// process is one run of the program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // of Wait; read after done
}

// Start runs a service for one test. It is killed when the test ends; the test
// fails when the service panicked or raced.
func Start(t testing.TB, opts ...Option) *Service {
	t.Helper()
	s := Prepare(t, opts...)
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	return s
}

// Prepare creates a service without starting it: accounts can be created and
// commands run on its database first.
func Prepare(t testing.TB, opts ...Option) *Service {
	t.Helper()
	s, err := newService(Binary(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.watch(t)
	t.Cleanup(func() { s.Kill() })
	return s
}

func newService(binary string, opts []Option) (*Service, error) {
	ca, err := authority()
	if err != nil {
		return nil, err
	}
	dir, err := directory("service")
	if err != nil {
		return nil, err
	}
	settings := defaults(ca.file)
	settings.set("database-url", "")
	for _, opt := range opts {
		opt(settings)
	}
	url, given := settings.flags["database-url"]
	switch {
	case !given: // what the program takes when it is not told
		url = "sqlite:" + filepath.Join(dir, "punctual.db")
	case url == "":
		if url, err = freshDatabase(dir); err != nil {
			return nil, err
		}
		settings.set("database-url", url)
	}
	return &Service{
		DatabaseURL: url, Dir: dir,
		binary: binary, settings: settings,
		stdout: newOutput(), stderr: newOutput(),
	}, nil
}

// watch ties the service's output to a test: alarming lines written during the
// test fail it. The end of what was written is shown of a failed test, before
// the test's own words: those are then the last, where they are looked for.
func (s *Service) watch(t testing.TB) {
	from := s.stderr.size()
	t.Cleanup(func() {
		text := s.stderr.since(from)
		if found := alarm(text); found != "" {
			t.Errorf("the service wrote an alarm:\n%s", found)
		}
		if t.Failed() && text != "" {
			fmt.Printf("%s: the service's standard error:\n%s\n", t.Name(), tail(text))
		}
	})
}

var listening = regexp.MustCompile(`(?m)^listening on (http://\S+)$`)

// Run starts the program and returns once it says that it listens. The
// database, the flags and the environment stay those of the first start. It is
// for one goroutine at a time; others may use clients meanwhile, and get errors.
func (s *Service) Run() error {
	if s.running() != nil {
		return errors.New("the service is running already")
	}
	from := s.stdout.size()
	command := slices.Concat(s.settings.through, []string{s.binary}, s.settings.args())
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = s.Dir, environment(s.settings.env)
	cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
	if files, names := s.settings.supervisor.kept(); len(files) > 0 {
		cmd.ExtraFiles = files // numbered from 3
		cmd.Env = append(cmd.Env, "LISTEN_FDS="+strconv.Itoa(len(files)), "LISTEN_FDNAMES="+names)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	proc := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		proc.err = cmd.Wait()
		close(proc.done)
	}()
	url, err := s.awaitListening(proc, from)
	if err != nil {
		_ = proc.cmd.Process.Kill()
		<-proc.done
		return fmt.Errorf("%w\nstandard output: %s\nstandard error: %s",
			err, s.stdout.since(from), tail(s.stderr.String()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url, s.proc = url, proc
	return nil
}

func (s *Service) awaitListening(proc *process, from int) (string, error) {
	within := pace.Guard(startWithin)
	if len(s.settings.through) > 0 {
		within *= 4 // a tracer slows it down
	}
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		text, grown := s.stdout.watch(from)
		if found := listening.FindStringSubmatch(text); found != nil {
			return found[1], nil
		}
		select {
		case <-grown:
		case <-proc.done:
			return "", fmt.Errorf("the service ended while starting: %w", exitError(proc.err))
		case <-deadline.C:
			return "", fmt.Errorf("the service did not say that it listens within %s", within)
		}
	}
}

// exitError reports an exit with status 0 as an error too: a service should not
// exit.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// environment is this process's, without variables that would configure the
// program or lead its requests through a proxy, and with those given.
func environment(extra []string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PUNCTUAL_") {
			kept = append(kept, variable)
		}
	}
	return append(kept, extra...)
}

// URL is the address the service listens on; it changes with each start.
func (s *Service) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Stdout returns what the program wrote to standard output in all its runs.
func (s *Service) Stdout() string { return s.stdout.String() }

// Stderr returns what the program wrote to standard error in all its runs.
func (s *Service) Stderr() string { return s.stderr.String() }

// Signal sends a signal to the running program.
func (s *Service) Signal(sig os.Signal) error {
	proc := s.running()
	if proc == nil {
		return os.ErrProcessDone
	}
	return proc.cmd.Process.Signal(sig)
}

// Stop sends SIGTERM, waits for the end and returns the exit status; -1 if the
// program did not end by itself in time.
func (s *Service) Stop() int {
	_ = s.Signal(syscall.SIGTERM)
	return s.Wait(stopWithin)
}

// Kill ends the program at once, as a crash of the machine would.
func (s *Service) Kill() {
	_ = s.Signal(syscall.SIGKILL)
	s.Wait(stopWithin)
}

// Wait waits for the program to end and returns the exit status; -1 if a signal
// ended it or the time ran out, in which case it is killed.
func (s *Service) Wait(within time.Duration) int {
	proc := s.running()
	if proc == nil {
		return 0
	}
	deadline := time.NewTimer(pace.Guard(within))
	defer deadline.Stop()
	code := -1
	select {
	case <-proc.done:
		code = proc.cmd.ProcessState.ExitCode()
	case <-deadline.C:
		_ = proc.cmd.Process.Kill() // fails only when it has just ended
		<-proc.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == proc {
		s.proc = nil
	}
	return code
}

// running returns the current run of the program, nil when there is none.
func (s *Service) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// Restart starts a service that was stopped or killed, on the same database.
func (s *Service) Restart(t testing.TB) {
	t.Helper()
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
}

// PID returns the process id of the running program, 0 when there is none.
func (s *Service) PID() int {
	if proc := s.running(); proc != nil {
		return proc.cmd.Process.Pid
	}
	return 0
}
