package socket

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
)

// Set is the sockets that a supervisor has passed to this process, and the way to give it
// others. It is for one goroutine. The zero value has none, and nobody to keep others.
type Set struct {
	passed map[string]*os.File // by name
	notify string              // where the supervisor reads messages; "" for nowhere
	kept   bool
	log    *slog.Logger
}

// Inherited returns the sockets that were passed to this process, and removes them from
// the environment. Names are those that Listen will ask for. It is an error if a socket
// has another name; a single socket without one is for the first name.
func Inherited(log *slog.Logger, names ...string) (*Set, error) {
	notify := os.Getenv("NOTIFY_SOCKET")
	return newSet(activation.Files(true), notify, log, names)
}

func newSet(files []*os.File, notify string, log *slog.Logger, names []string) (*Set, error) {
	s := &Set{passed: map[string]*os.File{}, notify: notify, log: log}
	for _, f := range files {
		name := f.Name()
		if flag, _, stored := strings.Cut(name, storedMark); !slices.Contains(names, flag) {
			if stored || len(files) > 1 {
				refused := fmt.Errorf("a socket named %q was passed; name it after its flag (FileDescriptorName=): %s", name,
					strings.Join(names, ", "))
				return nil, errors.Join(refused, s.Close(), f.Close())
			}
			name = names[0]
		}
		if s.passed[name] != nil {
			return nil, errors.Join(fmt.Errorf("two sockets named %q were passed; give each flag one", name), s.Close(), f.Close())
		}
		s.passed[name] = f
	}
	return s, nil
}

// Has reports whether a socket for a flag was passed that the supervisor has opened: it
// is to be served although the flag is not given.
func (s *Set) Has(flag string) bool { return s.passed[flag] != nil }

// Kept reports whether the supervisor keeps the sockets when this process ends, so that
// connections wait for the next process instead of being refused.
func (s *Set) Kept() bool { return s.kept }

// Listen returns the socket for a flag: the one that was passed, or else a new one at the
// address, which the supervisor gets to keep.
func (s *Set) Listen(flag, address string) (net.Listener, error) {
	if s.passed[flag] != nil {
		return s.take(flag, flag)
	}
	name := storedName(flag, address)
	if s.passed[name] != nil {
		return s.take(name, flag)
	}
	s.forget(flag)
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--%s %q is in use by another program; stop that one, or give another address (port 0 picks a free one)",
			flag, address)
	case err != nil:
		return nil, fmt.Errorf("--%s %q can't be used; give an address as in 127.0.0.1:8080: %w", flag, address, err)
	}
	s.store(name, l)
	return l, nil
}

// take returns the listener of a socket that was passed.
func (s *Set) take(name, flag string) (net.Listener, error) {
	f := s.passed[name]
	delete(s.passed, name)
	l, err := net.FileListener(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the socket passed for --%s can't be listened on; pass a TCP socket: %w", flag, err)
	}
	if l.Addr().Network() != "tcp" {
		return nil, errors.Join(fmt.Errorf("the socket passed for --%s is no TCP socket; give ListenStream= a port", flag), l.Close())
	}
	s.kept = true
	s.log.Info("listening on a socket that the supervisor keeps", "flag", "--"+flag, "address", l.Addr().String())
	return l, nil
}

// forget closes the sockets of other addresses that a flag has had, here and in the
// supervisor.
func (s *Set) forget(flag string) {
	for name, f := range s.passed {
		if before, _, stored := strings.Cut(name, storedMark); stored && before == flag {
			s.tell("FDSTOREREMOVE=1\nFDNAME="+name, nil)
			_ = f.Close()
			delete(s.passed, name)
		}
	}
}

// store has the supervisor keep a socket.
func (s *Set) store(name string, l net.Listener) {
	if s.notify == "" || len(name) > maxName {
		return
	}
	if tcp, ok := l.(*net.TCPListener); ok && s.tell("FDSTORE=1\nFDNAME="+name, tcp) {
		s.kept = true
	}
}

// tell sends the supervisor a message, with a socket unless it is nil, and reports
// whether that worked.
func (s *Set) tell(message string, l *net.TCPListener) bool {
	if s.notify == "" {
		return false
	}
	if err := send(s.notify, message, l); err != nil {
		s.log.Warn("the supervisor can't keep the socket; connections are refused while the service restarts", "error", err)
		return false
	}
	return true
}

// Close closes the sockets that were passed and not listened on.
func (s *Set) Close() error {
	var err error
	for name, f := range s.passed {
		if flag, _, stored := strings.Cut(name, storedMark); stored {
			s.forget(flag)
			continue
		}
		err = errors.Join(err, f.Close())
		delete(s.passed, name)
	}
	return err
}

const (
	// storedMark separates a flag from its address in the name of a socket that this
	// process had the supervisor keep.
	storedMark = "@"
	// maxName is how long a name may be; see sd_notify(3).
	maxName = 255
)

// storedName returns the name of a socket that is kept: of printable ASCII without
// colons.
func storedName(flag, address string) string {
	return flag + storedMark + strings.ReplaceAll(address, ":", "~")
}
