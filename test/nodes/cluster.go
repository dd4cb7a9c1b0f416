package nodes

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// publicURL is the address that nodes give targets to report at.
const publicURL = "https://punctual.example.com"

// Cluster is some nodes on one database, with an account on it.
type Cluster struct {
	Nodes []*Node
	Key   string

	t      testing.TB
	Target *harness.Route
	http   *http.Client
}

// Node is one of them.
type Node struct {
	*harness.Service
	Name string

	busy  sync.Mutex   // held by what is breaking or mending it
	calls atomic.Int64 // of clients, under way

	mu      sync.Mutex
	suspect time.Time // clients turn elsewhere until then
}

// startCluster runs one node for each URL, all of one database, and creates an
// account.
func startCluster(t testing.TB, databaseURLs ...string) *Cluster {
	t.Helper()
	return startClusterWith(t, nil, databaseURLs...)
}

// startClusterWith is startCluster with options for every node.
func startClusterWith(t testing.TB, opts []harness.Option, databaseURLs ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t, Target: harness.SharedTarget(t).Route(t), http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: harness.IdleFor}, Timeout: pace.Guard(30 * time.Second),
	}}
	for i, url := range databaseURLs {
		s := harness.Start(t, append(slices.Clone(opts), harness.Database(url))...)
		c.Nodes = append(c.Nodes, &Node{Service: s, Name: fmt.Sprintf("node %d", i+1)})
	}
	c.Key = c.Nodes[0].Account(t).Key
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// same repeats a URL for n nodes.
func same(databaseURL string, n int) []string {
	urls := make([]string, n)
	for i := range urls {
		urls[i] = databaseURL
	}
	return urls
}

// avoid has clients turn elsewhere for a while, as a load balancer would.
func (n *Node) avoid(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.suspect = time.Now().Add(d)
}

func (n *Node) avoided() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.suspect)
}

// pick returns the node with the fewest calls under way of those that clients don't
// avoid, or of all if they avoid all: so a node that does not respond holds up few
// calls.
func (c *Cluster) pick() *Node {
	var best *Node
	first := rand.IntN(len(c.Nodes))
	for i := range c.Nodes {
		n := c.Nodes[(first+i)%len(c.Nodes)]
		if best == nil || best.avoided() && !n.avoided() || best.avoided() == n.avoided() && n.calls.Load() < best.calls.Load() {
			best = n
		}
	}
	return best
}

// bringUp starts a node, however long its database takes to come back.
func (n *Node) bringUp(t testing.TB) {
	var err error
	if !harness.Within(90*time.Second, func() bool { err = n.Run(); return err == nil }) {
		t.Errorf("%s did not start again: %v", n.Name, err)
	}
}

// crash kills a node and starts it again after a while.
func (n *Node) crash(h *History, t testing.TB, down time.Duration) {
	h.fault(Killed, n.Name, n.Kill)
	pause(down)
	n.bringUp(t)
}

// freeze stops a node with SIGSTOP and continues it after a while.
func (n *Node) freeze(h *History, t testing.TB, still time.Duration) {
	h.fault(Paused, n.Name, func() {
		if err := n.Signal(syscall.SIGSTOP); err != nil {
			t.Errorf("stopping %s: %v", n.Name, err)
		}
		pause(still)
		if err := n.Signal(syscall.SIGCONT); err != nil {
			t.Errorf("continuing %s: %v", n.Name, err)
		}
	})
}

// pause waits: for the length of a fault, and between two.
func pause(d time.Duration) { <-time.After(d) }

// rate returns the rate of a load in jobs per second: half the full one, unless everything
// is asked for.
func rate(full int) int {
	if os.Getenv("PUNCTUAL_NODES_FULL") == "" {
		full /= 2
	}
	return number("PUNCTUAL_NODES_RATE", full)
}

// forChaos skips a test unless everything is asked for, as `make chaos` does.
func forChaos(t *testing.T) {
	t.Helper()
	if os.Getenv("PUNCTUAL_NODES_FULL") == "" {
		t.Skip("takes a minute of processor time: make chaos runs it")
	}
}

// number reads a number from the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// seeded returns a source of random numbers and prints its seed.
func seeded(t testing.TB) *rand.Rand {
	seed, err := strconv.ParseUint(os.Getenv("PUNCTUAL_NODES_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	fmt.Printf("%s: PUNCTUAL_NODES_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 0))
}
