package postgres

import (
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestMigrate_RegistersRunsOfSchedules: the runs of schedules that were put before
// SchedulePut registered them use their limits and secrets, whatever else is stored.
func TestMigrate_RegistersRunsOfSchedules(t *testing.T) {
	ctx, url := t.Context(), pgtest.URL(t)
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var earlier int
	for names[earlier] < "migrations/0042" {
		earlier++
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := migrateFrom(ctx, conn, names[:earlier], 0); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	const due = 2000000000000000
	for number, args := range []string{
		`{"url":"https://a.example","limits":["l","m"],"headers":{"x":"\u0000 {{secret.s}}"},"body":"\\u0000"}`,
		`not JSON "limits" secret.`,
		`{"url":"https://a.example","limits":null,"headers":"secret."}`,
		`{"url":"https://a.example","limits":["held"]}`,
		`{"url":"https://a.example","body":{"limits":["l"],"headers":"{{secret.s}}"}}`,
		`{"url":"https://a.example","limits":["l"]}`, // of a final job
		`{"url":"https://a.example","limits":["host:API.Example.","host:api.example","L"]}`,
	} {
		state := 0
		if number == 5 {
			state = 4
		}
		for account := 1; account <= 2; account++ {
			exec(`INSERT INTO schedules (account, id, key, inserted_at, first_due, epoch, hops, args) VALUES ($1, gen_random_uuid(), $2, 1, 1, 0, 0, $3)`, account, string(rune('a'+number)), args)
			exec(`INSERT INTO jobs (account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at, hops, args, packed, size)
				SELECT account, $2, gen_random_uuid(), $4, id, key, 1, $5, $5, 0, CASE WHEN $6 THEN '' ELSE args END, CASE WHEN $6 THEN '\x01'::bytea END, CASE WHEN $6 THEN 9 END FROM schedules WHERE account = $1 AND key = $3`, account, 100+number, string(rune('a'+number)), state, due, number%3 == 0)
			exec(`INSERT INTO runs (due, kind, number, account, lane, attempt, revision) VALUES ($3, 0, $2, $1, 0, 0, 1)`, account,
				100+number, due)
		}
	}
	exec(`INSERT INTO header_secrets SELECT 1, n, 'a.example', 'v', 1, 1 FROM unnest('{s,other}'::text[]) n`)
	exec(`INSERT INTO limit_items (account, number, key, state, due, named) VALUES (1, 103, 'held', 1, $1, true)`, due)
	if err := migrateFrom(ctx, conn, names, earlier); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`SELECT string_agg(concat_ws(' ', account, number, key, state, due, named), ', ' ORDER BY account, number, key) FROM limit_items`: "1 100 l 0 2000000000000000 t, " +
			"1 100 m 0 2000000000000000 t, 1 103 held 1 2000000000000000 t, 1 106 L 0 2000000000000000 t, 1 106 host:api.example 0 2000000000000000 t, " +
			"2 100 l 0 2000000000000000 t, 2 100 m 0 2000000000000000 t, 2 103 held 0 2000000000000000 t, 2 106 L 0 2000000000000000 t, 2 106 host:api.example 0 2000000000000000 t",
		`SELECT string_agg(concat_ws(' ', account, name, job), ', ' ORDER BY account, name, job) FROM secret_uses`:         "1 s 100",
		`SELECT string_agg(concat_ws(' ', account, number), ', ' ORDER BY account, number) FROM runs WHERE held_due = due`: "1 100, 1 106, 2 100, 2 103, 2 106",
	} {
		var got string
		if err := conn.QueryRow(ctx, query).Scan(&got); err != nil || got != want {
			t.Errorf("%s:\n got %s (%v)\nwant %s", query, got, err, want)
		}
	}
}
