package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// refused waits until calls are refused, and verifies that each returns soon.
func (c *cluster) refused(limit time.Duration) {
	c.Helper()
	c.soon(limit, "calls to be refused", func() bool {
		start := time.Now()
		_, err := c.stores[0].JobInsertMany(c.Context(), []store.NewJob{{Job: c.job(c.stores[0], c.stores[0].Now().Add(time.Hour))}})
		c.inTime(start, 4*time.Second, "a create to return")
		if err != nil && fault.CodeOf(err) != fault.Unavailable {
			c.Errorf("a create returned %v, want a fault that asks to retry", err)
		}
		return err != nil
	})
	start := time.Now()
	if _, err := c.stores[0].JobGet(c.Context(), c.owner, job.Ref{Number: 1}); fault.CodeOf(err) != fault.Unavailable {
		c.Errorf("a read returned %v, want a fault that asks to retry", err)
	}
	c.inTime(start, time.Second, "a read to be refused")
}

// recovers waits until calls succeed again.
func (c *cluster) recovers() {
	c.Helper()
	c.within(20*time.Second, "the store to recover", func() bool {
		_, err := c.stores[0].JobInsertMany(c.Context(), []store.NewJob{{Job: c.job(c.stores[0], c.stores[0].Now().Add(time.Hour))}})
		return err == nil
	})
}

func TestOutage_SilentServer(t *testing.T) {
	server := pgtest.Start(t)
	c := nodes(t, server.URL("postgres"), 1)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if !c.claim(0, j, 1) {
		t.Fatal("the item was not claimed")
	}
	server.Pause()
	lost := make(chan error, 1)
	go func() {
		_, err := c.stores[0].JobGet(c.Context(), c.owner, job.Ref{Number: j.Number})
		lost <- err
	}()
	c.refused(5 * time.Second)
	if err := <-lost; fault.CodeOf(err) != fault.Unavailable || errors.Is(err, context.Canceled) {
		t.Errorf("a read under way returned %v, want that the database does not respond", err)
	}
	server.Resume()
	c.recovers()
	if !c.ends(0, c.nodes[0], j, 1) {
		t.Error("the attempt that was under way could not be ended")
	}
}

func TestOutage_CrashedServerLosesNothing(t *testing.T) {
	server := pgtest.Start(t)
	c := nodes(t, server.URL("postgres"), 1)
	j := c.insert(c.stores[0], c.stores[0].Now())
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	c.refused(5 * time.Second)
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	c.recovers()
	if _, err := c.stores[0].JobGet(t.Context(), c.owner, job.Ref{Number: j.Number}); err != nil {
		t.Errorf("a job that was stored is gone: %v", err)
	}
}

// A server so busy that new connections respond after 1.5 s only, which is longer than
// a probe of a server that is up may take.
func TestOutage_ServerWithSlowConnectionsComesBack(t *testing.T) {
	server := pgtest.Start(t)
	c := nodes(t, server.URL("postgres"), 1)
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	c.ok(err)
	_, err = conn.Exec(t.Context(), `CREATE SCHEMA slow;
		CREATE FUNCTION slow.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()) > pg_catalog.clock_timestamp() - interval '1 second' THEN
				PERFORM pg_sleep(1.5);
			END IF;
			RETURN pg_catalog.clock_timestamp();
		END $$;
		ALTER DATABASE postgres SET search_path = slow, pg_catalog, public`)
	c.ok(err)
	c.ok(conn.Close(t.Context()))
	c.ok(server.Kill())
	c.refused(5 * time.Second)
	c.ok(server.Run())
	c.recovers()
}

func TestOutage_PromotedStandbyIsFound(t *testing.T) {
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write", standby.Port, primary.Port)
	c := nodes(t, url, 1)
	var stored []int64
	for range 20 {
		stored = append(stored, c.insert(c.stores[0], c.stores[0].Now()).Number)
	}
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	c.recovers()
	for _, number := range stored {
		if _, err := c.stores[0].JobGet(t.Context(), c.owner, job.Ref{Number: number}); err != nil {
			t.Errorf("job %d, which was stored, is gone: %v", number, err)
		}
	}
}

