package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// openTerminal opens a pseudoterminal of a size in cells.
func openTerminal(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there is no pseudoterminal: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// atTerminal starts a command whose streams are a terminal; typed returns what the
// user writes to.
func atTerminal(t *testing.T, columns uint16, env []string, args ...string) (s *spawned, typed io.Writer) {
	t.Helper()
	master, slave := openTerminal(t, columns)
	s = newSpawned(t, append([]string{"TERM=xterm", "NO_COLOR=", "COLUMNS=", "TZ=Asia/Tokyo"}, env...), args)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.start()
	_ = slave.Close()
	s.read = make(chan struct{})
	go func() {
		defer close(s.read)
		_, _ = io.Copy(s, master) // ends when the last process has closed the terminal
	}()
	return s, master
}

func TestCommandTerminal_OutputFitsAndIsSafe(t *testing.T) {
	t.Parallel()
	a := account(t)
	create(a.Client, `{"url":"https://example.com/a/long/path/that/does/not/fit/on/the/line","scheduled_at":"2031-03-01T09:00:00Z","name":"\u001b]0;evil\u0007 and \u202e long enough to be cut"}`)
	for _, x := range []struct {
		name    string
		columns uint16
		env     []string
		width   int
	}{
		{"xterm", 100, nil, 100},
		{"narrow", 20, nil, 71}, // what can't shrink is wider
		{"no size", 0, nil, 80},
		{"COLUMNS", 200, []string{"COLUMNS=90"}, 90},
		{"dumb", 100, []string{"TERM=dumb"}, 100},
		{"no TERM", 100, []string{"TERM="}, 100},
	} {
		s, _ := atTerminal(t, x.columns, append(clientOf(a), x.env...), "jobs", "list")
		if status := s.end(); status != 0 {
			t.Fatalf("%s: ended with status %d: %s", x.name, status, s.said())
		}
		said := s.said()
		if !strings.Contains(said, "2031-03-01 18:00:00 JST") {
			t.Errorf("%s: the time is not in the local zone: %q", x.name, said)
		}
		if strings.ContainsAny(said, "\x1b\x07\u202e") {
			t.Errorf("%s: control characters reach the terminal: %q", x.name, said)
		}
		for line := range strings.Lines(said) {
			if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > x.width {
				t.Errorf("%s: a line has %d characters: %q", x.name, n, line)
			}
		}
	}
	s, _ := atTerminal(t, 100, clientOf(a), "jobs", "list", "--json")
	if status := s.end(); status != 0 || strings.ContainsAny(s.said(), "\x1b\x07\u202e") || !strings.Contains(s.said(), `\u202e`) {
		t.Errorf("as JSON, status %d: %q", status, s.said())
	}
}

func TestCommandTerminal_ColoursAndProgress(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	s, _ := atTerminal(t, 100, clientOf(a), "jobs", "create", target.URL, "--wait")
	s.await("\r\x1b[Kjob ")
	release()
	if status := s.end(); status != 0 || !strings.Contains(s.said(), "\r\x1b[Kjob ") ||
		!strings.Contains(s.said(), " is completed: 200 in ") {
		t.Errorf("status %d: %q", status, s.said())
	}
	for _, x := range []struct {
		env  []string
		args []string
		want bool
	}{{nil, nil, true}, {[]string{"NO_COLOR=1"}, nil, false}, {[]string{"TERM=dumb"}, nil, false}, {nil, []string{"--color=never"}, false},
		{[]string{"NO_COLOR=1"}, []string{"--color=always"}, true}} {
		s, _ := atTerminal(t, 100, append(clientOf(a), x.env...), append([]string{"jobs", "list"}, x.args...)...)
		if status := s.end(); status != 0 || strings.Contains(s.said(), "\x1b[32mcompleted\x1b[0m") != x.want {
			t.Errorf("%q %q: status %d: %q", x.env, x.args, status, s.said())
		}
	}
}

func TestCommandTerminal_LoginDoesNotShowTheKey(t *testing.T) {
	t.Parallel()
	a := account(t)
	file := filepath.Join(t.TempDir(), "profiles.json")
	env := []string{"PUNCTUAL_PROFILES_FILE=" + file}
	s, typed := atTerminal(t, 80, env, "login")
	s.await("URL of the service")
	_, _ = io.WriteString(typed, a.Service.URL()+"\n")
	s.await("API key (not shown): ")
	_, _ = io.WriteString(typed, a.Key+"\n")
	if status := s.end(); status != 0 || strings.Contains(s.said(), a.Key) || !strings.Contains(s.said(), "signed in to ") {
		t.Fatalf("status %d: %q", status, s.said())
	}
	wantSaid(t, harness.Command(t, env, "jobs", "list"), 0, "there are no such jobs")
	s, _ = atTerminal(t, 80, env, "login", "--url", a.Service.URL())
	s.await("API key (not shown): ")
	if status := s.interrupt(); status != 130 {
		t.Errorf("interrupted at the prompt, it ended with status %d: %q", status, s.said())
	}
}
