package harness

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// supervisor keeps the sockets of a service while it restarts, as systemd does with
// FileDescriptorStoreMax=: see sd_notify(3) and sd_listen_fds(3).
type supervisor struct {
	mu    sync.Mutex
	names []string
	files []*os.File
}

// Supervised starts the program under a supervisor that keeps its sockets.
func Supervised(t testing.TB) Option {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.read(l); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the supervisor failed: %v", err)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		for _, f := range s.files {
			_ = f.Close()
		}
	})
	return func(settings *settings) {
		settings.supervisor = s
		settings.env = append(settings.env, "NOTIFY_SOCKET="+path)
		// Only the process itself knows its number before it runs.
		settings.through = []string{"sh", "-c", `LISTEN_PID=$$ exec "$@"`, "sh"}
	}
}

// read keeps what the program sends until the socket is closed.
func (s *supervisor) read(l *net.UnixConn) error {
	text, rights := make([]byte, 4096), make([]byte, 1024)
	for {
		n, control, _, _, err := l.ReadMsgUnix(text, rights)
		if err != nil {
			return err
		}
		name, stored := strings.CutPrefix(string(text[:n]), "FDSTORE=1\nFDNAME=")
		if !stored {
			continue
		}
		messages, err := syscall.ParseSocketControlMessage(rights[:control])
		if err != nil || len(messages) != 1 {
			return errors.Join(err, errors.New("FDSTORE came without a socket"))
		}
		fds, err := syscall.ParseUnixRights(&messages[0])
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.names, s.files = append(s.names, name), append(s.files, os.NewFile(uintptr(fds[0]), name))
		s.mu.Unlock()
	}
}

// kept returns the sockets to pass to the program, and their names.
func (s *supervisor) kept() (files []*os.File, names string) {
	if s == nil {
		return nil, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.files), strings.Join(s.names, ":")
}
