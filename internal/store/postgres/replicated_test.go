package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// impatient cancels commits that wait for a standby, until the test calls stop.
func impatient(c *cluster, url string) (stop func()) {
	conn, err := pgx.Connect(c.Context(), url)
	c.ok(err)
	ctx, cancel := context.WithCancel(c.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for ctx.Err() == nil {
			_, err := conn.Exec(c.Context(), `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
			if err != nil {
				c.Error(err)
				return
			}
			<-time.After(50 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		work.Wait()
		c.ok(conn.Close(c.Context()))
	}
}

// TestReplicated_NothingIsAcknowledgedThatNoStandbyHas creates a job while the standby
// is away, and asks again with its key. The primary has stored it and shows it to
// others from the moment the wait for the standby is cancelled.
func TestReplicated_NothingIsAcknowledgedThatNoStandbyHas(t *testing.T) {
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	c := nodes(t, primary.URL("postgres"), 1)
	c.ok(standby.Kill())
	create := func() ([]store.Inserted, error) {
		j := c.job(c.stores[0], c.stores[0].Now().Add(time.Hour))
		j.Key = new("a key")
		return c.stores[0].JobInsertMany(t.Context(), []store.NewJob{{Job: j}})
	}
	stop := impatient(c, primary.URL("postgres"))
	for _, what := range []string{"a create", "another one with the same key"} {
		if _, err := create(); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s returned %v, want a fault that asks to look or to retry", what, err)
		}
	}
	stop()
	c.ok(standby.Run())
	inserted, err := create()
	c.ok(err)
	if !inserted[0].Conflict {
		t.Error("the first create did not store the job; the test tests nothing")
	}
}
