package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestPacking_StartsWithoutEarlierNodes: while a node of an earlier version is
// registered, texts are stored as it can read them; afterwards it can't come back.
func TestPacking_StartsWithoutEarlierNodes(t *testing.T) {
	url := pgtest.URL(t)
	_ = open(t, url).Close() // makes the tables
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	exec := func(sql string) error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	}
	// What an earlier version does at its start.
	const register = `INSERT INTO nodes (started_at, beat_at) SELECT t, t FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS t) now`
	if err := exec(`UPDATE schema_version SET packs = false`); err != nil {
		t.Fatal(err)
	}
	if err := exec(register); err != nil {
		t.Fatal(err)
	}
	c := nodes(t, url, 1)
	packed := func() (n int) {
		t.Helper()
		s, now := c.stores[0], c.stores[0].Now()
		_, err := s.JobInsertMany(t.Context(), []store.NewJob{{Lane: 1, Job: &job.Job{
			ID: job.NewID(now), Owner: c.owner, InsertedAt: now, ScheduledAt: now.Add(time.Hour), State: job.Available,
			DueAt: now.Add(time.Hour),
			Args:  rawjson.Value(`{"url":"https://example.com/","method":"post","headers":{},"body":"` + strings.Repeat("x", 200) + `"}`),
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(t.Context(), `SELECT count(packed) FROM jobs`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	beat := func() {
		t.Helper()
		if _, err := c.stores[0].NodeHeartbeat(t.Context(), c.nodes[0]); err != nil {
			t.Fatal(err)
		}
	}
	if beat(); packed() != 0 {
		t.Error("texts are packed that an earlier node can't read")
	}
	if err := exec(`DELETE FROM nodes WHERE NOT reads_packed`); err != nil {
		t.Fatal(err)
	}
	if beat(); packed() != 1 {
		t.Error("texts are not packed although no earlier node is left")
	}
	if err := exec(register); err == nil || !strings.Contains(err.Error(), "newer punctual") {
		t.Errorf("an earlier node could register: %v", err)
	}
	other := open(t, url)
	defer func() { _ = other.Close() }()
	jobs, err := other.JobList(t.Context(), c.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}})
	if err != nil || len(jobs) != 2 || string(jobs[0].Args) != string(jobs[1].Args) {
		t.Fatalf("the jobs are %v (%v)", jobs, err)
	}
	// A client of an earlier node that was paused meanwhile puts a schedule or replaces a job.
	const replaced = `{"url":"https://example.com/other","method":"get","headers":{}}`
	if err := exec(`UPDATE jobs SET args = '` + replaced + `' WHERE packed IS NOT NULL`); err != nil {
		t.Fatal(err)
	}
	if j, err := other.JobGet(t.Context(), c.owner, job.Ref{Number: jobs[0].Number}); err != nil || string(j.Args) != replaced {
		t.Errorf("after a change by an earlier node the job is %v (%v)", j, err)
	}
}

// TestUnpack_ShowsDamage: a damaged record is shown as such and hides no others.
func TestUnpack_ShowsDamage(t *testing.T) {
	url := pgtest.URL(t)
	c := nodes(t, url, 1)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	s := c.stores[0]
	for range 2 {
		now := s.Now()
		_, err := s.JobInsertMany(t.Context(), []store.NewJob{{Lane: 1, Job: &job.Job{
			ID: job.NewID(now), Owner: c.owner, InsertedAt: now, ScheduledAt: now, State: job.Available, DueAt: now,
			Args: rawjson.Value(`{"url":"https://example.com/hook","method":"get","headers":{}}`),
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), `UPDATE jobs SET packed = '\x01ff' WHERE number = 1`); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.JobList(t.Context(), c.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}})
	if err != nil || len(jobs) != 2 || !strings.Contains(string(jobs[1].Args), `damaged.invalid`) ||
		strings.Contains(string(jobs[0].Args), `damaged.invalid`) {
		t.Errorf("the jobs are %v (%v)", jobs, err)
	}
}
