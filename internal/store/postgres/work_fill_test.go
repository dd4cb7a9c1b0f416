package postgres

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// The records of an account in a database for work tests. Its numbers follow one
// another: 3n final jobs, then n pending jobs of each kind.
const (
	finalJobs   = 0 // the first 2n are runs of schedules
	pendingRuns = 3 // of schedule i, with its key "s-i"
	keyedJobs   = 4 // with the key "p-i", which a job of followers follows
	followers   = 5
	limitedJobs = 6 // waiting in the orders of the limits "l-0" to "l-3"
	claimedJobs = 7 // awaiting their completion
	plainJobs   = 8 // due in a second
	kindsOfJobs = 9
)

// fillAccount stores the records of the account $1: $2 of each kind, at the time $3,
// with numbers from $4 on.
var fillAccount = []string{
	`INSERT INTO schedules (account, id, key, name, inserted_at, first_due, epoch, args, document, revision, tags, failures, failing_since, failure)
		SELECT $1, md5('$1' || 's' || i)::uuid, 's-' || i, 'name ' || i, $3, $3, 0, '{"url":"https://example.com/hook"}', CASE WHEN i % 3 = 0 THEN 'doc' ELSE '' END, 2,
			CASE WHEN i % 3 = 0 THEN ARRAY['a', 'b'] END, i % 2, CASE WHEN i % 2 = 1 THEN $3 + i END, 'timeout'
		FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO jobs (account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at, attempted_at, completed_at, discarded_at, name, args, host, tags, follows, lane, revision, held_until, remembered_until, rerun_of)
		SELECT $1, $4 + k, (lpad(to_hex($3 / 1000 - 1000000 + k), 12, '0') || '7000' || '8' || substr(md5('$1' || 'j' || k), 1, 15))::uuid, state,
			CASE WHEN kind < 2 OR kind = 3 THEN md5('$1' || 's' || i)::uuid END,
			CASE WHEN kind < 2 OR kind = 3 THEN 's-' || i WHEN kind IN (4, 5) THEN 'p-' || i END,
			$3 - 1000000000 + k * 1000, $3, due, $3, CASE WHEN state = 4 THEN $3 - 1000000 + k END, CASE WHEN state = 6 THEN $3 - 1000000 + k END,
			'name ' || i % 100, '{"url":"https://example.com/hook"}', 'example.com', CASE WHEN i % 5 = 0 THEN ARRAY['a', 'b'] END,
			CASE WHEN kind = 5 THEN $4 + 4 * $2 + i END, CASE WHEN kind = 5 THEN 1 END, 2,
			CASE WHEN kind = 2 THEN $3 + 3600000000 END, CASE WHEN kind = 2 THEN $3 + 3600000000 END, CASE WHEN kind = 2 THEN $4 + i END
		FROM (SELECT k, k % $2 AS i, k / $2 AS kind, CASE WHEN k / $2 > 2 THEN 1 WHEN k % 4 = 0 THEN 6 ELSE 4 END AS state,
				$3 + 3600000000 + k + CASE WHEN k / $2 = 6 THEN 7884000000000000 - 7200000000 WHEN k / $2 = 8 THEN -3599000000 ELSE 0 END AS due
			FROM generate_series(0, 9 * $2 - 1) k) x ORDER BY k`,
	`INSERT INTO runs (due, kind, number, account, lane, attempt, revision, node, begin_at, log, start_by, held_due)
		SELECT due_at, 0, number, account, 1, (kind = 7)::int, revision, CASE WHEN kind = 7 THEN 9223372036854775807 ELSE 0 END, CASE WHEN kind = 7 THEN $3 END,
			CASE WHEN kind = 7 THEN md5('$1' || 'l1' || number)::uuid END, CASE WHEN kind = 7 THEN $3 END, CASE WHEN kind = 6 THEN $3 - 3600000000 END
		FROM (SELECT *, (number - $4) / $2 AS kind FROM jobs WHERE account = $1 AND number >= $4 AND state <= 2) j WHERE kind <> 5`,
	`INSERT INTO logs (account, id, job, event, inserted_at, payload)
		SELECT account, (lpad(to_hex($3 / 1000 - 1000000 + number - $4), 12, '0') || '7' || e || '00' || '8' || substr(md5('l' || e || number), 1, 15))::uuid, number,
			CASE WHEN e = 1 THEN 1 WHEN state = 4 THEN 2 ELSE 3 END, $3 - 1000000000 + e, '{"kind":"timeout"}'
		FROM jobs, generate_series(1, 2) e WHERE account = $1 AND number >= $4 AND number < $4 + 3 * $2`,
	`INSERT INTO deliveries (account, number, message, job, job_attempt, channel, lane, url, event, attempt, due, begin_at, body)
		SELECT $1, $4 + i, 'msg_' || i, $4 + i / 2, 1, 2, 1, 'https://hooks.example.com/', 'job.completed', 0, CASE WHEN i % 2 = 0 THEN $3 + 3600000000 + i END, $3, '{}'
		FROM generate_series(0, 2 * $2 - 1) i`,
	`INSERT INTO runs (due, kind, number, account, lane, attempt)
		SELECT due, 1, number, account, 1, 0 FROM deliveries WHERE account = $1 AND number >= $4 AND due IS NOT NULL`,
	`INSERT INTO limits (account, key, calls, per, parallel) SELECT $1, 'l-' || i, 1000, 60000000, 1000 FROM generate_series(0, least($2, 900)) i`,
	`INSERT INTO limit_items (account, number, key, state, due, named, expires)
		SELECT account, number, v.key, CASE WHEN number % 3 = 0 THEN 2 WHEN v.key < 'l-2' THEN 1 ELSE 0 END, due_at - 7884000000000000, true, CASE WHEN v.key < 'l-2' THEN $3 + 100000000 + number END
		FROM jobs, LATERAL (VALUES ('l-' || number % 2), ('l-' || 2 + number % 2)) v (key)
		WHERE account = $1 AND number >= $4 + 6 * $2 AND number < $4 + 7 * $2`,
	`INSERT INTO completions (token, account, job, attempt, started_at, within, heartbeat, epoch, state, deadline, heard_at, request)
		SELECT sha256(int8send(number)), account, number, 1, $3, 1000000, 0, 0, CASE WHEN kind = 7 THEN 1 ELSE 2 END, CASE WHEN kind = 7 THEN $3 - 1 END, $3, md5('$1' || 'l1' || number)::uuid
		FROM (SELECT *, (number - $4) / $2 AS kind FROM jobs WHERE account = $1 AND number >= $4) j WHERE kind IN (0, 7)`,
	`INSERT INTO revisions (account, record, revision, changed_at, actor, changes)
		SELECT account, id, 1, $3, '{}', '{}' FROM jobs WHERE account = $1 AND number >= $4 AND number < $4 + 6 * $2
		UNION ALL SELECT account, id, 1, $3, '{}', '{}' FROM schedules WHERE account = $1`,
	`INSERT INTO header_secrets (account, name, hosts, value, created_at, updated_at)
		SELECT $1, 'secret-' || i, 'example.com', 'x', $3, $3 FROM generate_series(0, least($2, 100)) i`,
	`INSERT INTO secret_uses (account, name, job) SELECT $1, 'secret-' || i % 100, $4 + i FROM generate_series(3 * $2, 9 * $2 - 1) i`,
	`INSERT INTO alert_accounts (account, late_min, late_max, wake_at) VALUES ($1, $2, $3, $4)`,
	`INSERT INTO alerts (account, name, definition, match, inserted_at, updated_at, late_by)
		SELECT $1, 'a-' || i, '{}', '{}', $3, $3, 0 FROM generate_series(0, least($2, 99)) i`,
	`INSERT INTO alert_states (account, schedule, alert, kind, job, wake_at)
		SELECT account, CASE WHEN number % 10 = 0 THEN gen_random_uuid() ELSE schedule_id END, 'a-' || number % 100, 1 + number % 2, number, $3 - 1
		FROM jobs WHERE account = $1 AND number >= $4 + 3 * $2 AND number < $4 + 4 * $2`,
	`INSERT INTO alert_outcomes (account, job, schedule, kind, at, tags, detail)
		SELECT account, number, schedule_id, 1, $3, '', '{}' FROM jobs WHERE account = $1 AND number >= $4 + 3 * $2 AND number < $4 + 4 * $2`,
	`INSERT INTO audits (account, class, seq, id, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at)
		SELECT $1, i % 2, i, gen_random_uuid(), CASE WHEN i % 2 = 1 THEN 'slot ' || i END, 'sign_in', 'key', 'k', '', '', 1, $3 - 1000000, $3 - 1000000 + i FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO stats (account, minute, source, succeeded, failed, lateness, duration)
		SELECT $1, i / 2, i % 2, 1, 1, '', '' FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO schedule_months (account, schedule, month, through, counts)
		SELECT $1, md5('$1' || 's' || i)::uuid, month, CASE WHEN i % 2 = 1 THEN $4 + i ELSE 0 END, ''
		FROM generate_series(0, $2 - 1) i, generate_series(24310, 24322) month WHERE i % 2 = 1 OR month < 24313`,
	`INSERT INTO operations (account, id, state, action, matched, done, inserted_at, finished_at, hops, scan_after, position, actor, skipped, filter)
		SELECT $1, md5('$1' || 'o' || i)::uuid, 1, 'cancel', 1, 1, $3, $3 - 1, 0, 0, 0, '{}', '{}', '{}' FROM generate_series(1, least($2, 100)) i`,
	`INSERT INTO operation_jobs (operation, last, numbers) SELECT id, i, '' FROM operations, generate_series(1, 3) i WHERE account = $1`,
	`INSERT INTO suspects (kind, number, account, due, lane, node, crashes) SELECT 0, $4 + i, $1, $3, 1, 0, 1 FROM generate_series(1, least($2, 100)) i`,
	`INSERT INTO sessions (hash, account, created_at, seen_at, expires_at)
		SELECT sha256(int8send($4 + i)), $1, $3, $3, $3 - 1 FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO keys (id, account, name, prefix, hash, created_at)
		SELECT md5('$1' || 'k' || i)::uuid, $1, 'k', 'p', sha256(int8send($4 + i)), $3 FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO listeners (id, node, account, name, tag, since, draining)
		SELECT md5('$1' || 'h' || i)::uuid, 1, $1, 'n-' || i % 100, '', $3, false FROM generate_series(0, $2 - 1) i`,
	`INSERT INTO listener_requests (id, listener, taken, expires_at, request)
		SELECT md5('$1' || 'q' || i)::uuid, md5('$1' || 'h' || i)::uuid, i % 2 = 0, $3 + 600000000, '' FROM generate_series(0, $2 - 1) i`,
}