// TestOutage_StandbyIsFoundBehindASilentHost has a host first in the URL that accepts
// connections and says nothing, as one does whose machine is cut off.
func TestOutage_StandbyIsFoundBehindASilentHost(t *testing.T) {
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	url := fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres", primary.Port, standby.Port)
	c := nodes(t, url, 1)
	j := c.insert(c.stores[0], c.stores[0].Now())
	primary.Pause()
	defer primary.Resume() // closing a connection to it would take long
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	c.recovers()
	_, err := c.stores[0].NodeHeartbeat(t.Context(), c.nodes[0])
	c.ok(err)
	_, err = c.stores[0].JobGet(t.Context(), c.owner, job.Ref{Number: j.Number})
	c.ok(err)
	c.ok(open(t, url).Close())
}

// TestOutage_ReplacedPrimaryIsLeft promotes the standby of a primary that goes on as
// if it had not been replaced: it answers reads, and its commits wait for a standby
// for good.
func TestOutage_ReplacedPrimaryIsLeft(t *testing.T) {
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	c := nodes(t, fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres", primary.Port, standby.Port), 1)
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	var beat store.Heartbeat
	c.within(20*time.Second, "a heartbeat to succeed", func() (ok bool) {
		var err error
		beat, err = c.stores[0].NodeHeartbeat(t.Context(), c.nodes[0])
		return err == nil
	})
	if beat.LeaseExpired {
		t.Error("the lease of the node has expired")
	}
	number := c.insert(c.stores[0], c.stores[0].Now()).Number
	conn, err := pgx.Connect(t.Context(), standby.URL("postgres"))
	c.ok(err)
	c.ok(conn.QueryRow(t.Context(), `SELECT number FROM jobs WHERE number = $1`, number).Scan(&number))
	c.ok(conn.Close(t.Context()))
}

func TestPooler_InTransactionMode(t *testing.T) {
	url := migrated(t)
	c := hearers(t, pgtest.StartBouncer(t, url).Through(url))
	for i, s := range c.stores {
		if beat, err := s.NodeHeartbeat(t.Context(), c.nodes[i]); err != nil || !beat.NotificationsDown {
			t.Errorf("node %d got %+v (%v), want notifications down", i, beat, err)
		}
	}
	for range 3 {
		j := c.insert(c.stores[1], c.stores[1].Now())
		if !c.claim(0, j, 1) {
			t.Fatal("the item was not claimed")
		}
		_, err := c.stores[1].JobChange(t.Context(), c.owner, job.Ref{Number: j.Number}, cancel)
		c.ok(err)
		c.within(0, "the cancel to be found", func() bool { return c.heard[0].cancel() == j.Number })
		held, err := c.stores[0].QueueHeld(t.Context(), c.nodes[0], []store.Claim{claimOf(j, 1)})
		if err != nil || held[0] != store.NotHeld {
			t.Errorf("an ended item is held: %v (%v)", held, err)
		}
	}
	before := c.heard[0].count()
	c.within(0, "the queue to be scanned again", func() bool { return c.heard[0].count() > before+2 })
}

func TestOpen_ExplainsUnreachableDatabases(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://user:secret@127.0.0.1:1/x?connect_timeout=1": "can't be reached",
		"postgres://user:secret@%zz/x":                           "can't be read",
		"postgres://user:secret@127.0.0.1/x?sslmode=what":        "can't be read",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), pace.Limit(2*time.Second))
		err := tryOpen(ctx, url)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want that it %s, without the password", url, err, want)
		}
	}
}

func TestPing_FailsForAReadOnlyServer(t *testing.T) {
	server := pgtest.Start(t)
	c := nodes(t, server.URL("postgres"), 1)
	c.ok(c.stores[0].Ping(t.Context()))
	c.ok(server.Exec(`ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`))
	c.within(10*time.Second, "the ping to fail", func() bool {
		err := c.stores[0].Ping(t.Context())
		if err != nil && fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("the ping returned %v, want a fault that asks to retry", err)
		}
		return err != nil
	})
	c.ok(server.Exec(`SET default_transaction_read_only = off`, `ALTER SYSTEM RESET default_transaction_read_only`,
		`SELECT pg_reload_conf()`))
	c.within(20*time.Second, "the ping to go well again", func() bool {
		return c.stores[0].Ping(t.Context()) == nil
	})
}
