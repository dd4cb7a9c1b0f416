package nodes

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestFailover_ToASynchronousStandbyLosesNothing kills the primary under load
// and promotes its standby. The nodes' URL names both servers, so they find the
// new primary by themselves.
func TestFailover_ToASynchronousStandbyLosesNothing(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write", primary.Port, standby.Port)
	c := startCluster(t, same(url, 2)...)
	weather(t, c, rate(40), func(h *History) {
		pause(4 * time.Second)
		h.fault(Database, "the primary", func() {
			if err := primary.Kill(); err != nil {
				t.Error(err)
			}
			pause(2 * time.Second) // until somebody decides that it is gone
			if err := standby.Promote(); err != nil {
				t.Error(err)
			}
		})
		promoted := time.Now()
		for _, n := range c.Nodes {
			n.awaitReady(t, c, 30*time.Second)
			t.Logf("%s was ready %s after the promotion", n.Name, time.Since(promoted).Round(time.Millisecond))
		}
	})
}
