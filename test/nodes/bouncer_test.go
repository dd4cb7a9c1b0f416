package nodes

import (
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
	const jobs = 60
	made := 0
	inTime(t, "lateness behind a pooler", 250*time.Millisecond, func() []time.Duration {
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
		made += jobs
		var late []time.Duration
		for _, hit := range c.Target.AwaitEnds(t, made, 30*time.Second)[made-jobs:] {
			late = append(late, hit.At.Sub(due[hit.Header.Get("X-Punctual-Job-Id")]))
		}
		return late
	})
}

// TestPooler_KilledNodeLosesNothing is a small storm behind a pooler. Of one node,
// TestSuite_PassesBehindAPooler shows the same.
func TestPooler_KilledNodeLosesNothing(t *testing.T) {
	forChaos(t)
	t.Parallel()
	database := pgtest.URL(t)
	bouncer := pgtest.StartBouncer(t, database)
	c := startCluster(t, same(bouncer.Through(database), 2)...)
	weather(t, c, rate(30), func(h *History) {
		pause(3 * time.Second)
		c.Nodes[1].crash(h, t, time.Second)
		c.Nodes[1].awaitReady(t, c, 20*time.Second)
	})
}
