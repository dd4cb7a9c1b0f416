package postgres

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestMigrate_AccountsGetOwners migrates a database of version 0.1, before there were
// people; see the test of the same name in package sqlite.
func TestMigrate_AccountsGetOwners(t *testing.T) {
	ctx, url := t.Context(), pgtest.URL(t)
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for !strings.HasSuffix(names[before], "_members.sql") {
		before++
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := migrateFrom(ctx, conn, names[:before], 0); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO accounts (id, email, created_at, password, deleted_at) VALUES (gen_random_uuid(), 'ann@example.com', 5, 'hash', NULL),
			(gen_random_uuid(), 'public', 6, NULL, NULL), (gen_random_uuid(), 'deleted 3', 8, NULL, 9)`,
		`INSERT INTO totps SELECT number, '\xaa', 5, 6, 7, '' FROM accounts WHERE email = 'ann@example.com'`,
		`INSERT INTO sessions (hash, account, created_at, seen_at, expires_at) SELECT '\x01', number, 5, 5, 9 FROM accounts WHERE email = 'ann@example.com'`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	if err := migrateFrom(ctx, conn, names, before); err != nil {
		t.Fatal(err)
	}
	var got string
	err = conn.QueryRow(ctx, `SELECT string_agg(concat_ws(' ', p.email, p.password, m.role, m.email, a.email, a.origin, t.last_step, s.person = p.id), '; ') FROM people p
		LEFT JOIN members m ON m.person = p.id LEFT JOIN accounts a ON a.number = m.account LEFT JOIN person_totps t ON t.person = p.id LEFT JOIN sessions s ON s.account = a.number`).Scan(&got)
	if want := "ann@example.com hash owner ann@example.com ann@example.com 0 7 t"; err != nil || got != want {
		t.Errorf("the people are %q, %v; want %q", got, err, want)
	}
	if err := conn.QueryRow(ctx, `SELECT origin::text FROM accounts WHERE email = 'public'`).Scan(&got); err != nil || got != "3" {
		t.Errorf("the shared account has the origin %s, %v", got, err)
	}
}
