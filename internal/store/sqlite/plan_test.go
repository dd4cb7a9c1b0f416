package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// statementsOf returns the texts of the statements that a connection has prepared.
func statementsOf(conn *sqlite.Conn) []string {
	var texts []string
	for _, key := range reflect.ValueOf(conn).Elem().FieldByName("stmts").MapKeys() {
		texts = append(texts, key.String())
	}
	slices.Sort(texts)
	return texts
}

// prepared returns the statements that a store has run so far.
func prepared(t *testing.T, s *Store) []string {
	t.Helper()
	texts := statementsOf(s.writer.conn)
	for class, pool := range s.pools {
		for range connections[class] {
			conn, err := pool.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Put(conn)
			texts = append(texts, statementsOf(conn)...)
		}
	}
	return texts
}

// plan returns the steps of SQLite's query plan for a statement; none for
// statements that have no plan.
func plan(t *testing.T, s *Store, query string) []string {
	t.Helper()
	conn, err := s.pools[single].Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.pools[single].Put(conn)
	stmt, _, err := conn.PrepareTransient(`EXPLAIN QUERY PLAN ` + query)
	if err != nil {
		t.Fatalf("explaining %s: %v", query, err)
	}
	defer stmt.Finalize()
	var steps []string
	for {
		more, err := stmt.Step()
		if err != nil {
			t.Fatalf("explaining %s: %v", query, err)
		}
		if !more {
			return steps
		}
		steps = append(steps, stmt.GetText("detail"))
	}
}

// tame reports whether a step reads a bounded number of rows: a small table, a
// subquery that is bounded itself, or the few claimed queue items.
func tame(step string) bool {
	for _, prefix := range []string{"SCAN accounts", "SCAN (subquery", "SCAN CONSTANT ROW"} {
		if strings.HasPrefix(step, prefix) {
			return true
		}
	}
	return !strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "TEMP B-TREE") && !strings.Contains(step, "AUTOMATIC")
}

// Acceptable steps: there are few claimed queue items, and each of the merged
// lists by state contains at most one page.
const (
	claimed = "SCAN runs USING INDEX runs_claimed"
	merge   = "USE TEMP B-TREE FOR ORDER BY"
)

