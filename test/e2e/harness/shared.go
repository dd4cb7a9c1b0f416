package harness

import (
	"sync"
	"testing"
)

// shared is the one service most tests of a process use.
var shared struct {
	sync.Once
	service *Service
	err     error
}

// Shared returns the service that all tests of the process use together,
// started on the first call. Tests are isolated by accounts of their own, and
// must neither stop nor kill it.
func Shared(t testing.TB) *Service {
	t.Helper()
	binary := Binary(t)
	shared.Do(func() {
		service, err := newService(binary, nil)
		if err == nil {
			err = service.Run()
		}
		shared.service, shared.err = service, err
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	shared.service.watch(t)
	return shared.service
}

// stopShared stops the shared service and returns what was wrong with it, if
// anything.
func stopShared() string {
	s := shared.service
	if s == nil || shared.err != nil {
		return ""
	}
	if code := s.Stop(); code != 0 {
		return "the shared service did not end with status 0 after SIGTERM; its standard error:\n" + tail(s.Stderr())
	}
	if found := alarm(s.Stderr()); found != "" {
		return "the shared service wrote an alarm:\n" + found
	}
	return ""
}
