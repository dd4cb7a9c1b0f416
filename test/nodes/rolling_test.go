package nodes

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestRollingRestart_LosesDelaysAndRepeatsNothing ends three nodes with SIGTERM
// under load, one after the other, and restarts each.
func TestRollingRestart_LosesDelaysAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	c := startCluster(t, same(pgtest.URL(t), 3)...)
	c.steady(t)
	began := time.Now()
	report := weather(t, c, rate(40), func(*History) {
		for _, n := range c.Nodes {
			pause(2 * time.Second)
			n.avoid(5 * time.Second) // as a load balancer is told before
			if code := n.Stop(); code != 0 {
				t.Errorf("%s ended with status %d", n.Name, code)
			}
			n.bringUp(t)
			n.awaitReady(t, c, 20*time.Second)
		}
	})
	if report.Repeated > 0 {
		t.Errorf("%d requests were repeated", report.Repeated)
	}
	// About a second is promised. What is not handed over waits until the node's lease
	// expires, after 15 seconds.
	if most, allowed := quantile(report.Late, 1), harness.Allowed(10*time.Second, began); most > allowed {
		t.Errorf("a job came %s late, allowed are %s", most, allowed)
	}
}