// hot are the operations whose cost must not grow with the number of records.
// Allowed lists acceptable steps.
var hot = []struct {
	name    string
	run     func(*scene) error
	uses    []string // indexes that must be used
	allowed []string
}{
	{name: "insert", run: func(c *scene) error { return c.insert() }, uses: []string{"jobs_key"}},
	{name: "insert with limits", run: func(c *scene) error {
		n := newJob(c.s, c.owner, `{}`)
		n.Caps.Pending = 5
		_, err := c.s.JobInsertMany(c.t.Context(), []store.NewJob{n})
		return err
	}, uses: []string{"jobs_list", "schedules_list"}},
	{name: "use", run: func(c *scene) error { _, err := c.s.AccountUse(c.t.Context(), c.owner.Number, 5); return err },
		uses: []string{"jobs_list", "schedules_list"}},
	{name: "bytes", run: func(c *scene) error {
		for part := range store.ByteParts {
			if _, _, err := c.s.AccountBytes(c.t.Context(), c.owner.Number, store.ByteCursor{Part: part}, 5); err != nil {
				return err
			}
		}
		return nil
	}, uses: []string{"jobs_list", "deliveries_job", "schedules_list", "logs_list"}},
	{name: "blocked", run: func(c *scene) error { _, err := c.s.AccountsBlocked(c.t.Context()); return err },
		uses: []string{"accounts_suspended", "accounts_purge"}},
	{name: "get by number", run: func(c *scene) error { return c.get(job.Ref{Number: c.job.Number}) }},
	{name: "get by UUID", run: func(c *scene) error { return c.get(job.Ref{UUID: c.job.ID}) }, uses: []string{"jobs_id"}},
	{name: "peek", run: func(c *scene) error { _, err := c.s.QueuePeek(c.t.Context(), c.ref, time.Time{}, 10); return err },
		uses: []string{"PRIMARY KEY"}},
	{name: "load", run: func(c *scene) error {
		_, err := c.s.QueueLoad(c.t.Context(), []store.QueueKey{c.ref, c.delivery})
		return err
	}},
	{name: "claim", run: func(c *scene) error { return c.claim() }, uses: []string{"PRIMARY KEY"}},
	{name: "finish", run: func(c *scene) error { return c.finish() }, uses: []string{"PRIMARY KEY", "deliveries_job"}},
	{name: "finish a delivery", run: func(c *scene) error { return c.finishDelivery() }, uses: []string{"PRIMARY KEY", "deliveries_job"}},
	{name: "release", run: func(c *scene) error { return c.release() }, uses: []string{"PRIMARY KEY", "deliveries_job", "logs_job"}},
	{name: "held", run: func(c *scene) error {
		_, err := c.s.QueueHeld(c.t.Context(), 1, []store.Claim{{QueueKey: c.ref}})
		return err
	}},
	{name: "cancel", run: func(c *scene) error { return c.cancel() }, uses: []string{"PRIMARY KEY"}},
	{name: "wait for a job", run: func(c *scene) error { return c.await() },
		uses: []string{"job_waits_open", "job_waits_pending", "job_ends_turn"},
		allowed: []string{"SCAN w", "USE TEMP B-TREE FOR DISTINCT", "SCAN json_each VIRTUAL TABLE INDEX 1:", "USE TEMP B-TREE FOR ORDER BY",
			"USE TEMP B-TREE FOR GROUP BY"}},
	{name: "disable", run: func(c *scene) error { return c.disable() }, uses: []string{"jobs_schedule"}},
	{name: "abandoned", run: func(c *scene) error { _, err := c.s.QueueAbandoned(c.t.Context(), 10); return err },
		uses:    []string{"runs_claimed"},
		allowed: []string{claimed}},
	{name: "start", run: func(c *scene) error { _, err := c.s.NodeStart(c.t.Context()); return err },
		allowed: []string{claimed, "SCAN suspects", "SCAN operations USING INDEX operations_running"}},
	{name: "key", run: func(c *scene) error { _, err := c.s.KeyFind(c.t.Context(), []byte("x")); return notFound(err) }},
	{name: "prune jobs", run: func(c *scene) error {
		_, err := c.s.JobPrune(c.t.Context(), c.s.Now(), store.PruneCursor{}, 10)
		return err
	}, uses: []string{"jobs_final (<expr>>? AND <expr><?)", "jobs_schedule"}},
	{name: "prune logs", run: func(c *scene) error {
		_, err := c.s.LogPrune(c.t.Context(), c.s.Now(), store.PruneCursor{}, 10)
		return err
	}, allowed: []string{claimed, "SCAN deliveries USING INDEX deliveries_parts"}},

	{name: "session", run: func(c *scene) error {
		_, err := c.s.SessionFind(c.t.Context(), []byte("x"), c.s.Now())
		return notFound(err)
	}, uses: []string{"PRIMARY KEY"}},
	{name: "audit", run: func(c *scene) error {
		return c.s.AuditInsert(c.t.Context(), &identity.AuditEntry{ID: uuid.New(), Account: c.owner.Number, Slot: "x", Count: 1,
			InsertedAt: c.s.Now(), LastAt: c.s.Now()})
	}, uses: []string{"audits_slot", "PRIMARY KEY"}},
	{name: "audit log", run: func(c *scene) error {
		_, err := c.s.AuditList(c.t.Context(), c.owner.Number, "x", c.job.ID, 10)
		return err
	}, uses: []string{"audits_list"}},
	{name: "prune the audit log", run: func(c *scene) error { _, err := c.s.AuditPrune(c.t.Context(), c.s.Now(), 10); return err },
		uses: []string{"audits_old"}},
	{name: "purge", run: func(c *scene) error {
		err := c.s.AccountDelete(c.t.Context(), c.owner.Number, c.s.Now())
		for n := 1; n > 0 && err == nil; {
			n, err = c.s.AccountPurge(c.t.Context(), c.s.Now(), 10)
		}
		return err
	}, uses: []string{"accounts_purge", "jobs_list", "logs_list", "schedules_list", "deliveries_job"}},
	{name: "statistics", run: func(c *scene) error {
		_, err := c.s.StatsRead(c.t.Context(), 1, 2, 3)
		return err
	}, uses: []string{"PRIMARY KEY"}},
	{name: "prune statistics", run: func(c *scene) error { _, err := c.s.StatsPrune(c.t.Context(), 1, 10); return err },
		uses: []string{"stats_old"}},
	{name: "count months", run: func(c *scene) error { return c.countMonths() },
		uses: []string{"jobs_final (<expr>=? AND rowid>?)", "jobs_final (<expr>>? AND <expr><?)", "jobs_schedule (schedule_id=? AND number>?)",
			"logs_job (job=? AND id>?)", "schedule_months USING PRIMARY KEY (account=? AND schedule=?)"}},
	{name: "prune months", run: func(c *scene) error { _, err := c.s.MonthsPrune(c.t.Context(), 1, 10); return err },
		uses: []string{"schedule_months_old (month<?)"}},
	{name: "copy months", run: func(c *scene) error {
		_, err := c.s.MonthsPage(c.t.Context(), c.owner.Number, c.job.ScheduleID, 1, 10)
		return err
	}, uses: []string{"schedule_months USING PRIMARY KEY (account=? AND (schedule"}},
	{name: "prune sessions", run: func(c *scene) error {
		_, err := c.s.SessionPrune(c.t.Context(), c.s.Now(), 10)
		return err
	}, uses: []string{"sessions_expired", "invites_expired"}},

	{name: "list", run: listJobs(job.Query{}), uses: []string{"jobs_list"}, allowed: []string{merge}},
	{name: "copy jobs", run: func(c *scene) error {
		_, err := c.s.JobPage(c.t.Context(), c.owner, 0, 10, job.PageBytes)
		return err
	}, uses: []string{"jobs_list", "j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"}, allowed: []string{merge}},
	{name: "list after", run: listJobs(job.Query{ListQuery: job.ListQuery{After: 100}}), uses: []string{"jobs_list"},
		allowed: []string{merge}},
	{name: "list scheduled", run: listJobs(job.Query{States: []job.State{job.Available, job.Retryable}}),
		uses: []string{"jobs_list", "runs_claimed"}, allowed: []string{merge}},
	{name: "list executing", run: listJobs(job.Query{States: []job.State{job.Executing}}), uses: []string{"runs_claimed"}},
	{name: "list completed", run: listJobs(job.Query{States: []job.State{job.Completed}}), uses: []string{"jobs_list"}},
	{name: "list of a schedule", run: listJobs(job.Query{Schedule: uuid.New()}), uses: []string{"jobs_schedule"}},
	{name: "list of a key", run: listJobs(job.Query{Key: new(string)}), uses: []string{"jobs_key"}},
	{name: "many", run: func(c *scene) error {
		_, err := c.s.JobGetMany(c.t.Context(), c.owner, []job.Ref{{Number: 1}, {UUID: uuid.New()}})
		return err
	}, uses: []string{"jobs_id"}},
	{name: "ended", run: func(c *scene) error {
		_, err := c.s.JobVersionsEnded(c.t.Context(), c.owner, c.s.Now(), 10)
		return err
	},
		uses: []string{"jobs_final"}},
	{name: "tally", run: func(c *scene) error {
		_, _, err := c.s.JobTally(c.t.Context(), c.owner, job.Query{}, 10)
		return err
	}, uses: []string{"jobs_list", "runs_claimed"}},
	{name: "tally of a tag", run: func(c *scene) error {
		_, _, err := c.s.JobTally(c.t.Context(), c.owner, job.Query{Tags: []string{"a"}}, 10)
		return err
	}, uses: []string{"job_tags USING PRIMARY KEY"}},
	{name: "tally of a schedule", run: func(c *scene) error {
		_, _, err := c.s.JobTally(c.t.Context(), c.owner, job.Query{Schedule: c.job.ScheduleID}, 10)
		return err
	}, uses: []string{"jobs_schedule", "SEARCH r USING PRIMARY KEY (due=? AND kind=? AND number=?)"}},
	{name: "tally of a tag and a host", run: func(c *scene) error {
		_, _, err := c.s.JobTally(c.t.Context(), c.owner, job.Query{Tags: []string{"a"}, Host: "a"}, 10)
		return err
	}, uses: []string{"jobs_host", "job_tags USING PRIMARY KEY"}},
	{name: "list of a tag", run: listJobs(job.Query{Tags: []string{"a"}}), uses: []string{"g USING PRIMARY KEY"}},
	{name: "list of a tag after", run: listJobs(job.Query{Tags: []string{"a"}, ListQuery: job.ListQuery{After: 100}}),
		uses: []string{"g USING PRIMARY KEY (account=? AND tag=? AND number<?)"}},
	{name: "list of a host", run: listJobs(job.Query{Host: "a"}), uses: []string{"jobs_host"}},
	{name: "list of a name", run: listJobs(job.Query{Name: new(string)}), uses: []string{"jobs_name"}},
	{name: "walk by everything", run: func(c *scene) error {
		q := job.Query{
			ListQuery: job.ListQuery{Limit: 10}, States: []job.State{job.Available, job.Executing, job.Completed}, Schedule: uuid.New(),
			Key:  new(string),
			Tags: []string{"a", "b"}, Host: "a", Name: new(string), Since: time.Unix(1, 0), Until: time.Unix(2, 0),
		}
		_, _, err := c.s.JobScan(c.t.Context(), c.owner, q, 100, nil)
		return err
	}, uses: []string{"jobs_id"}},
	{name: "walk by state and tag", run: func(c *scene) error {
		q := job.Query{ListQuery: job.ListQuery{Limit: 10}, States: []job.State{job.Available}, Tags: []string{"a"}}
		_, _, err := c.s.JobScan(c.t.Context(), c.owner, q, 100, nil)
		return err
	}, uses: []string{"job_tags USING PRIMARY KEY"}},
	{name: "schedules of a tag", run: func(c *scene) error {
		_, err := c.s.ScheduleList(c.t.Context(), c.owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 10}, Tags: []string{"a"}})
		return err
	}, uses: []string{"g USING PRIMARY KEY (account=? AND tag=?)"}},
	{name: "scan", run: scanJobs(job.Query{}), uses: []string{"jobs_list"}, allowed: []string{merge}},
	{name: "scan after by state", run: scanJobs(job.Query{ListQuery: job.ListQuery{After: 100}, States: []job.State{job.Completed}}),
		uses: []string{"jobs_list"}},
	{name: "schedules", run: func(c *scene) error {
		_, err := c.s.ScheduleList(c.t.Context(), c.owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 10}})
		return err
	}, uses: []string{"schedules_list"}},
	{name: "logs", run: listLogs(job.LogQuery{}), uses: []string{"logs_list"}},
	{name: "logs after", run: listLogs(job.LogQuery{ListQuery: job.ListQuery{AfterID: uuid.New()}}), uses: []string{"logs_list"}},
	{name: "logs by job number", run: listLogs(job.LogQuery{Job: &job.Ref{Number: 1}}), uses: []string{"logs_job"}},
	{name: "logs by job UUID", run: listLogs(job.LogQuery{Job: &job.Ref{UUID: uuid.New()}}), uses: []string{"logs_job", "jobs_id"}},
	{name: "logs of a rare event", run: listLogs(job.LogQuery{Event: job.EventCallbackFailed}), uses: []string{"logs_event"}},
	{name: "logs of a rare event of a job", run: listLogs(job.LogQuery{Event: job.EventError, Job: &job.Ref{Number: 1}}),
		uses: []string{"logs_job"}},
	{name: "logs of a common event", run: listLogs(job.LogQuery{Event: job.EventRequest}), uses: []string{"logs_list"}},
	{name: "logs oldest first", run: listLogs(job.LogQuery{Oldest: true, Since: time.Unix(1, 0), Until: time.Unix(2, 0)}),
		uses: []string{"logs_list"}},
	{name: "logs of a schedule", run: walkLogs(job.LogQuery{}), uses: []string{"jobs_schedule", "logs_job"}},
	{name: "logs of a schedule after", run: walkLogs(job.LogQuery{
		Event: job.EventError, Since: time.Unix(1, 0), ListQuery: job.ListQuery{After: 1, AfterID: uuid.New()},
	}), uses: []string{"jobs_schedule", "logs_job"}},
	{name: "logs of a schedule oldest first", run: walkLogs(job.LogQuery{Oldest: true}), uses: []string{"jobs_schedule", "logs_job"}},
	{name: "runs of schedules", run: func(c *scene) error {
		_, err := c.s.ScheduleRuns(c.t.Context(), c.owner, []uuid.UUID{c.job.ScheduleID}, 10)
		return err
	}, uses: []string{"jobs_schedule", "logs_job"}},
	// It sorts the owner's pending jobs, of which it reads a bounded number.
	{name: "due", run: func(c *scene) error {
		_, err := c.s.JobsDue(c.t.Context(), c.owner, c.s.Now().Add(time.Hour), 10, 1)
		return err
	}, uses: []string{"PRIMARY KEY"}, allowed: []string{merge}},
	{name: "failed", run: func(c *scene) error {
		_, err := c.s.FailedJobs(c.t.Context(), c.owner, time.Unix(1, 0), 10)
		return err
	}, uses: []string{"jobs_failed"}},
	{name: "origins", run: func(c *scene) error {
		_, err := c.s.JobOrigins(c.t.Context(), c.owner, []int64{1, 2})
		return err
	}, uses: []string{"INTEGER PRIMARY KEY"}, allowed: []string{"SCAN json_each"}},
	{name: "failing schedules", run: func(c *scene) error {
		_, err := c.s.SchedulesFailing(c.t.Context(), c.owner, 10)
		return err
	}, uses: []string{"schedules_failing"}},
	// It sorts the owner's pending jobs, of which it reads a bounded number.
	{name: "jobs ahead", run: func(c *scene) error {
		now := c.s.Now()
		_, err := c.s.JobsAhead(c.t.Context(), c.owner, []time.Time{now.Add(-time.Hour), now.Add(time.Hour)}, 10, 1, 100)
		return err
	}, uses: []string{"runs USING PRIMARY KEY", "jobs_list", "jobs USING INTEGER PRIMARY KEY"}, allowed: []string{merge}},
	{name: "jobs that name a limit", run: func(c *scene) error {
		_, err := c.s.LimitJobs(c.t.Context(), c.owner, "a", limit.Position{}, 10)
		return err
	}},
	// It sorts the account's limits, of which there is a bounded number.
	{name: "limits waiting", run: func(c *scene) error { _, err := c.s.LimitsWaiting(c.t.Context(), c.owner, 10, 10); return err },
		uses: []string{"l USING PRIMARY KEY", "limit_items_key"}, allowed: []string{"SCAN f", "SCAN n", "SCAN (subquery", "USE TEMP B-TREE"}},
	{name: "schedules of a name", run: func(c *scene) error {
		_, err := c.s.SchedulesNamed(c.t.Context(), c.owner, "x", 10)
		return err
	}, uses: []string{"schedules_name"}},
	{name: "ended runs of a schedule", run: func(c *scene) error {
		_, _, err := c.s.RunsEnded(c.t.Context(), c.owner, uuid.New(), 10)
		return err
	}, uses: []string{"jobs_schedule"}},
	{name: "names of schedules", run: func(c *scene) error {
		_, err := c.s.ScheduleNames(c.t.Context(), c.owner, []uuid.UUID{uuid.New()})
		return err
	}},
	{name: "mutes", run: func(c *scene) error {
		_, err := c.s.MuteList(c.t.Context(), c.owner.Number, nil)
		return err
	}, uses: []string{"m USING PRIMARY KEY"}},
	{name: "alert states", run: func(c *scene) error { _, err := c.s.AlertStates(c.t.Context(), c.owner, 10); return err },
		uses: []string{"alert_states USING PRIMARY KEY"}, allowed: []string{"SCAN (subquery", "SCAN a"}},
	{name: "messages of alerts", run: func(c *scene) error {
		_, _, err := c.s.AlertMessages(c.t.Context(), c.owner, []int64{1, 2}, 10)
		return err
	}, uses: []string{"deliveries_job"}},
	// They sort schedules, of which they read a bounded number.
	{name: "schedules due", run: func(c *scene) error {
		_, err := c.s.SchedulesDue(c.t.Context(), c.owner, 10, 0)
		return err
	}, uses: []string{"schedules_list", "jobs_schedule", "runs USING PRIMARY KEY"}, allowed: []string{merge, "SCAN n", "SCAN r"}},
	{name: "log", run: func(c *scene) error { _, err := c.s.LogGet(c.t.Context(), c.owner, uuid.New()); return notFound(err) },
		uses: []string{"logs_list"}},
}

