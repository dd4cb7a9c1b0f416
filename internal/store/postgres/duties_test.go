package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// dutyCases has for each duty a row, and a look for it.
var dutyCases = [duties]struct {
	row  string
	look func(ctx context.Context, s *Store) (found bool, err error)
}{
	dutyBlocked: {`INSERT INTO accounts (id, email, created_at, suspended_at) VALUES (gen_random_uuid(), 'a', 1, 1), (gen_random_uuid(), 'b', 1, NULL)`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.AccountsBlocked(ctx)) }},
	dutyTargets: {`INSERT INTO blocked_targets (target, reason, blocked_at) VALUES ('a.example.com', '', 1)`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.TargetBlocks(ctx)) }},
	dutyOverdue: {`INSERT INTO completions (token, account, job, attempt, started_at, within, heartbeat, epoch, state, heard_at, request, deadline)
			VALUES (sha256('a'), 1, 1, 1, 1, 1, 1, 1, 1, 1, gen_random_uuid(), 1)`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.CompletionsOverdue(ctx, 1)) }},
	dutyOperations: {`INSERT INTO operations (account, id, state, action, matched, done, inserted_at, hops, scan_after, position, actor, skipped, filter, held_until)
			SELECT number, gen_random_uuid(), 0, 'cancel', 0, 0, 1, 0, 0, 0, '', '{}', '{}', 0 FROM accounts WHERE email = 'b'`,
		func(ctx context.Context, s *Store) (bool, error) {
			return some(s.OperationClaim(ctx, store.OperationLease{Until: s.Now()}, 1))
		}},
	dutyListeners: {`INSERT INTO listeners (id, node, account, name, tag, since, draining) SELECT gen_random_uuid(), max(number), 1, 'a', 'b', 1, false FROM nodes`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.ListenerSync(ctx, 0, nil)) }},
	dutyWakes: {`INSERT INTO limits (account, key, wake_at) VALUES (1, 'a', 1)`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.LimitWakes(ctx, s.Now(), 1)) }},
	dutyExpiry: {`INSERT INTO limit_items (account, number, key, state, due, named, expires) VALUES (1, 1, 'a', 0, 1, true, 9e15)`,
		func(ctx context.Context, s *Store) (bool, error) {
			next, err := s.LimitExpire(ctx, 1)
			return !next.IsZero(), err
		}},
	dutyEnds: {`INSERT INTO job_ends (account, job, state, ended_at) VALUES (1, 1, 4, 1)`,
		func(ctx context.Context, s *Store) (bool, error) {
			account, err := s.WaitTurn(ctx, 0)
			return account != 0, err
		}},
	dutyCancels: {`INSERT INTO cancels (node, number) SELECT max(number), 1 FROM nodes`, nil},
	dutyUnreported: {`INSERT INTO workflow_runs (account, id, url, state, created_at, ended_at, template, flow_control, caller_ip, lazy, step_rows, step_bytes,
				floor, open, waits, error, untold, archived, origin)
			VALUES (1, 'wfr_a', '', 3, 1, 1, '{}', '', '', 0, 0, 0, 0, 0, 0, '', 1, 0, '')`,
		func(ctx context.Context, s *Store) (bool, error) { return some(s.RunsUnreported(ctx, 0, "", 1)) }},
	dutySilent: {`INSERT INTO nodes (started_at, beat_at) VALUES (1, 1)`, nil},
}

func some[T any](found []T, err error) (bool, error) { return len(found) > 0, err }

// TestDuties_AreFoundByRegularLooks: a regular look relies on the last probe, finds what
// other processes have stored soon, and asks itself when the probe is old.
func TestDuties_AreFoundByRegularLooks(t *testing.T) {
	url := pgtest.URL(t)
	s, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.NodeStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), `SET session_replication_role = replica`); err != nil {
		t.Fatal(err)
	}
	for d, c := range dutyCases {
		if s.dutyRead.Load() == nil { // the probe is waited for once
			probed(t, s, duty(d), false)
		}
		if s.dutyRead.Load().found[d] {
			t.Errorf("duty %d is there before its row", d)
		}
		if _, err := conn.Exec(t.Context(), c.row); err != nil {
			t.Fatalf("duty %d: %v", d, err)
		}
		looks(t, s, duty(d), t.Context(), true)
		probed(t, s, duty(d), true)
		looks(t, s, duty(d), store.Routine(t.Context()), true)
	}
	read := *s.dutyRead.Load()
	s.stop() // the probe
	s.done.Wait()
	read.found = make([]bool, duties)
	for age, want := range map[time.Duration]bool{0: true, dutyFresh: false} {
		read.sent = s.clock.elapsed() - age.Microseconds()
		s.dutyRead.Store(&read)
		if got := s.free(store.Routine(t.Context()), dutyEnds); got != want && age > 0 {
			t.Errorf("with a probe %v old, free is %v", age, got)
		}
	}
	if s.free(t.Context(), dutyEnds) {
		t.Error("a call that is not routine relied on the probe")
	}
}

// probed waits for a probe with the given result.
func probed(t *testing.T, s *Store, d duty, want bool) {
	t.Helper()
	for deadline := time.Now().Add(pace.Guard(20 * time.Second)); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if read := s.dutyRead.Load(); read != nil && read.found[d] == want {
			return
		}
	}
	t.Fatalf("no probe has duty %d as %v", d, want)
}

func looks(t *testing.T, s *Store, d duty, ctx context.Context, want bool) {
	t.Helper()
	look := dutyCases[d].look
	if look == nil {
		return
	}
	if found, err := look(ctx, s); err != nil || found != want {
		t.Errorf("duty %d: found %v, error %v; want %v", d, found, err, want)
	}
}
