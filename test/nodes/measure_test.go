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
		used := after.since(before)
		t.Logf("%d nodes: %d jobs in %s, %.0f jobs/s created and run; CPU seconds: nodes %.1f, PostgreSQL %.1f, of %.1f there were",
			nodes, created, took.Round(time.Millisecond), float64(created)/took.Seconds(), used.nodes, used.postgres, 2*took.Seconds())
		jobs := float64(created)
		t.Logf("%.0f commits/s, %.1f commits a job, %.1f KB of WAL a job, %.1f KB of tables and indexes a job",
			used.commits/took.Seconds(), used.commits/jobs, used.logged/jobs/1e3, used.stored/jobs/1e3)
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
// a steady rate: with what the nodes cost when nothing is due, and without. It prints the
// tables of docs/performance.md.
func TestMeasure_CostAt100JobsASecond(t *testing.T) {
	measuring(t)
	var one cost
	load := "| nodes | PostgreSQL's CPU a job | without that of idle nodes | nodes' CPU a job | statements a job | transactions a job |\n" +
		"|---|---|---|---|---|---|\n"
	idle := "| nodes, idle | PostgreSQL's CPU, each | node's CPU, each | statements/s, each | connections, each |\n|---|---|---|---|---|\n"
	for _, nodes := range []int{1, 2, 4, 8} {
		c := costOf(t, nodes)
		if nodes == 1 {
			one = c
		}
		n := float64(nodes)
		load += fmt.Sprintf("| %d | %.2f ms = %.2f × | %.2f ms = %.2f × | %.2f ms | %.1f | %.1f |\n",
			nodes, c.whole, c.whole/one.whole, c.own, c.own/one.own, c.nodes, c.statements, c.commits)
		idle += fmt.Sprintf("| %d | %.1f ms/s | %.1f ms/s | %.0f | %.1f |\n",
			nodes, c.idle.postgres/n*1e3, c.idle.nodes/n*1e3, c.idle.statements/n, c.connections/n)
		t.Logf("%d nodes:\n%s\n%s", nodes, load, idle) // so that a run that is ended early has printed some
	}
}

// cost is what a job costs at a steady rate, and what nodes use when nothing is due.
type cost struct {
	whole, own, nodes   float64 // ms of CPU a job
	commits, statements float64 // a job
	idle                usages  // a second, of all nodes together
	connections         float64 // of all nodes together
}

// costOf measures a number of nodes on a server of their own.
func costOf(t *testing.T, nodes int) cost {
	t.Helper()
	const rate, lasts, idle = 100, 30 * time.Second, 15 * time.Second
	server := pgtest.Start(t, pgtest.Durable, "shared_preload_libraries = 'pg_stat_statements'")
	defer server.Remove()
	c := startCluster(t, same(server.URL("postgres"), nodes)...)
	defer func() {
		for _, n := range c.Nodes {
			n.Kill()
		}
	}()
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
	used, took := usage(t, c, server).since(before), time.Since(began)
	a := cost{
		whole: used.postgres / jobs * 1e3, nodes: used.nodes / jobs * 1e3, commits: used.commits / jobs, statements: used.statements / jobs,
		idle: before.since(still).by(1 / idle.Seconds()), connections: before.connections,
	}
	a.own = a.whole - a.idle.postgres*took.Seconds()/jobs*1e3
	return a
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

// usages are counters of the nodes and of PostgreSQL.
type usages struct {
	nodes, postgres     float64 // processor seconds
	commits, statements float64 // statements: 0 without pg_stat_statements
	logged, stored      float64 // bytes of the write-ahead log; of the tables of jobs and logs with their indexes
	connections         float64 // of nodes, now
}

// since returns what was used since an earlier look, with the later look's connections.
func (u usages) since(v usages) usages {
	return usages{u.nodes - v.nodes, u.postgres - v.postgres, u.commits - v.commits, u.statements - v.statements,
		u.logged - v.logged, u.stored - v.stored, u.connections}
}

// by returns counters multiplied by a factor.
func (u usages) by(f float64) usages {
	return usages{u.nodes * f, u.postgres * f, u.commits * f, u.statements * f, u.logged * f, u.stored * f, u.connections}
}

// usage reads the counters of the nodes and of PostgreSQL.
func usage(t *testing.T, c *Cluster, server *pgtest.Server) usages {
	t.Helper()
	var u usages
	for _, n := range c.Nodes {
		a, err := c.call(context.Background(), n, http.MethodGet, "/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(a.body)) {
			if value, found := strings.CutPrefix(line, "process_cpu_seconds_total "); found {
				var seconds float64
				_, _ = fmt.Sscan(value, &seconds) // 0 when it is none
				u.nodes += seconds
			}
		}
	}
	u.postgres = server.CPUSeconds()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }() // it was only read from
	err = conn.QueryRow(ctx, `SELECT (SELECT sum(xact_commit)::float8 FROM pg_stat_database), pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8,
		(SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class WHERE relname IN ('jobs', 'logs')),
		(SELECT count(*)::float8 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())`).Scan(
		&u.commits, &u.logged, &u.stored, &u.connections)
	if err != nil {
		t.Fatal(err)
	}
	u.statements = statements(ctx, t, conn)
	return u
}

// statements returns how many statements a server has executed, 0 if it doesn't count them.
func statements(ctx context.Context, t *testing.T, conn *pgx.Conn) (n float64) {
	t.Helper()
	var loaded bool
	err := conn.QueryRow(ctx, `SELECT current_setting('shared_preload_libraries') LIKE '%pg_stat_statements%'`).Scan(&loaded)
	if err == nil && loaded {
		if _, err = conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err == nil {
			err = conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements`).Scan(&n)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
