package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// rows returns the numbers of nodes with a row, those with a lock only if locked.
func (c *cluster) rows(locked bool) []int64 {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.url)
	c.ok(err)
	defer func() { _ = conn.Close(c.Context()) }()
	rows, err := conn.Query(c.Context(), `SELECT number FROM nodes WHERE session IS NOT NULL OR NOT $1 ORDER BY number`, locked)
	c.ok(err)
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	c.ok(err)
	return numbers
}

// locks waits until all nodes hold their locks, and their rows say so.
func (c *cluster) locks() {
	c.Helper()
	c.within(20*time.Second, "the nodes to hold their locks", func() bool {
		return c.holders(`pid`) == len(c.nodes) && slices.Equal(c.rows(true), c.nodes)
	})
}

// disconnect ends the connections that hold locks, as an operator or a firewall does,
// and waits for their end.
func (c *cluster) disconnect() int {
	c.Helper()
	return c.holders(`pg_terminate_backend(pid, 20000)`)
}

// holders counts the connections that hold locks, and evaluates an expression for each.
func (c *cluster) holders(expression string) (n int) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.url)
	c.ok(err)
	defer func() { _ = conn.Close(c.Context()) }()
	c.ok(conn.QueryRow(c.Context(), `SELECT count(`+expression+`) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE l.locktype = 'advisory' AND d.datname = current_database() AND l.objsubid = 2 AND l.granted`).Scan(&n))
	return n
}

func TestPresence_ClaimsOfAnEndedProcessAreAbandonedAtOnce(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if !c.claim(0, j, 1) {
		t.Fatal("the item was not claimed")
	}
	c.locks()
	c.ok(c.stores[0].Close()) // without NodeStop, as when it is killed
	select {
	case <-c.stores[1].Expired():
	case <-time.After(pace.Guard(20 * time.Second)):
		t.Fatal("the lease did not expire")
	}
	found, err := c.stores[1].QueueAbandoned(t.Context(), 10)
	c.ok(err)
	if len(found) != 1 || found[0].Number != j.Number || found[0].Node != c.nodes[0] {
		t.Errorf("abandoned are %+v", found)
	}
	if rows := c.rows(false); !slices.Equal(rows, c.nodes[1:]) {
		t.Errorf("there are nodes %v, expected %v", rows, c.nodes[1:])
	}
}

func TestPresence_ANodeThatIsDisconnectedKeepsItsLease(t *testing.T) {
	c := nodes(t, migrated(t), 2)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if !c.claim(0, j, 1) {
		t.Fatal("the item was not claimed")
	}
	for range 3 {
		c.locks()
		if n := c.disconnect(); n != 2 {
			t.Fatalf("%d connections held locks", n)
		}
		c.within(20*time.Second, "the nodes to rely on their leases", func() bool {
			return c.stores[0].NodeHoldsLease(c.nodes[0]) && c.stores[1].NodeHoldsLease(c.nodes[1])
		})
	}
	c.locks()
	if !c.ends(0, c.nodes[0], j, 1) {
		t.Error("the attempt that was under way could not be ended")
	}
}

// A restart of the server ends all locks, and nobody's process has ended.
func TestPresence_ARestartedServerExpiresNobody(t *testing.T) {
	server := pgtest.Start(t)
	c := nodes(t, server.URL("postgres"), 2)
	c.locks()
	c.ok(server.Restart())
	c.recovers()
	c.locks()
	for i, s := range c.stores {
		beat, err := s.NodeHeartbeat(t.Context(), c.nodes[i])
		if err != nil || beat.LeaseExpired {
			t.Errorf("node %d: %+v, %v", i, beat, err)
		}
	}
}

// A process whose lease has expired registers again, and keeps its connection.
func TestPresence_ANewNodeOfTheSameProcessIsLockedToo(t *testing.T) {
	c := nodes(t, migrated(t), 1)
	c.locks()
	silent, err := c.stores[0].NodeStart(t.Context()) // its lock is taken at the next notice
	c.ok(err)
	c.nodes = []int64{silent}
	c.within(20*time.Second, "the new node to hold its lock", func() bool { return slices.Contains(c.rows(true), silent) })
	if !c.stores[0].NodeHoldsLease(silent) {
		t.Error("the new node does not rely on its lease")
	}
}

func TestPresence_PoolersTellNothing(t *testing.T) {
	url := migrated(t)
	c := nodes(t, pgtest.StartBouncer(t, url).Through(url), 2)
	c.url = url
	for i, s := range c.stores {
		if beat, err := s.NodeHeartbeat(t.Context(), c.nodes[i]); err != nil || beat.LeaseExpired {
			t.Errorf("node %d: %+v, %v", i, beat, err)
		}
	}
	if rows := c.rows(true); len(rows) != 0 {
		t.Errorf("nodes %v hold locks behind a pooler", rows)
	}
	c.ok(c.stores[0].NodeStop(t.Context(), c.nodes[0]))
	if rows := c.rows(false); !slices.Equal(rows, c.nodes[1:]) {
		t.Errorf("there are nodes %v", rows)
	}
}
