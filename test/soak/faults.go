package soak

import (
	"context"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// storm kills the process until the warm-up is over, and stops it for up to three
// seconds throughout.
func (s *soak) storm(ctx context.Context, warm time.Time) {
	gap := min(max(s.lasts/20, 20*time.Second), time.Minute)
	for {
		wait(ctx, gap/2+rand.N(gap/2))
		switch {
		case ctx.Err() != nil:
			return
		case time.Now().Before(warm) && rand.IntN(3) > 0:
			s.kill()
		default:
			s.stop()
		}
	}
}

// during notes a fault around what makes it.
func (s *soak) during(kind string, make func()) {
	i := 0
	s.do(func() {
		i = len(s.faults)
		s.faults = append(s.faults, fault{kind: kind, from: time.Now()})
		s.counts[kind]++
	})
	make()
	s.do(func() { s.faults[i].to = time.Now() })
}

// kill ends the process without warning and starts it again.
func (s *soak) kill() {
	s.during("kills", func() {
		s.service.Kill()
		pause(rand.N(time.Second))
		var err error
		if !harness.Within(within, func() bool { err = s.service.Run(); return err == nil }) {
			s.t.Errorf("the service did not start again: %v", err)
		}
	})
}

// stop halts the process and lets it go on.
func (s *soak) stop() {
	s.during("pauses", func() {
		if err := s.service.Signal(syscall.SIGSTOP); err != nil {
			s.t.Errorf("stopping the service: %v", err)
		}
		pause(time.Second + rand.N(2*time.Second))
		if err := s.service.Signal(syscall.SIGCONT); err != nil {
			s.t.Errorf("continuing the service: %v", err)
		}
	})
}
