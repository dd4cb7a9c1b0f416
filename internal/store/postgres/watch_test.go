package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func TestPatient_CountsALateStepOnce(t *testing.T) {
	for name, c := range map[string]struct{ within, late, want time.Duration }{
		"in time":              {time.Second, 0, time.Second},
		"a process that waits": {time.Second, 2 * patienceStep, 3 * time.Second},
		"less than a step":     {time.Millisecond, 0, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := patient(t.Context(), c.within, func(d time.Duration) <-chan time.Time { return time.After(d + c.late) })
			defer cancel()
			<-ctx.Done()
			if took := time.Since(began); took != c.want || context.Cause(ctx) != errUnanswered {
				t.Errorf("%s: ended after %s with %v, want %s", name, took, context.Cause(ctx), c.want)
			}
		})
	}
}

func TestPatient_EndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := patient(t.Context(), time.Hour, time.After)
		cancel()
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("a call that has ended has the cause %v", context.Cause(ctx))
		}
	})
}

// TestContact_OverloadedServerIsNotSteady: other nodes' heartbeats may have no answer in
// time while a server is overloaded, so nobody expires their leases.
func TestContact_OverloadedServerIsNotSteady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newContact()
		time.Sleep(expireAfter)
		if !c.steady(expireAfter) {
			t.Fatal("a server that is up is not steady")
		}
		if c.overloaded(awake()) || !c.steady(expireAfter) {
			t.Error("a server that responded to no call is overloaded")
		}
		asked := awake()
		c.heard.Store(int64(asked + 1))
		if !c.overloaded(asked) || c.steady(expireAfter) {
			t.Error("a server that responded to another call is not overloaded, or steady")
		}
		time.Sleep(expireAfter)
		if !c.steady(expireAfter) {
			t.Error("a server that was overloaded is not steady later")
		}
		c.gone(errUnanswered)
		if c.overloaded(asked) {
			t.Error("a server that is down is overloaded")
		}
	})
}

// gate is time that passes when a test says so.
type gate struct {
	mu   sync.Mutex
	next chan time.Time
}

func (g *gate) after(time.Duration) <-chan time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next
}

// open ends all waits that have begun.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.next)
	g.next = make(chan time.Time)
}

// slowly starts a server whose probes wait while slow.switch is on, and returns it with a
// connection to it.
func slowly(t *testing.T) (*pgtest.Server, *pgx.Conn) {
	t.Helper()
	server := pgtest.Start(t)
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	_, err = conn.Exec(t.Context(), `CREATE SCHEMA slow;
		CREATE SEQUENCE slow.asked MINVALUE 0;
		SELECT nextval('slow.asked');
		CREATE TABLE slow.switch AS SELECT false AS is_on;
		CREATE FUNCTION slow.pg_is_in_recovery() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT is_on FROM slow.switch) THEN
				PERFORM nextval('slow.asked');
				PERFORM pg_sleep(3600);
			END IF;
			RETURN false;
		END $$;
		ALTER DATABASE postgres SET search_path = slow, pg_catalog, public`)
	if err != nil {
		t.Fatal(err)
	}
	return server, conn
}

// A server that is too busy to answer for some seconds doesn't end the service that starts.
func TestOpen_WaitsForABusyServer(t *testing.T) {
	server, conn := slowly(t)
	turn := func(on bool) {
		if _, err := conn.Exec(t.Context(), `UPDATE slow.switch SET is_on = $1`, on); err != nil {
			t.Fatal(err)
		}
	}
	turn(true)
	var busy atomic.Bool
	busy.Store(true)
	over := make(chan time.Time)
	close(over)
	told := 0
	s, err := Open(t.Context(), server.URL("postgres"), Options{
		Waiting: func(error) { told++; turn(false); busy.Store(false) },
		after: func(time.Duration) <-chan time.Time {
			if busy.Load() {
				return over
			}
			return nil
		},
	})
	if err != nil || told != 1 {
		t.Fatalf("opening: %v, told of waiting %d times, want once", err, told)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestWatch_ServerThatOnlyProbesWaitForIsUp has probes that the server does not answer in
// time while it answers other calls, as one does that has no processor for some.
func TestWatch_ServerThatOnlyProbesWaitForIsUp(t *testing.T) {
	server, conn := slowly(t)
	g := &gate{next: make(chan time.Time)}
	s, err := Open(t.Context(), server.URL("postgres"), Options{WriteWithin: pace.Guard(0), AnswerWithin: patienceStep, after: g.after})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err = conn.Exec(t.Context(), `UPDATE slow.switch SET is_on = true`); err != nil {
		t.Fatal(err)
	}
	asked := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(pace.Guard(0)); ; time.Sleep(time.Millisecond) {
			var probes int
			err := conn.QueryRow(t.Context(), `SELECT last_value FROM slow.asked`).Scan(&probes)
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("probe %d: %d were sent, %v", want, probes, err)
			}
			if probes == want {
				return
			}
		}
	}
	for pair := range 3 {
		asked(2*pair + 1)
		g.open()
		asked(2*pair + 2) // its retry
		if _, err := s.QueueCounts(t.Context()); err != nil {
			t.Fatalf("a call during probe %d: %v", 2*pair+2, err)
		}
		g.open()
	}
	asked(7)
	if s.contact.down() {
		t.Error("a server that answers calls is down")
	}
	g.open()
	asked(8)
	for deadline := time.Now().Add(pace.Guard(0)); !s.contact.down(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a server that answers nobody is up")
		}
		g.open() // again, in case a call of the store itself was answered
	}
}
