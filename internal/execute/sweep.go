package execute

import (
	"net"
	"slices"
	"time"
)

const (
	// sweepEvery is how often idle connections are checked.
	sweepEvery = 5 * time.Second
	// checkFresh is how long the result of a check holds for prewarming.
	checkFresh = time.Second
)

// errNothing means that nothing has arrived. crypto/tls does not keep temporary
// errors: the connection stays usable.
var errNothing net.Error = nothing{}

type nothing struct{}

func (nothing) Error() string   { return "nothing has arrived" }
func (nothing) Timeout() bool   { return false }
func (nothing) Temporary() bool { return true }

// quiet reports whether an idle connection is alive and the target has sent
// nothing on it. It processes what TLS has for itself, such as session tickets.
// The caller must be the connection's only user.
func (c *targetConn) quiet() bool {
	c.noWait = true
	_, err := c.stream.Read(c.kept.probe[:])
	c.noWait = false
	return err == errNothing
}

// check closes an idle connection if it is dead or the target has sent something
// on it. It skips one that has been used or checked since then.
func (s *connSet) check(c *targetConn, since time.Time) {
	s.mu.Lock()
	skip := c.place == nil || c.kept.busy || c.kept.checked.After(since)
	if !skip {
		c.kept.busy = true
	}
	s.mu.Unlock()
	if skip {
		return
	}
	quiet := c.quiet()
	s.mu.Lock()
	c.kept.busy, c.kept.checked = false, time.Now()
	if quiet && c.place != nil && s.serve(c, c.recent()) {
		s.unlist(c) // a request came meanwhile
	}
	s.mu.Unlock()
	if !quiet {
		_ = c.Close()
	}
}

// checkHost checks the idle connections of a route.
func (s *connSet) checkHost(to route) {
	s.mu.Lock()
	var idle []*targetConn
	if h := s.kept.hosts[to]; h != nil {
		idle = slices.Clone(h.idle)
	}
	s.mu.Unlock()
	since := time.Now().Add(-checkFresh)
	for _, c := range idle {
		s.check(c, since)
	}
}

// checkLast checks the idle connection of a route that was used last.
func (s *connSet) checkLast(to route) {
	s.mu.Lock()
	c := s.kept.last(to)
	s.mu.Unlock()
	if c != nil {
		s.check(c, time.Now())
	}
}

// sweep checks idle connections, and closes those that have been idle for too long.
func (s *connSet) sweep() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.sweeps.Add(1)
	defer s.sweeps.Done()
	s.mu.Unlock()

	now := time.Now()
	s.closeIdle(idleTimeout)
	s.mu.Lock()
	idle := s.idleFor(0)
	s.mu.Unlock()
	for _, c := range idle {
		if c.kept != nil { // net/http reads from the others
			s.check(c, now)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if !s.closed && s.idle > 0 {
		s.timer = time.AfterFunc(sweepEvery, s.sweep)
	}
}

// idleFor returns the idle connections that were not used for a time. Called with mu
// held.
func (s *connSet) idleFor(least time.Duration) []*targetConn {
	var found []*targetConn
	for _, h := range s.ranking {
		for e := h.idle.Front(); e != nil; e = e.Next() {
			if c := e.Value.(*targetConn); c.used.age() >= least {
				found = append(found, c)
			}
		}
	}
	return found
}

// closeIdle closes the idle connections that were not used for a time.
func (s *connSet) closeIdle(least time.Duration) {
	s.mu.Lock()
	idle := s.idleFor(least)
	for _, c := range idle {
		s.endLocked(c)
	}
	s.mu.Unlock()
	for _, c := range idle {
		_ = c.Close()
	}
}

// close closes idle connections, and keeps no others. It ends dials
// that no request waits for.
func (s *connSet) close() {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
	for w := range s.kept.dials {
		if w.place == nil {
			w.stop()
		}
	}
	s.mu.Unlock()
	s.closeIdle(0)
	s.sweeps.Wait()
}