func TestHotOperations_UseTheirIndexes(t *testing.T) {
	built := build(t)
	for _, c := range hot {
		t.Run(c.name, func(t *testing.T) {
			scene := built.copied(t)
			before := prepared(t, scene.s)
			if err := c.run(scene); err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, query := range prepared(t, scene.s) {
				if slices.Contains(before, query) || strings.HasPrefix(query, "PRAGMA") {
					continue
				}
				for _, step := range plan(t, scene.s, query) {
					steps = append(steps, step)
					if !tame(step) && !slices.ContainsFunc(c.allowed, func(a string) bool { return strings.HasPrefix(step, a) }) {
						t.Errorf("%q in:\n%s", step, query)
					}
				}
			}
			for _, index := range c.uses {
				if !strings.Contains(strings.Join(steps, "\n"), index) {
					t.Errorf("%s is not used:\n%s", index, strings.Join(steps, "\n"))
				}
			}
		})
	}
}

// TestCombinedLists_UseTheIndexOfAFilter verifies the plans of statements that are
// not kept.
func TestCombinedLists_UseTheIndexOfAFilter(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	for name, c := range map[string]struct {
		query job.Query
		index string
	}{
		"list of a schedule by state": {job.Query{Schedule: uuid.New(), States: []job.State{job.Completed}}, "jobs_schedule"},
		"list of a schedule by states": {job.Query{Schedule: uuid.New(), States: []job.State{job.Available, job.Executing, job.Completed}},
			"jobs_schedule"},
		"list of a key by states": {job.Query{Key: new(string), States: []job.State{job.Available, job.Executing, job.Completed}},
			"jobs_key"},
		"list of a key and a schedule": {job.Query{Key: new(string), Schedule: uuid.New()}, "jobs_schedule"},
		"list of two tags":             {job.Query{Tags: []string{"a", "b"}}, "g USING PRIMARY KEY"},
		"list of a tag and a host":     {job.Query{Tags: []string{"a"}, Host: "a"}, "g USING PRIMARY KEY"},
		"list of a name and a host":    {job.Query{Name: new(string), Host: "a"}, "jobs_name"},
		"list of a host by state":      {job.Query{Host: "a", States: []job.State{job.Completed}}, "jobs_host"},
		"list of a tag and times": {job.Query{Tags: []string{"a"}, Since: time.Unix(1, 0), Until: time.Unix(2, 0)},
			"g USING PRIMARY KEY"},
		"list of a schedule and tag": {job.Query{Tags: []string{"a"}, Schedule: uuid.New()}, "jobs_schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			c.query.Limit = 10
			query, _ := (&tx{store: s, now: s.Now()}).filteredNumbers(job.Owner{Number: 1}, c.query)
			steps := plan(t, s, query)
			for _, step := range steps {
				if !tame(step) && step != claimed {
					t.Errorf("%q in:\n%s", step, query)
				}
			}
			if !strings.Contains(strings.Join(steps, "\n"), c.index) {
				t.Errorf("%s is not used:\n%s", c.index, strings.Join(steps, "\n"))
			}
		})
	}
}

