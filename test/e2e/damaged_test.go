package e2e

import (
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestDamaged_JobHoldsUpNothing: a job whose packed text is damaged on disk is listed,
// fails as an attempt does, and others go on.
func TestDamaged_JobHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	c := s.Account(t).Client
	path, isSQLite := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !isSQLite {
		t.Skip("damages the database with SQLite's means")
	}
	target := harness.SharedTarget(t).Route(t)
	damaged := create(c, `{"url":"`+target.URL+`/damaged","schedule_in":1000,"retries":0}`)
	sound := create(c, `{"url":"`+target.URL+`/sound","schedule_in":1000,"retries":0}`)
	s.Kill()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(db, fmt.Sprintf(`UPDATE jobs SET packed = x'01b201ffffff' WHERE number = %d`, damaged.Get("job_id").Int()),
		nil)
	if changes := db.Changes(); err != nil || changes != 1 {
		t.Fatalf("%d jobs were damaged: %v", changes, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if n := len(c.Get("/api/jobs").Want(200).Data().Items()); n != 2 {
		t.Errorf("%d jobs are listed, want 2", n)
	}
	for _, j := range []harness.JSON{damaged, sound} {
		c.Post(jobPath(j)+"/run", nil).Want(200)
	}
	awaitState(t, c, sound, "completed")
	if got := awaitState(t, c, damaged, "discarded").Get("args.url").Str(); got != "https://damaged.invalid/" {
		t.Errorf("the damaged job has the URL %s", got)
	}
}
