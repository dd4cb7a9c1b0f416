package sqlite

import (
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitemigration"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/identity"
)

// TestMigrate_AccountsGetOwners opens a database of version 0.1, before there were
// people.
func TestMigrate_AccountsGetOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	before, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	before.Migrations = before.Migrations[:membersMigration(t)]
	if err := sqlitemigration.Migrate(t.Context(), conn, before); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO accounts (number, id, email, created_at, password) VALUES (1, x'00000000000000000000000000000001', 'ann@example.com', 5, 'hash'),
			(2, x'00000000000000000000000000000002', 'public', 6, NULL), (3, x'00000000000000000000000000000003', 'bob@example.com', 7, NULL)`,
		`INSERT INTO accounts (number, id, email, created_at, deleted_at) VALUES (4, x'00000000000000000000000000000004', 'deleted 4', 8, 9)`,
		`INSERT INTO totps VALUES (1, x'aa', 5, 6, 7, x'')`,
		`INSERT INTO sessions (hash, account, created_at, seen_at, expires_at) VALUES (x'01', 1, 5, 5, 9000000000000000)`,
		`INSERT INTO keys (id, account, name, prefix, hash, created_at) VALUES (x'00000000000000000000000000000009', 1, 'k', 'sk_', x'02', 5)`,
	} {
		if err := sqlitex.ExecuteScript(conn, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, true)
	defer closeStore(t, s)
	for account, want := range map[int64]string{1: "ann@example.com", 2: "", 3: "bob@example.com", 4: ""} {
		members, err := s.MemberList(t.Context(), account)
		if err != nil || len(members) > 1 || len(members) == 1 != (want != "") {
			t.Fatalf("account %d has %d members, %v", account, len(members), err)
		}
		if want != "" && (members[0].Email != want || members[0].Role != identity.RoleOwner || members[0].Invited()) {
			t.Errorf("account %d has the member %+v", account, members[0])
		}
	}
	ann, err := s.PersonGet(t.Context(), "ann@example.com")
	if err != nil || ann.Password != "hash" || ann.TOTP == nil || string(ann.TOTP.Secret) != "\xaa" || ann.Home.Number != 1 {
		t.Errorf("the person is %+v, %v", ann, err)
	}
	session, err := s.SessionFind(t.Context(), []byte{1}, s.Now())
	if err != nil || session.Person != ann.ID || session.Account != 1 {
		t.Errorf("the session is %+v, %v", session, err)
	}
	key, err := s.KeyFind(t.Context(), []byte{2})
	if err != nil || key.Role() != identity.RoleOwner || key.MadeBy != "" {
		t.Errorf("the key is %+v, %v", key, err)
	}
	if a, err := s.AccountOf(t.Context(), 2); err != nil || a.Origin != identity.OriginShared {
		t.Errorf("the shared account is %+v, %v", a, err)
	}
}

// membersMigration returns how many migrations come before that of members.
func membersMigration(t *testing.T) int {
	t.Helper()
	names, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if filepath.Ext(name.Name()) == ".sql" && name.Name()[4:] == "_members.sql" {
			return i
		}
	}
	t.Fatal("there is no migration of members")
	return 0
}