// scene is a store with one record of each kind, in which statements are run.
type scene struct {
	t        *testing.T
	s        *Store
	owner    job.Owner
	node     int64
	job      *job.Job
	ref      store.QueueKey
	delivery store.QueueKey
}

// build creates the database of a scene. Each test case uses a copy.
func build(t *testing.T) scene {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	c := scene{t: t, s: s, node: thisNode, owner: addOwner(t, s)}
	n := newJob(s, c.owner, `{}`)
	n.Schedule = &job.Schedule{ID: job.NewID(s.Now()), Owner: c.owner, InsertedAt: s.Now(), FirstDue: s.Now(), Args: rawjson.Value(`{}`)}
	n.Job.ScheduleID = n.Schedule.ID
	insert(t, s, n)
	c.job = n.Job
	if err := c.change(&store.Changes{Deliveries: []job.Delivery{c.event(), c.event()}}); err != nil {
		t.Fatal(err)
	}
	refs, err := s.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 10)
	if err != nil || len(refs) != 2 {
		t.Fatalf("QueuePeek = %v, %v", refs, err)
	}
	c.ref, c.delivery = refs[0], refs[1]
	return c
}

// copied opens a copy, whose connections have prepared no statements yet.
func (c scene) copied(t *testing.T) *scene {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.db")
	data, err := os.ReadFile(c.s.path)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.t, c.s = t, openAt(t, path, true)
	t.Cleanup(func() { closeStore(t, c.s) })
	return &c
}

