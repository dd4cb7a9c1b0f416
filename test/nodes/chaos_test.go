package nodes

import (
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestChaos_DyingNodesAndDatabaseRestartsLoseNothing keeps three nodes under a
// steady load while, at random, nodes are killed, stopped for twenty seconds or for a
// moment and continued, and PostgreSQL is restarted. In the load are jobs under limits,
// jobs that their target completes later, jobs that expire, and jobs whose ends
// alerts report.
func TestChaos_DyingNodesAndDatabaseRestartsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a minute")
	}
	rate, seconds := 50, 30
	if os.Getenv("PUNCTUAL_NODES_FULL") != "" {
		rate, seconds = 300, 120
	}
	rate, seconds = number("PUNCTUAL_NODES_RATE", rate), number("PUNCTUAL_NODES_SECONDS", seconds)
	random := seeded(t)
	server := pgtest.Start(t, pgtest.Durable)
	c := startClusterWith(t, []harness.Option{harness.Flag("public-url", publicURL)}, same(server.URL("postgres"), 3)...)
	mixedWeather(t, c, rate, func(h *History) {
		s := &storm{t: t, cluster: c, server: server, history: h, random: random}
		s.rage(time.Duration(seconds) * time.Second)
	})
}

// storm makes faults at random.
type storm struct {
	t       *testing.T
	cluster *Cluster
	server  *pgtest.Server
	history *History
	random  *rand.Rand
	work    sync.WaitGroup
}

// rage makes faults for a time, and returns when all is repaired. Each kind
// comes at least once: the first ones are a shuffled set of all.
func (s *storm) rage(lasts time.Duration) {
	makers := []func(){s.crash, s.freeze, s.restart, s.crash, s.stumble, s.stumble}
	s.random.Shuffle(len(makers), func(i, j int) { makers[i], makers[j] = makers[j], makers[i] })
	began := time.Now()
	for i := 0; time.Since(began) < lasts; i++ {
		pause(s.between(time.Second, 5*time.Second))
		if i < len(makers) {
			makers[i]()
		} else {
			makers[s.random.IntN(len(makers))]()
		}
	}
	s.work.Wait()
}

func (s *storm) between(least, most time.Duration) time.Duration {
	return least + time.Duration(s.random.Int64N(int64(most-least)))
}

// victim returns a node without a fault and marks it as faulty; nil if there is
// none.
func (s *storm) victim() *Node {
	for _, i := range s.random.Perm(len(s.cluster.Nodes)) {
		if n := s.cluster.Nodes[i]; n.busy.TryLock() {
			return n
		}
	}
	return nil
}

func (s *storm) crash() {
	if n := s.victim(); n != nil {
		down := s.between(100*time.Millisecond, 4*time.Second)
		s.work.Go(func() {
			defer n.busy.Unlock()
			n.crash(s.history, s.t, down)
		})
	}
}

func (s *storm) freeze() {
	if n := s.victim(); n != nil {
		s.work.Go(func() {
			defer n.busy.Unlock()
			n.freeze(s.history, s.t, 20*time.Second)
		})
	}
}

// stumble stops a node for so short a time that it keeps its lease, and with it what it
// has claimed.
func (s *storm) stumble() {
	if n := s.victim(); n != nil {
		still := s.between(300*time.Millisecond, 3*time.Second)
		s.work.Go(func() {
			defer n.busy.Unlock()
			n.freeze(s.history, s.t, still)
		})
	}
}

// restart restarts the database, in order or as after a power cut.
func (s *storm) restart() {
	end, down := s.server.Stop, s.between(0, 2*time.Second)
	if s.random.IntN(2) == 0 {
		end = s.server.Kill
	}
	s.history.fault(Database, "PostgreSQL", func() {
		if err := end(); err != nil {
			s.t.Errorf("ending PostgreSQL: %v", err)
		}
		pause(down)
		if err := s.server.Run(); err != nil {
			s.t.Errorf("starting PostgreSQL: %v", err)
		}
	})
}