// dealt is a filled database.
type dealt struct {
	*observed
	t     *testing.T
	owner job.Owner
	now   time.Time
	n     int   // records of each kind of the account
	first int64 // its first number
	node  int64
	tries int // of calls
}

const firstOfOthers, firstOfOurs = 1_000_000, 2_000_000

// deal fills a database: the records of another account, statistics of these, and
// then the account's records, which the statistics don't know.
func deal(t *testing.T, others, ours int) *dealt {
	t.Helper()
	url := pgtest.URLFrom(t, "work "+strconv.Itoa(others)+" "+strconv.Itoa(ours),
		func(url string) error { return fillDatabase(url, others, ours) })
	return begin(t, url, observe(t, url), ours)
}

// dealLate is deal for sessions that planned statements while the tables were empty,
// planLife ago.
func dealLate(t *testing.T, statements map[string]bool, ours int) *dealt {
	t.Helper()
	url := pgtest.URLFrom(t, "work 0 0", func(url string) error { return fillDatabase(url, 0, 0) })
	o := observe(t, url)
	o.plan(t, statements)
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		err = fill(t.Context(), conn, 2, ours, firstOfOurs)
		_ = conn.Close(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, url, o, ours)
}

// plan plans statements in each session of the engine, by executing them without
// arguments.
func (o *observed) plan(t *testing.T, statements map[string]bool) {
	t.Helper()
	pool := o.pools[engine]
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		for sql := range statements {
			_ = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), sql, make([]any, arguments(sql))...)
				return errors.Join(errPlanned, err)
			})
		}
		planned := 0
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_prepared_statements WHERE generic_plans > 0`).Scan(
			&planned); err != nil || planned < 100 {
			t.Fatalf("%d of %d statements are planned: %v", planned, len(statements), err)
		}
		conn.Conn().PgConn().CustomData()[plansSince] = time.Now().Add(-planLife)
	}
}

// errPlanned rolls the transaction of a statement back.
var errPlanned = errors.New("the statement is planned")

var parameter = regexp.MustCompile(`\$(\d+)`)

// arguments returns how many arguments a statement takes.
func arguments(sql string) (n int) {
	for _, found := range parameter.FindAllStringSubmatch(sql, -1) {
		i, _ := strconv.Atoi(found[1])
		n = max(n, i)
	}
	return n
}

// begin starts a node on a filled database.
func begin(t *testing.T, url string, o *observed, ours int) *dealt {
	t.Helper()
	d := &dealt{observed: o, t: t, n: ours, first: firstOfOurs}
	d.now = d.Now()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		err = conn.QueryRow(t.Context(), `SELECT number, id FROM accounts WHERE number = 2`).Scan(&d.owner.Number, &d.owner.ID)
		_ = conn.Close(t.Context())
	}
	if err == nil {
		d.node, err = d.NodeStart(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func fillDatabase(url string, others, ours int) error {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Guard(time.Minute))
	defer cancel()
	s, err := Open(ctx, url, Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	exec := func(sql string, args ...any) {
		if err == nil {
			_, err = conn.Exec(ctx, sql, args...)
		}
	}
	exec(`DO $$ DECLARE r record; BEGIN FOR r IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
		EXECUTE 'ALTER TABLE ' || r.relname || ' SET (autovacuum_enabled = false)'; END LOOP; END $$`)
	exec(`INSERT INTO accounts (number, id, email, created_at) OVERRIDING SYSTEM VALUE SELECT i, gen_random_uuid(), 'a' || i, 0 FROM generate_series(1, 1000) i`)
	exec(`SELECT setval('job_numbers', 10000000), setval('delivery_numbers', 10000000)`)
	if err == nil && others > 0 {
		err = fill(ctx, conn, 1, others, firstOfOthers)
	}
	exec(`ANALYZE`)
	if err == nil && ours > 0 {
		err = fill(ctx, conn, 2, ours, firstOfOurs)
	}
	return err
}

// fill stores the records of an account, with numbers from one on.
func fill(ctx context.Context, conn *pgx.Conn, account int64, n int, first int64) error {
	values := strings.NewReplacer("$1", strconv.FormatInt(account, 10), "$2", strconv.Itoa(n),
		"$3", strconv.FormatInt(time.Now().UnixMicro(), 10), "$4", strconv.FormatInt(first, 10))
	for _, sql := range fillAccount {
		if _, err := conn.Exec(ctx, values.Replace(sql)); err != nil {
			return err
		}
	}
	return nil
}

// number returns the number of a job of a kind.
func (d *dealt) number(kind, i int) int64 { return d.first + int64(kind*d.n+i) }

// numbers returns the numbers of jobs of a kind, from one on.
func (d *dealt) numbers(kind, from, count int) []int64 {
	all := make([]int64, count)
	for i := range all {
		all[i] = d.number(kind, from+i)
	}
	return all
}

func (d *dealt) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// jobs reads jobs of a kind.
func (d *dealt) jobs(kind, from, count int) []*job.Job {
	d.t.Helper()
	jobs, err := d.JobGetMany(d.t.Context(), d.owner,
		column(d.numbers(kind, from, count), func(n *int64) job.Ref { return job.Ref{Number: *n} }))
	d.ok(err)
	for _, j := range jobs {
		if j == nil {
			d.t.Fatal("a job is missing")
		}
	}
	return jobs
}

// items returns the queue items of jobs.
func items(jobs []*job.Job) []store.QueueKey {
	return column(jobs, func(j **job.Job) store.QueueKey { return itemOf(*j, 1) })
}

func keysOf(prefix string, from, count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = prefix + strconv.Itoa(from+i)
	}
	return keys
}

// scheduleIDs returns the ids of schedules.
func (d *dealt) scheduleIDs(from, count int) []uuid.UUID {
	d.t.Helper()
	return column(d.jobs(pendingRuns, from, count), func(j **job.Job) uuid.UUID { return (*j).ScheduleID })
}

func short(sql string) string { return strings.Join(strings.Fields(sql), " ") }
