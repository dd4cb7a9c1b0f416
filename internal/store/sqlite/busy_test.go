package sqlite

import (
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestOpen_OfACurrentDatabaseWritesNothing, so that it does not wait for other programs.
func TestOpen_OfACurrentDatabaseWritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, openAt(t, path, true))
	other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	end, err := sqlitex.ImmediateTransaction(other)
	if err != nil {
		t.Fatal(err)
	}
	defer end(&err)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("while another program writes: %v", err)
	}
	closeStore(t, s)
}
