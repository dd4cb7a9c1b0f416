package nodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestPatroni_FailoversLoseNothing runs two nodes on three PostgreSQL servers under
// Patroni. Under load, the primary is switched over, killed and cut off from
// everything, then from etcd and its standbys only, while nodes still reach it, and left
// without its Patroni.
func TestPatroni_FailoversLoseNothing(t *testing.T) {
	forChaos(t)
	t.Parallel()
	s := startServers(t)
	c := startCluster(t, same(s.url(), 2)...)
	began := time.Now()
	weather(t, c, rate(30), func(h *History) {
		for _, f := range serverFaults {
			pause(2 * time.Second)
			s.suffer(c, h, f)
		}
	})
	t.Logf("all took %s", time.Since(began).Round(time.Second))
}

// servers are three PostgreSQL servers under Patroni and the network around them.
type servers struct {
	*pgtest.Patroni
	t   *testing.T
	all []*server
}

// server is one of them.
type server struct {
	*pgtest.Member
	links   map[pgtest.Link]*Proxy // to etcd and to other servers
	clients *Proxy                 // from nodes
}

func startServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{t: t}
	for range 3 {
		s.all = append(s.all, &server{links: map[pgtest.Link]*Proxy{}})
	}
	s.Patroni = pgtest.StartPatroni(t, len(s.all), func(member int, link pgtest.Link, address string) int {
		proxy := startProxy(t, address)
		s.all[member].links[link] = proxy
		return proxy.Port
	})
	for i, one := range s.all {
		one.Member = s.Members[i]
		one.clients = startProxy(t, fmt.Sprintf("127.0.0.1:%d", one.Port))
	}
	return s
}

// url names all servers, so that nodes find the primary by themselves.
func (s *servers) url() string {
	var hosts []string
	for _, one := range s.all {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", one.clients.Port))
	}
	return "postgres://postgres@" + strings.Join(hosts, ",") + "/postgres?target_session_attrs=read-write"
}

// awaitPrimary returns the primary, which is another one than old.
func (s *servers) awaitPrimary(old *server) (found *server) {
	s.t.Helper()
	harness.Eventually(s.t, 90*time.Second, "a primary", func() bool {
		for _, one := range s.all {
			if one != old && one.IsPrimary() {
				found = one
			}
		}
		return found != nil
	})
	return found
}

// serverFault takes the primary away and brings it back after another one has taken
// over.
type serverFault struct {
	name       string
	make, mend func(*servers, *server) error
}

var serverFaults = []serverFault{
	{"switched over", func(s *servers, _ *server) error { return s.Switchover() }, func(*servers, *server) error { return nil }},
	{"killed", func(_ *servers, one *server) error { one.Kill(); return nil }, func(_ *servers, one *server) error { return one.Run() }},
	{"cut off", func(_ *servers, one *server) error { return one.set(halfOpen, true) },
		func(_ *servers, one *server) error { return one.set(passing, true) }},
	{"cut off from servers", func(_ *servers, one *server) error { return one.set(halfOpen, false) },
		func(_ *servers, one *server) error { return one.set(passing, false) }},
	{"without Patroni", func(_ *servers, one *server) error { one.KillPatroni(); return nil },
		func(_ *servers, one *server) error { return one.Run() }},
}

// set changes the network between a server, others and etcd, and between it and
// nodes.
func (one *server) set(m mode, clients bool) error {
	for _, proxy := range one.links {
		proxy.set(m, 0)
	}
	if clients {
		one.clients.set(m, 0)
	}
	return nil
}

// suffer makes a fault, waits until nodes serve calls again, and mends it.
func (s *servers) suffer(c *Cluster, h *History, f serverFault) {
	old := s.awaitPrimary(nil)
	began := time.Now()
	h.fault(Database, "the primary", func() {
		if err := f.make(s, old); err != nil {
			s.t.Errorf("%s: %v", f.name, err)
		}
		s.awaitPrimary(old)
		s.t.Logf("%s: another primary after %s", f.name, time.Since(began).Round(time.Millisecond))
		for _, n := range c.Nodes {
			n.awaitReady(s.t, c, 60*time.Second)
		}
		s.t.Logf("%s: the nodes were ready after %s", f.name, time.Since(began).Round(time.Millisecond))
	})
	pause(2 * time.Second)
	if err := f.mend(s, old); err != nil {
		s.t.Errorf("%s: %v", f.name, err)
	}
	if err := s.AwaitWhole(90 * time.Second); err != nil {
		s.t.Error(err)
	}
	s.t.Logf("%s: all servers ran after %s", f.name, time.Since(began).Round(time.Millisecond))
	var acks, hits []time.Time
	h.note(func() {
		for _, created := range h.Created {
			acks = append(acks, created.Acked)
		}
	})
	for _, hit := range c.Target.Hits() {
		hits = append(hits, hit.At)
	}
	s.t.Logf("%s: creates %s; requests %s", f.name, outage(acks, began), outage(hits, began))
}

// outage describes the longest time without an event after a moment.
func outage(events []time.Time, from time.Time) string {
	slices.SortFunc(events, time.Time.Compare)
	last, longest, end := from, time.Duration(0), from
	for _, at := range events {
		if at.Before(from) {
			continue
		}
		if lasted := at.Sub(last); lasted > longest {
			longest, end = lasted, at
		}
		last = at
	}
	return fmt.Sprintf("paused for %s and went on after %s", longest.Round(time.Millisecond), end.Sub(from).Round(time.Millisecond))
}
