package postgres

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// While an old transaction is open, the versions of rows that others have replaced stay.
// Calls that are made all the time must not read them.

// oldTransaction opens a database with a transaction that stays open, and a connection
// beside it.
func oldTransaction(t *testing.T) (o *observed, beside *pgx.Conn) {
	t.Helper()
	url := pgtest.URL(t)
	o = observe(t, url)
	var conns [2]*pgx.Conn
	for i := range conns {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		conns[i] = conn
	}
	old, err := conns[0].BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err == nil {
		_, err = old.Exec(t.Context(), `SELECT count(*) FROM runs`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, conns[1]
}

func TestQueueAbandoned_ReadsNoDeadClaimsOfLiveNodes(t *testing.T) {
	o, beside := oldTransaction(t)
	var live []int64
	for range 3 {
		node, err := o.NodeStart(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, node)
	}
	for _, sql := range []string{
		`INSERT INTO runs (due, kind, number, account, lane, attempt, node) SELECT g, 0, g, 1, 0, 1, ($1::bigint[])[1 + g % 3] FROM generate_series(1, 20000) g`,
		`DELETE FROM runs WHERE node = ANY($1::bigint[])`,
		`INSERT INTO runs (due, kind, number, account, lane, attempt, node) SELECT 5, 0, 5, 1, 0, 1, 1000 + ($1::bigint[])[3]`,
	} {
		if _, err := beside.Exec(t.Context(), sql, live); err != nil {
			t.Fatal(err)
		}
	}
	o.take()
	found, err := o.QueueAbandoned(t.Context(), 10)
	if err != nil || len(found) != 1 || found[0].Number != 5 {
		t.Errorf("QueueAbandoned = %+v (%v), want the claim of the node that is gone", found, err)
	}
	for _, p := range o.take() {
		if blocks := p.Plan.HitBlocks + p.Plan.ReadBlocks; strings.Contains(p.Text, "runs") && blocks > 60 {
			t.Errorf("it read %d blocks:\n%s", blocks, p.Plan.outline(""))
		}
	}
}

func TestScheduleChange_WritesNoScheduleThatStaysTheSame(t *testing.T) {
	o, beside := oldTransaction(t)
	owner := job.Owner{ID: uuid.New()}
	a := &identity.Account{Owner: owner, Email: "owner@example.com", CreatedAt: o.Now()}
	if err := o.AccountInsert(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	now, key := o.Now(), "a"
	n := store.NewJob{Job: &job.Job{
		ID: job.NewID(now), Owner: a.Owner, InsertedAt: now, ScheduledAt: now, DueAt: now, State: job.Available,
		Args: rawjson.Value(`{"url":"https://example.com/"}`),
	}}
	asSchedule(&n, key)
	if _, err := o.JobInsertMany(t.Context(), []store.NewJob{n}); err != nil {
		t.Fatal(err)
	}
	version := func() (ctid string) {
		if err := beside.QueryRow(t.Context(), `SELECT ctid::text FROM schedules`).Scan(&ctid); err != nil {
			t.Fatal(err)
		}
		return ctid
	}
	change := func(f func(*job.Schedule)) {
		_, err := o.ScheduleChange(t.Context(), a.Owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
			s := *m.Schedule
			f(&s)
			return &store.Changes{Schedule: &s}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before := version()
	change(func(*job.Schedule) {})
	if version() != before {
		t.Error("a schedule was written that stayed the same")
	}
	for name, f := range map[string]func(*job.Schedule){
		"runs": func(s *job.Schedule) { s.Runs++ }, "state": func(s *job.Schedule) { s.State = rawjson.Value(`{"a":1}`) },
		"disabled": func(s *job.Schedule) { s.DisabledAt = o.Now() },
	} {
		before = version()
		if change(f); version() == before {
			t.Errorf("a change of %s was not written", name)
		}
	}
}