func notFound(err error) error {
	if err != nil && strings.Contains(err.Error(), "there is no such") {
		return nil
	}
	return err
}

func (c *scene) event() job.Delivery {
	return job.Delivery{
		MessageID: uuid.NewString(), Owner: c.owner, Job: c.job.Number, JobAttempt: 1, Channel: job.Webhook,
		URL: "https://example.com/", Event: "job.started", DueAt: c.s.Now(), Body: rawjson.Value(`{}`),
	}
}

func (c *scene) change(changes *store.Changes) error {
	_, err := c.s.JobChange(c.t.Context(), c.owner, job.Ref{Number: c.job.Number}, func(*store.Snapshot) *store.Changes { return changes })
	return err
}

func (c *scene) insert() error {
	key := "key"
	n := newJob(c.s, c.owner, `{}`)
	n.Job.Key = &key
	_, err := c.s.JobInsertMany(c.t.Context(), []store.NewJob{n})
	return err
}

// await stores a job that waits for the scene's, ends that one and releases the other.
func (c *scene) await() error {
	ctx := c.t.Context()
	n := newJob(c.s, c.owner, `{}`)
	n.Job.DueAt, n.Await = job.WaitingDue, &store.Await{Batch: true, Jobs: []job.AwaitedJob{{Number: c.job.Number}}}
	stored, err := c.s.JobInsertMany(ctx, []store.NewJob{n})
	if err != nil {
		return err
	}
	if _, err := c.s.WaitsOf(ctx, c.owner, stored[0].Job.Number, 100); err != nil {
		return err
	}
	if _, err := c.s.WaitPage(ctx, c.owner.Number, 0, 0, 100); err != nil {
		return err
	}
	if err := c.cancel(); err != nil {
		return err
	}
	if _, _, err := c.s.WaitSweep(ctx, store.WaitCursor{}, 100); err != nil {
		return err
	}
	account, err := c.s.WaitTurn(ctx, 0)
	if err != nil {
		return err
	}
	_, err = c.s.WaitApply(ctx, store.WaitStep{Account: account, Limit: 100,
		Decide: func(_ *store.Released, m *store.Snapshot) *store.Changes {
			j := *m.Job
			j.DueAt = m.Now
			return &store.Changes{Job: &j}
		}})
	return err
}

