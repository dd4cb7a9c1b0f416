package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestAnAccountOfManyHangingPortsDelaysNobody has one account call more ports
// that hang than there are slots. Another account's jobs are made all the same,
// and deleting the account gives its slots back at once.
func TestAnAccountOfManyHangingPortsDelaysNobody(t *testing.T) {
	t.Parallel()
	const slots = 16
	s := harness.Start(t, harness.Flag("concurrency", fmt.Sprint(slots)))
	hostile, victim := s.Account(t), s.Account(t).Client
	target := harness.SharedTarget(t).Route(t)
	var hanging []*harness.Route
	for range slots + 2 {
		route := harness.NewTarget(t).Route(t).Respond(harness.Hang())
		hanging = append(hanging, route)
		create(hostile.Client, `{"timeout":900,"url":"`+route.URL+`"}`)
	}
	held := func() int {
		n := 0
		for _, route := range hanging {
			n += len(route.Hits())
		}
		return n
	}
	harness.Eventually(t, soon, "the hanging ports to be called", func() bool { return held() >= slots/2 })
	const jobs = 30
	for i := range jobs {
		create(victim, fmt.Sprintf(`{"url":"%s/%d","schedule_in":%.2f}`, target.URL, i, 0.5+float64(i)/20))
	}
	for _, hit := range target.AwaitEnds(t, jobs, soon) {
		due := hit.Header.Get("X-Punctual-Scheduled-At")
		at, err := time.Parse("2006-01-02T15:04:05.000000Z", due)
		if err != nil {
			t.Fatal(err)
		}
		if late := hit.At.Sub(at); late > 2*time.Second {
			t.Errorf("a job of the other account was %s late", late)
		}
	}
	if n := held(); n > slots*3/4 {
		t.Errorf("%d of %d slots are held by one account", n, slots)
	}
	s.Command(t, "accounts", "delete", hostile.Email, "--yes")
	deleted := time.Now()
	harness.Eventually(t, soon, "the slots of the deleted account to come free", func() bool {
		return metric(t, victim, `punctual_runs_in_use{kind="job"}`) == 0
	})
	if took := time.Since(deleted); took > 3*time.Second {
		t.Errorf("the slots of the deleted account came free after %s", took)
	}
}

// TestASuspendedAccountsAttemptsEndAndGoOnWhenItIsResumed suspends an account
// with a request under way and a job that becomes due meanwhile.
func TestASuspendedAccountsAttemptsEndAndGoOnWhenItIsResumed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	suspended, other := s.Account(t), s.Account(t).Client
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	pending, marker := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	running := create(suspended.Client, `{"retries":0,"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	later := create(suspended.Client, `{"schedule_in":4,"url":"`+pending.URL+`"}`)
	s.Command(t, "accounts", "suspend", suspended.Email)
	began := time.Now()
	harness.Eventually(t, soon, "the request of the suspended account to end", func() bool {
		return metric(t, other, `punctual_runs_in_use{kind="job"}`) == 0
	})
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the request went on for %s", took)
	}
	create(other, `{"schedule_in":5,"url":"`+marker.URL+`"}`)
	marker.AwaitEnds(t, 1, soon)
	if n, m := len(target.Hits()), len(pending.Hits()); n != 1 || m != 0 {
		t.Errorf("while it was suspended the account made %d and %d requests, want the first one only", n, m)
	}
	s.Command(t, "accounts", "resume", suspended.Email)
	target.AwaitEnds(t, 2, soon)
	pending.AwaitEnds(t, 1, soon)
	// Nodes remember for a second what they have looked up.
	harness.Eventually(t, soon, "the key to work again", func() bool {
		a, err := suspended.Try("GET", "/api/jobs", nil)
		return err == nil && a.Status == 200
	})
	awaitState(t, suspended.Client, running, "completed")
	awaitState(t, suspended.Client, later, "completed")
}

// TestAJobPreparedAtThreeCrashesIsSetAside has the database take for ever over
// one job's claim, and kills the service each time it is at it.
func TestAJobPreparedAtThreeCrashesIsSetAside(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	path, isSQLite := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !isSQLite {
		t.Skip("plays on the database with SQLite's means")
	}
	target := harness.SharedTarget(t).Route(t)
	s.Kill() // from the next start on it is noted what is prepared
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetBusyTimeout(soon)
	err = sqlitex.ExecuteScript(db, `CREATE TRIGGER forever BEFORE INSERT ON logs WHEN new.payload LIKE '%/brew%'
		BEGIN SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000000000) SELECT count(*) FROM n); END;`, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	schedule := create(c, `{"url":"`+target.URL+`/brew","repeat_every":[1,"hour"]}`)
	for range 3 {
		harness.Eventually(t, soon, "the job to be prepared", func() bool {
			preparing := false
			err := sqlitex.ExecuteTransient(db, `SELECT 1 FROM suspects WHERE kind = 0 AND node = 1`, &sqlitex.ExecOptions{
				ResultFunc: func(*sqlite.Stmt) error { preparing = true; return nil },
			})
			return err == nil && preparing
		})
		s.Kill()
		s.Restart(t)
	}
	awaitState(t, c, schedule, "discarded")
	found := false
	for _, log := range c.Get("/api/logs?job_id=" + schedule.Get("job_id").Raw()).Want(200).Data().Items() {
		found = found || log.Get("payload.kind").Str() == "poisoned"
	}
	if !found {
		t.Error("no log says that the job was set aside")
	}
	if got := c.Get("/api/schedules/" + schedule.Get("schedule_id").Str()).Want(200).Data().Get("disabled_at").Str(); got == "" {
		t.Error("the schedule goes on with a job that ends the service")
	}
	create(c, `{"url":"`+target.URL+`/fine"}`)
	target.AwaitEnds(t, 1, soon)
	if n := metric(t, c, `punctual_runs_set_aside_total`); n != 1 {
		t.Errorf("%v runs were counted as set aside", n)
	}
}
