package nodes

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// The figures of docs/guides/scale.md come from here. They are worth something
// on a machine that does nothing else:
//
//	PUNCTUAL_NODES_MEASURE=1 go test ./test/nodes -run TestMeasure -v -timeout 20m
func measuring(t *testing.T) {
	t.Helper()
	if os.Getenv("PUNCTUAL_NODES_MEASURE") == "" {
		t.Skip("PUNCTUAL_NODES_MEASURE is not set")
	}
}

// plain responds at once and keeps no records, so that the target costs little.
func plain(n *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.WriteHeader(http.StatusOK)
	})
}

// TestMeasure_Throughput creates jobs that are due at once through 64 clients,
// as fast as the nodes accept them, and counts those that have run.
func TestMeasure_Throughput(t *testing.T) {
	measuring(t)
	for _, nodes := range []int{1, 2, 3} {
		server := pgtest.Start(t, pgtest.Durable)
		c := startCluster(t, same(server.URL("postgres"), nodes)...)
		var ran atomic.Int64
		target := harness.BareTarget(t, plain(&ran))
		c.steady(t)
		before := usage(t, c, server)
		const lasts = 15 * time.Second
		began := time.Now()
		created := c.flood(t, target, lasts)
		harness.Eventually(t, time.Minute, "all jobs to run", func() bool { return ran.Load() >= created })
		took := time.Since(began)
		after := usage(t, c, server)
		t.Logf("%d nodes: %d jobs in %s, %.0f jobs/s created and run; CPU seconds: nodes %.1f, PostgreSQL %.1f, of %.1f there were",
			nodes, created, took.Round(time.Millisecond), float64(created)/took.Seconds(), after[0]-before[0], after[1]-before[1],
			2*took.Seconds())
		jobs := float64(created)
		t.Logf("%.0f commits/s, %.1f commits a job, %.1f KB of WAL a job, %.1f KB of tables and indexes a job",
			(after[2]-before[2])/took.Seconds(), (after[2]-before[2])/jobs, (after[3]-before[3])/jobs/1e3, (after[4]-before[4])/jobs/1e3)
		for _, n := range c.Nodes {
			n.Kill()
		}
		server.Remove()
	}
}

// flood creates jobs that are due at once for a time, and returns their number.
func (c *Cluster) flood(t *testing.T, target string, lasts time.Duration) int64 {
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	var created atomic.Int64
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() {
			for ctx.Err() == nil {
				a, err := c.call(context.Background(), c.Nodes[i%len(c.Nodes)], http.MethodPost, "/api/jobs", `{"url":"`+target+`"}`)
				if err != nil || a.status != http.StatusCreated {
					t.Errorf("creating a job: %v %+v", err, a)
					return
				}
				created.Add(1)
			}
		})
	}
	clients.Wait()
	return created.Load()
}

// TestMeasure_LatenessAt200JobsASecond spreads jobs over 20 seconds.
func TestMeasure_LatenessAt200JobsASecond(t *testing.T) {
	measuring(t)
	for _, nodes := range []int{1, 3} {
		c := startCluster(t, same(pgtest.Start(t, pgtest.Durable).URL("postgres"), nodes)...)
		c.steady(t)
		const rate, seconds = 200, 20
		ticker := time.NewTicker(time.Second / rate)
		due := map[string]time.Time{}
		var mu sync.Mutex
		var callers sync.WaitGroup
		for i := range rate * seconds {
			<-ticker.C
			callers.Go(func() {
				job := c.create(t, c.Nodes[i%nodes], `"schedule_in":2`)
				mu.Lock()
				defer mu.Unlock()
				due[job.id()] = job.Job.Scheduled
			})
		}
		ticker.Stop()
		callers.Wait()
		var late []time.Duration
		harness.Eventually(t, 30*time.Second, "all jobs to run", func() bool { return len(c.Target.Hits()) >= rate*seconds })
		for _, hit := range c.Target.Hits() {
			late = append(late, hit.At.Sub(due[hit.Header.Get("X-Punctual-Job-Id")]))
		}
		slices.Sort(late)
		t.Logf("%d nodes at %d jobs/s: lateness %s, p99.9 %s", nodes, rate, quantiles(late), quantile(late, 0.999))
		for _, n := range c.Nodes {
			n.Kill()
		}
	}
}