func (c *scene) get(id job.Ref) error {
	_, err := c.s.JobGet(c.t.Context(), c.owner, id)
	return err
}

func (c *scene) claimOf(ref store.QueueKey) store.Claim {
	claim := store.Claim{QueueKey: ref, Attempt: 1, StartAt: c.s.Now().Add(time.Hour)}
	if ref.Kind == store.KindJob {
		at := claim.StartAt
		claim.Log = &job.Log{ID: job.NewID(at), Owner: c.owner, Job: c.job.Number, Event: job.EventRequest, InsertedAt: at,
			Payload: rawjson.Value(`{}`)}
		claim.Deliveries = []job.Delivery{c.event()}
	}
	return claim
}

func (c *scene) claim() error {
	_, err := c.s.QueueClaim(c.t.Context(), c.node, []store.Claim{c.claimOf(c.ref)})
	return err
}

func (c *scene) finish() error {
	if err := c.claim(); err != nil {
		return err
	}
	_, err := c.s.QueueFinish(c.t.Context(), []store.Finish{{QueueKey: c.ref, Node: c.node, Attempt: 1, Job: c.job,
		Decide: func(m *store.Snapshot) *store.Changes {
			j := *c.job
			j.State, j.CompletedAt = job.Completed, c.s.Now()
			next := newJob(c.s, c.owner, `{}`)
			next.Job.ScheduleID = c.job.ScheduleID
			return &store.Changes{Job: &j, Schedule: m.Schedule, Next: &next, Deliveries: []job.Delivery{c.event()}}
		}}})
	return err
}

