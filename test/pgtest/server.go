package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/ports"
)

// Server is a PostgreSQL server on a port of its own.
type Server struct {
	Port int

	dir   string // everything of it, its data in data
	guard *os.File
	main  *exec.Cmd
	ended chan struct{} // closed when main has ended
}

// startWithin is how long a server may take to answer.
func startWithin() time.Duration { return pace.Guard(60 * time.Second) }

// stopWithin is how long a server may take to end.
func stopWithin() time.Duration { return pace.Guard(30 * time.Second) }

// Durable is a setting with which a server waits for its disk, as it would in earnest.
// Tests that measure need it. For others a server leaves what it writes to the kernel,
// which keeps it when processes are killed; no test cuts the machine's power.
const Durable = "fsync = on"

// Start runs a server for one test. Settings are lines of postgresql.conf.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

func start(settings []string) (*Server, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	err = run(s.dir, "initdb", "-D", s.data(), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync")
	if err == nil {
		err = s.configure(settings)
	}
	if err == nil {
		err = s.Run()
	}
	if err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// prepare makes the directory of a server, its port and its guard.
func prepare() (*Server, error) {
	dir, err := os.MkdirTemp("", "pgtest-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if s.guard, err = guard(dir, guardian); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	credential, err := account()
	if err == nil && credential != nil {
		err = os.Chown(dir, int(credential.Uid), int(credential.Gid))
	}
	if err == nil {
		s.Port, err = ports.Pick()
	}
	if err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// Parts of guardians' scripts; $1 is the directory that is guarded.
const (
	// isOurs succeeds if the process $pid has the directory in its arguments. Another
	// process may have got the number of one that has ended.
	isOurs = `{ cat "/proc/$pid/cmdline" 2>/dev/null || ps -o args= -p "$pid"; } | grep -qF -- "$1"`
	// endServer ends the PostgreSQL server $pid, also one that is stopped.
	endServer = `if ` + isOurs + `; then
	kill -CONT "$pid"; kill -QUIT "$pid"
	i=0
	while kill -0 "$pid" && [ $i -lt 50 ]; do sleep 0.1; i=$((i + 1)); done
	if ` + isOurs + `; then kill -KILL "$pid"; fi
fi
`
	// removeFiles removes the directory. A program that is just ending may still write.
	removeFiles = `i=0
while rm -rf "$1"; sleep 0.5; [ -e "$1" ] && [ $i -lt 20 ]; do i=$((i + 1)); done`
)

// guardian waits until nobody holds the other end of its standard input, then
// ends the server and removes its files.
const guardian = `read _
pid=$(head -n 1 "$1/data/postmaster.pid")
` + endServer + removeFiles

// guard starts a script that guards a directory; it acts when this process is gone or
// the file is closed.
func guard(dir, script string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", script, "sh", dir)
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(cmd.Start(), r.Close())
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	go func() { _ = cmd.Wait() }() // its status says nothing
	return w, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) configure(settings []string) error {
	lines := append([]string{
		"listen_addresses = '127.0.0.1'",
		"port = " + strconv.Itoa(s.Port),
		"unix_socket_directories = ''",
		"max_connections = 600",
		"log_checkpoints = off",
		"wal_sender_timeout = 5s",
		"fsync = off", // see Durable
		"jit = off",   // compiling a plan costs more than any statement of a test
	}, settings...)
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// Run starts the server, again after it was stopped or killed, and returns
// when it answers.
func (s *Server) Run() error {
	cmd, err := command(s.dir, "postgres", "-D", s.data())
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return err
	}
	s.main, s.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // the log says why
		close(ended)
	}(s.ended)
	return s.await()
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin())
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-tick.C:
		case <-s.ended:
			text, _ := os.ReadFile(s.Log())
			return fmt.Errorf("the server ended while starting:\n%s", text)
		case <-ctx.Done():
			return fmt.Errorf("the server did not answer within %s: %w", startWithin(), err)
		}
	}
}

// URL returns the URL of one of the server's databases.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s", s.Port, database)
}

// Log names the file that the server logs to.
func (s *Server) Log() string { return filepath.Join(s.dir, "log") }

// Exec runs statements on the server.
func (s *Server) Exec(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin())
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = conn.Exec(ctx, statement); err != nil {
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

// Stop shuts the server down: connections are cut, what was committed is kept.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// Restart stops the server and starts it again.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Run()
}

// Kill ends the server and all of its processes at once, as a power cut would.
func (s *Server) Kill() error {
	if s.main == nil {
		return nil
	}
	// The first one makes the others: one made after they were listed would live on.
	_ = s.main.Process.Signal(syscall.SIGSTOP)
	deadline := time.Now().Add(stopWithin())
	for !strings.ContainsRune("TZ", processState(s.main.Process.Pid)) && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	others := s.processes()
	for _, pid := range others {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	if err := s.end(syscall.SIGKILL); err != nil {
		return err
	}
	// The server does not start while one of them holds the shared memory.
	for slices.ContainsFunc(others, runs) {
		if time.Now().After(deadline) {
			return fmt.Errorf("the server's processes did not end within %s", stopWithin())
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// runs reports whether a process has not ended. One that is about to has no arguments any
// more, but may still have its memory.
func runs(pid int) bool { return processState(pid) != 'Z' }

// processState returns the state of a process as /proc/PID/stat has it: T if it is stopped, Z if
// it has ended, also if it is gone.
func processState(pid int) rune {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	behind := strings.LastIndexByte(string(text), ')') + 2 // its name may have spaces
	if err != nil || behind >= len(text) || text[behind] == 'X' {
		return 'Z'
	}
	return rune(text[behind])
}

func (s *Server) end(sig syscall.Signal) error {
	if s.main == nil {
		return nil
	}
	_ = s.main.Process.Signal(sig) // fails only when it has ended
	timer := time.NewTimer(stopWithin())
	defer timer.Stop()
	select {
	case <-s.ended:
		s.main = nil
		return nil
	case <-timer.C:
		return fmt.Errorf("the server did not end within %s", stopWithin())
	}
}

// Pause stops all of the server's processes where they stand; connections stay
// open and get no answer.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if s.main == nil {
		return
	}
	// The first one makes the others: one made after they were listed would go on.
	_ = s.main.Process.Signal(sig)
	for _, pid := range s.processes() {
		_ = syscall.Kill(pid, sig) // it may be gone already
	}
}

// processes returns the server's processes but the first one.
func (s *Server) processes() []int {
	if s.main == nil {
		return nil
	}
	return children(s.main.Process.Pid)
}

// children returns the processes that a process has started.
func children(parent int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// PID (NAME) STATE PARENT …, where the name may hold anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Remove ends the server and removes its files.
func (s *Server) Remove() {
	if s.main != nil {
		s.Resume()
		if s.end(syscall.SIGQUIT) != nil {
			_ = s.Kill() // the guard sees to the rest
		}
	}
	_ = s.guard.Close() // now the guard removes the files
}

// CPUSeconds returns the processor time that the server's processes have used so
// far, those that have ended included.
func (s *Server) CPUSeconds() float64 {
	total := 0.0
	for _, pid := range append(s.processes(), s.main.Process.Pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has just ended, or this is no Linux
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		own := fields[11:13]
		if pid == s.main.Process.Pid {
			own = fields[11:15] // with its children that have ended
		}
		for _, field := range own {
			ticks, _ := strconv.ParseFloat(field, 64) // the kernel writes numbers
			total += ticks / 100
		}
	}
	return total
}
