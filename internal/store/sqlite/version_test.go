package sqlite

import (
	"testing"

	"zombiezen.com/go/sqlite"
)

// Before SQLite 3.51.3, a checkpoint that runs while another connection writes
// can skip committed pages (https://sqlite.org/wal.html#walresetbug).
func TestSQLiteHasTheWALResetFix(t *testing.T) {
	const fixed = 3_051_003
	if sqlite.VersionNumber < fixed {
		t.Errorf("SQLite %s is bundled; 3.51.3 is the first without the WAL-reset bug", sqlite.Version)
	}
}