// countMonths ends the job, whose logs must be read as it has no start, and counts it.
func (c *scene) countMonths() error {
	if err := c.finish(); err != nil {
		return err
	}
	ctx := c.t.Context()
	mark, err := c.s.MonthsCursor(ctx)
	if err != nil {
		return err
	}
	ended, err := c.s.MonthsEnded(ctx, mark, c.s.Now().Add(time.Hour), 10)
	if err != nil {
		return err
	}
	read, err := c.s.MonthsRead(ctx, ended.Keys, 10)
	if err != nil || len(read) != 1 || len(read[0].Runs) != 1 {
		return fmt.Errorf("MonthsRead = %v, %w", read, err)
	}
	key := read[0].ScheduleKey
	err = c.s.MonthsWrite(ctx, []store.MonthsChange{{ScheduleKey: key, Months: []*store.ScheduleMonth{
		{ScheduleKey: key, Month: 1, Through: c.job.Number, Counts: []byte{1}},
	}}})
	if err != nil {
		return err
	}
	return c.s.MonthsCursorPut(ctx, ended.Next)
}

func (c *scene) finishDelivery() error {
	if _, err := c.s.QueueClaim(c.t.Context(), c.node, []store.Claim{c.claimOf(c.delivery)}); err != nil {
		return err
	}
	_, err := c.s.QueueFinish(c.t.Context(), []store.Finish{{
		QueueKey: c.delivery, Node: c.node, Attempt: 1, Delivery: &store.DeliveryEnd{Attempt: 1, Again: c.s.Now().Add(time.Hour)},
	}})
	return err
}

