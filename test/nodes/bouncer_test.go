package nodes

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestPooler_JobsStartWithin250Milliseconds runs two nodes behind a PgBouncer
// that pools transactions, which does not forward notifications, at a light
// load.
func TestPooler_JobsStartWithin250Milliseconds(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	bouncer := pgtest.StartBouncer(t, database)
	c := startCluster(t, same(bouncer.Through(database), 2)...)
	c.steady(t)
	const jobs = 80
	due := map[string]time.Time{}
	var mu sync.Mutex
	var callers sync.WaitGroup
	for i := range jobs {
		pause(50 * time.Millisecond)
		callers.Go(func() {
			job := c.create(t, c.Nodes[i%2], `"schedule_in":0.05`)
			mu.Lock()
			defer mu.Unlock()
			due[job.id()] = job.Job.Scheduled
		})
	}
	callers.Wait()
	var late []time.Duration
	for _, hit := range c.Target.AwaitEnds(t, jobs, 20*time.Second) {
		late = append(late, hit.At.Sub(due[hit.Header.Get("X-Punctual-Job-Id")]))
	}
	slices.Sort(late)
	t.Logf("lateness behind a pooler: %s", quantiles(late))
	if late[0] < 0 {
		t.Errorf("a job came %s early", -late[0])
	}
	// Of what a busy machine adds, the median has least.
	if p50, p90 := quantile(late, 0.5), quantile(late, 0.9); p50 > 250*time.Millisecond || p90 > time.Second {
		t.Errorf("half of the jobs came up to %s late, nine in ten up to %s", p50, p90)
	}
}

// TestPooler_KilledNodeLosesNothing is a small storm behind a pooler.
func TestPooler_KilledNodeLosesNothing(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	bouncer := pgtest.StartBouncer(t, database)
	c := startCluster(t, same(bouncer.Through(database), 2)...)
	weather(t, c, number("PUNCTUAL_NODES_RATE", 30), func(h *History) {
		pause(3 * time.Second)
		c.Nodes[1].crash(h, t, time.Second)
		c.Nodes[1].awaitReady(t, c, 20*time.Second)
	})
}
