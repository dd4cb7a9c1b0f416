//go:build unix

package socket

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// kept opens a socket as a supervisor does, and returns it under a name with its address.
func kept(t *testing.T, name string) (*os.File, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	fd, err := syscall.Dup(int(raw.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), name), l.Addr().String()
}

func setOf(t *testing.T, notify string, files ...*os.File) (*Set, error) {
	t.Helper()
	s, err := newSet(files, notify, slog.New(slog.NewTextHandler(t.Output(), nil)), []string{"listen", "metrics-listen"})
	if err == nil {
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s, err
}

func listen(t *testing.T, s *Set, flag, address string) string {
	t.Helper()
	l, err := s.Listen(flag, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestSet_WithoutASupervisorListensAndKeepsNothing(t *testing.T) {
	s, err := setOf(t, "")
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, s, "listen", "127.0.0.1:0")
	if s.Kept() || s.Has("listen") {
		t.Error("a socket is kept without a supervisor")
	}
	if _, err := s.Listen("metrics-listen", address); err == nil ||
		!strings.Contains(err.Error(), `--metrics-listen "`+address+`" is in use`) {
		t.Errorf("an address in use gives %v", err)
	}
}

func TestSet_TakesTheSocketsOfASupervisorByName(t *testing.T) {
	main, address := kept(t, "listen")
	metrics, second := kept(t, "metrics-listen")
	s, err := setOf(t, "", metrics, main)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Has("metrics-listen") {
		t.Error("the socket of a flag that is not given is not known")
	}
	if got := listen(t, s, "listen", "127.0.0.1:1"); got != address {
		t.Errorf("listening on %s, want %s", got, address)
	}
	if got := listen(t, s, "metrics-listen", ""); got != second || !s.Kept() {
		t.Errorf("listening on %s, want %s; kept: %t", got, second, s.Kept())
	}
}

func TestSet_TakesASingleSocketWithoutANameForTheFirstFlag(t *testing.T) {
	file, address := kept(t, "LISTEN_FD_3")
	s, err := setOf(t, "", file)
	if err != nil {
		t.Fatal(err)
	}
	if got := listen(t, s, "listen", "127.0.0.1:0"); got != address {
		t.Errorf("listening on %s, want %s", got, address)
	}
}

func TestSet_RefusesSocketsThatAreForNoFlag(t *testing.T) {
	one, _ := kept(t, "web")
	two, _ := kept(t, "listen")
	if _, err := setOf(t, "", one, two); err == nil || !strings.Contains(err.Error(), `"web"`) {
		t.Errorf("a socket named web gives %v", err)
	}
	one, _ = kept(t, "listen")
	two, _ = kept(t, "listen")
	if _, err := setOf(t, "", one, two); err == nil || !strings.Contains(err.Error(), "two sockets") {
		t.Errorf("two sockets for a flag give %v", err)
	}
	pipe, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = other.Close()
	s, err := newSet([]*os.File{pipe}, "", slog.New(slog.NewTextHandler(t.Output(), nil)), []string{"listen"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("listen", ""); err == nil || !strings.Contains(err.Error(), "TCP socket") {
		t.Errorf("a pipe gives %v", err)
	}
}

func TestSet_HasTheSupervisorKeepWhatItOpensWhileTheAddressIsTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	supervisor, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer supervisor.Close()
	// What is sent has arrived when send returns: a message that is missing fails at once.
	if err := supervisor.SetReadDeadline(time.Now().Add(pace.Guard(10 * time.Second))); err != nil {
		t.Fatal(err)
	}
	receive := func() (string, *os.File) {
		t.Helper()
		text, rights := make([]byte, 512), make([]byte, 128)
		n, control, _, _, err := supervisor.ReadMsgUnix(text, rights)
		if err != nil {
			t.Fatal(err)
		}
		message, name, _ := strings.Cut(string(text[:n]), "\nFDNAME=")
		if control == 0 {
			return message + " " + name, nil
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:control])
		if err != nil {
			t.Fatal(err)
		}
		fds, err := syscall.ParseUnixRights(&messages[0])
		if err != nil {
			t.Fatal(err)
		}
		return message + " " + name, os.NewFile(uintptr(fds[0]), name)
	}
	s, err := setOf(t, path)
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, s, "listen", "127.0.0.1:0")
	message, file := receive()
	if message != "FDSTORE=1 listen@127.0.0.1~0" || file == nil || !s.Kept() {
		t.Fatalf("the supervisor got %q with %v; kept: %t", message, file, s.Kept())
	}
	if s, err = setOf(t, path, file); err != nil {
		t.Fatal(err)
	}
	if got := listen(t, s, "listen", "127.0.0.1:0"); got != address || !s.Kept() {
		t.Errorf("listening on %s after a restart, want %s; kept: %t", got, address, s.Kept())
	}
	old, _ := kept(t, "listen@127.0.0.1~0")
	gone, _ := kept(t, "metrics-listen@127.0.0.1~9090")
	if s, err = setOf(t, path, old, gone); err != nil {
		t.Fatal(err)
	}
	listen(t, s, "listen", "localhost:0")
	if message, _ := receive(); message != "FDSTOREREMOVE=1 listen@127.0.0.1~0" {
		t.Errorf("with another address the supervisor got %q", message)
	}
	if message, _ := receive(); message != "FDSTORE=1 listen@localhost~0" {
		t.Errorf("then it got %q", message)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if message, _ := receive(); message != "FDSTOREREMOVE=1 metrics-listen@127.0.0.1~9090" {
		t.Errorf("without a flag the supervisor got %q", message)
	}
}