func (c *scene) release() error {
	if err := c.claim(); err != nil {
		return err
	}
	return c.s.QueueRelease(c.t.Context(), c.node, []store.Claim{c.claimOf(c.ref)})
}

func (c *scene) cancel() error {
	if err := c.claim(); err != nil {
		return err
	}
	j := *c.job
	j.State, j.CancelledAt = job.Cancelled, c.s.Now()
	return c.change(&store.Changes{Job: &j, RollbackClaim: true})
}

func (c *scene) disable() error {
	_, err := c.s.ScheduleChange(c.t.Context(), c.owner, c.job.ScheduleID, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Schedule: m.Schedule}
	})
	return err
}

func listJobs(q job.Query) func(*scene) error {
	return func(c *scene) error {
		q.Limit = 10
		_, err := c.s.JobList(c.t.Context(), c.owner, q)
		return err
	}
}

func scanJobs(q job.Query) func(*scene) error {
	return func(c *scene) error {
		q.Limit = 10
		_, _, err := c.s.JobScan(c.t.Context(), c.owner, q, 100, func(*job.Job) bool { return true })
		return err
	}
}

func walkLogs(q job.LogQuery) func(*scene) error {
	return func(c *scene) error {
		q.Limit = 10
		_, err := c.s.LogWalk(c.t.Context(), c.owner, c.job.ScheduleID, q, 1)
		return err
	}
}

func listLogs(q job.LogQuery) func(*scene) error {
	return func(c *scene) error {
		q.Limit = 10
		_, err := c.s.LogList(c.t.Context(), c.owner, q)
		return err
	}
}
