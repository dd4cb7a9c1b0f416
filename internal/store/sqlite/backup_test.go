package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func TestBackup_OfADatabaseInUseIsOneState(t *testing.T) {
	dir := t.TempDir()
	service := openAt(t, filepath.Join(dir, "p.db"), true)
	defer closeStore(t, service)
	owner := addOwner(t, service)
	for range 50 {
		insert(t, service, newJob(service, owner, `{}`))
	}
	ctx, stop := context.WithCancel(t.Context())
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		for ctx.Err() == nil {
			insert(t, service, newJob(service, owner, `{}`))
		}
	}()
	to := filepath.Join(dir, "backup.db")
	result, err := Backup(t.Context(), filepath.Join(dir, "p.db"), to)
	stop()
	<-busy
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(to)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != result.Bytes {
		t.Errorf("the backup is %v, %v; expected %d bytes with mode 0600", info, err, result.Bytes)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "backup.db?*")); len(left) > 0 {
		t.Errorf("the backup left other files: %v", left)
	}
	copied := openAt(t, to, false)
	defer closeStore(t, copied)
	jobs, runs := count(t, copied, `SELECT count(*) FROM jobs`), count(t, copied, `SELECT count(*) FROM runs`)
	if jobs < 50 || jobs != runs {
		t.Errorf("the backup has %d jobs and %d queue items; expected as many, at least 50", jobs, runs)
	}
}

func TestBackup_OverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "p.db"), filepath.Join(dir, "backup.db")
	closeStore(t, openAt(t, path, true))
	if err := os.WriteFile(to, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), path, to); err == nil || !strings.Contains(err.Error(), "exists and is not overwritten") {
		t.Errorf("the backup onto a file returned %v", err)
	}
	if text, _ := os.ReadFile(to); string(text) != "precious" {
		t.Errorf("the file is %q now", text)
	}
}

func TestBackup_RefusesWhatIsNotPunctuals(t *testing.T) {
	dir := t.TempDir()
	text, other := filepath.Join(dir, "text"), filepath.Join(dir, "other.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(other)
	if err == nil {
		err = sqlitex.ExecuteTransient(conn, `CREATE TABLE t (a)`, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text:                            "is not a SQLite database",
		other:                           "is not a punctual database",
		filepath.Join(dir, "absent.db"): "can't be read",
	} {
		to := filepath.Join(dir, "backup.db")
		if _, err := Backup(t.Context(), path, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the backup of %s returned %v; expected %q", filepath.Base(path), err, want)
		}
		if left, _ := filepath.Glob(to + "*"); len(left) > 0 {
			t.Errorf("the failed backup of %s left %v", filepath.Base(path), left)
		}
	}
}

func TestRestore_RefusesADamagedBackupAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "p.db"), filepath.Join(dir, "backup.db")
	service := openAt(t, path, true)
	owner := addOwner(t, service)
	for range 200 {
		insert(t, service, newJob(service, owner, `{"url":"https://example.com/`+strings.Repeat("x", 500)+`"}`))
	}
	closeStore(t, service)
	if _, err := Backup(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	// The second half contains pages of jobs and of their indexes.
	for i := len(bytes) / 2; i < len(bytes)/2+3*4096; i++ {
		bytes[i] ^= 0x5a
	}
	if err := os.WriteFile(backup, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(dir, "restored.db")
	if _, err := Restore(t.Context(), backup, restored, 0); err == nil {
		t.Error("a damaged backup was restored")
	}
	if _, err := os.Stat(restored); err == nil {
		t.Error("the damaged restore left a database")
	}
	if left, _ := filepath.Glob(restored + "*"); len(left) > 0 {
		t.Errorf("the damaged restore left %v", left)
	}
}

func count(t *testing.T, s *Store, query string) (n int64) {
	t.Helper()
	err := s.readAs(t.Context(), engine, func(tx *tx) (err error) {
		n, err = number(tx.conn, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
