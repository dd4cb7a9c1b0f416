package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestDurabilityUnreadable_RecordsOfACrashStopNothing makes the records
// of jobs unreadable whose attempts are under way when the service is killed.
// There are more of them than are taken up at once.
func TestDurabilityUnreadable_RecordsOfACrashStopNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	path, isSQLite := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !isSQLite {
		t.Skip("plays on the database with SQLite's means")
	}
	c := s.Account(t).Client
	const unreadable, whole = 70, 5
	target := harness.SharedTarget(t).Route(t).RespondOnce(slices.Repeat([]http.Handler{harness.Hang()}, unreadable+whole)...)
	for i := range unreadable + whole {
		create(c, fmt.Sprintf(`{"retries":0,"timeout":900,"name":"%d","url":"%s/%d"}`, i, target.URL, i))
	}
	target.Await(t, unreadable+whole, soon)
	s.Kill()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetBusyTimeout(soon)
	err = sqlitex.ExecuteTransient(db, `UPDATE jobs SET account = 1000000 WHERE CAST(name AS INTEGER) < ?`,
		&sqlitex.ExecOptions{Args: []any{unreadable}})
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	target.AwaitEnds(t, unreadable+2*whole, soon)
	if n := metric(t, c, `punctual_runs_set_aside_total`); n != unreadable {
		t.Errorf("%v runs were counted as set aside, want %d", n, unreadable)
	}
	create(c, `{"url":"`+target.URL+`/after"}`)
	target.AwaitEnds(t, unreadable+2*whole+1, soon)
}