// TestMeasure_CostAt100JobsASecond compares what a job costs PostgreSQL with more nodes, at
// a steady rate: with what the nodes cost when nothing is due, and without.
func TestMeasure_CostAt100JobsASecond(t *testing.T) {
	measuring(t)
	const rate, lasts, idle = 100, 30 * time.Second, 15 * time.Second
	type cost struct{ whole, own, nodes, commits float64 } // ms of CPU a job; commits a job
	var one cost
	for _, nodes := range []int{1, 4, 8} {
		server := pgtest.Start(t, pgtest.Durable)
		c := startCluster(t, same(server.URL("postgres"), nodes)...)
		var ran atomic.Int64
		target := harness.BareTarget(t, plain(&ran))
		c.steady(t)
		c.constant(t, target, rate, 5*time.Second) // prepares statements
		harness.Eventually(t, time.Minute, "the first jobs to run", func() bool { return ran.Load() == rate*5 })
		<-time.After(time.Second)
		still := usage(t, c, server)
		<-time.After(idle)
		before := usage(t, c, server)
		began := time.Now()
		c.constant(t, target, rate, lasts)
		const jobs = rate * float64(lasts/time.Second)
		harness.Eventually(t, time.Minute, "all jobs to run", func() bool { return ran.Load() == rate*5+int64(jobs) })
		<-time.After(time.Second) // outcomes are stored
		after, took := usage(t, c, server), time.Since(began)
		perSecond := func(i int) float64 { return (before[i] - still[i]) / idle.Seconds() }
		a := cost{
			whole: (after[1] - before[1]) / jobs * 1e3, nodes: (after[0] - before[0]) / jobs * 1e3, commits: (after[2] - before[2]) / jobs,
			own: (after[1] - before[1] - perSecond(1)*took.Seconds()) / jobs * 1e3,
		}
		if nodes == 1 {
			one = a
		}
		t.Logf("%d nodes: PostgreSQL's CPU a job %.2f ms (%.2f of one node's), without what it needs when idle %.2f ms (%.2f); "+
			"nodes' CPU a job %.2f ms; %.1f commits a job; idle: PostgreSQL %.1f ms/s, nodes %.1f ms/s, %.0f commits/s",
			nodes, a.whole, a.whole/one.whole, a.own, a.own/one.own, a.nodes, a.commits, perSecond(1)*1e3, perSecond(0)*1e3, perSecond(2))
		for _, n := range c.Nodes {
			n.Kill()
		}
		server.Remove()
	}
}

// constant creates jobs that are due two seconds later, at a rate a second for a time, on
// all nodes in turn.
func (c *Cluster) constant(t *testing.T, target string, rate int, lasts time.Duration) {
	t.Helper()
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var callers sync.WaitGroup
	for i := range rate * int(lasts/time.Second) {
		<-ticker.C
		callers.Go(func() {
			a, err := c.call(context.Background(), c.Nodes[i%len(c.Nodes)], http.MethodPost, "/api/jobs", `{"url":"`+target+`","schedule_in":2}`)
			if err != nil || a.status != http.StatusCreated {
				t.Errorf("creating a job: %v %+v", err, a)
			}
		})
	}
	callers.Wait()
}

// usage returns the processor seconds used by the nodes and by PostgreSQL, its
// commits, the bytes it has logged and the size of jobs and logs.
func usage(t *testing.T, c *Cluster, server *pgtest.Server) [5]float64 {
	t.Helper()
	var u [5]float64
	for _, n := range c.Nodes {
		a, err := c.call(context.Background(), n, http.MethodGet, "/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(a.body)) {
			if value, found := strings.CutPrefix(line, "process_cpu_seconds_total "); found {
				var seconds float64
				_, _ = fmt.Sscan(value, &seconds) // 0 when it is none
				u[0] += seconds
			}
		}
	}
	u[1] = server.CPUSeconds()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // it was only read from
	err = conn.QueryRow(ctx, `SELECT (SELECT sum(xact_commit)::float8 FROM pg_stat_database), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8,
		(SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class WHERE relname IN ('jobs', 'logs'))`).Scan(&u[2], &u[3], &u[4])
	if err != nil {
		t.Fatal(err)
	}
	return u
}
