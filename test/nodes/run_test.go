package nodes

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// Many calls make a run of a schedule due now at the same time, and each locks it. The
// request leaves while they go on; it does not wait for the next scan of the queue.
func TestRun_RequestLeavesAtOnceHoweverManyCall(t *testing.T) {
	t.Parallel()
	runAtOnce(t, startCluster(t, pgtest.URL(t)))
}

func TestRun_RequestLeavesAtOnceHoweverManyCallOnSQLite(t *testing.T) {
	t.Parallel()
	runAtOnce(t, startCluster(t, harness.NewDatabase(t)))
}

func runAtOnce(t *testing.T, c *Cluster) {
	const rounds, callers = 12, 40
	var waits, behind []time.Duration
	began := time.Now()
	for range rounds {
		schedule := *c.create(t, c.Nodes[0], `"schedule_in":3600,"repeat_every":3600`).Schedule
		seen := len(c.Target.Hits())
		var mu sync.Mutex
		var first, last time.Time
		var calls sync.WaitGroup
		gate := make(chan struct{})
		for i := range callers {
			calls.Go(func() {
				<-gate
				a, err := c.call(context.Background(), c.Nodes[i%len(c.Nodes)], http.MethodPost, "/api/schedules/"+schedule+"/run", "")
				now := time.Now()
				switch {
				case err != nil:
					t.Errorf("run: %v", err)
				case a.status/100 != 2 && a.status != http.StatusConflict &&
					a.status != http.StatusServiceUnavailable: // it is under way, or the machine busy
					t.Errorf("run: %d: %s", a.status, a.body)
				}
				mu.Lock()
				defer mu.Unlock()
				if first.IsZero() {
					first = now
				}
				last = now
			})
		}
		close(gate)
		calls.Wait()
		hits := c.Target.Await(t, seen+1, 20*time.Second)
		waits = append(waits, max(0, hits[seen].At.Sub(first)))
		behind = append(behind, max(0, hits[seen].At.Sub(last)))
	}
	slices.Sort(waits)
	slices.Sort(behind)
	t.Logf("from the first response to the request: median %s, longest %s", waits[rounds/2], waits[rounds-1])
	// Between two scans lies a second. On a busy machine the calls themselves take as long.
	if behind[rounds*3/4] > harness.Allowed(400*time.Millisecond, began) {
		t.Errorf("the requests left %v after the first response, %v after the last", waits, behind)
	}
}
