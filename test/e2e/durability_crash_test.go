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

// crashed starts a service and an account on it that survives crashes.
func crashed(t *testing.T, opts ...harness.Option) (*harness.Service, *harness.Client) {
	t.Helper()
	s := harness.Start(t, opts...)
	return s, s.Account(t).Client
}

// takenUp is how soon after a restart the attempts that were under way at a
// crash are retried. Where several nodes are possible, the lease of the crashed
// node has to expire first.
func takenUp(s *harness.Service) time.Duration {
	if strings.HasPrefix(s.DatabaseURL, "sqlite:") {
		return time.Second
	}
	return 20 * time.Second
}

// afterCrash is how long a test waits for what follows a restart.
func afterCrash(s *harness.Service) time.Duration { return 2*soon + takenUp(s) }

// awaitEnds waits until the ends of n attempts, of jobs and deliveries alike,
// have been stored; an attempt killed before that is retried, as it should be.
func awaitEnds(t *testing.T, c *harness.Client, n float64) {
	t.Helper()
	harness.Eventually(t, soon, "attempts to be recorded", func() bool {
		return metric(t, c, `punctual_batch_size_sum{operation="finish"}`) >= n
	})
}

func TestDurabilityCrash_RetriesAttemptsUnderWayInTime(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t)
	const n = 20
	for range n {
		target.RespondOnce(harness.Hang())
	}
	jobs := map[string]harness.JSON{}
	for i := range n {
		job := create(c, fmt.Sprintf(`{"retries":0,"url":"%s/%d"}`, target.URL, i))
		jobs[job.Get("job_id").Raw()] = job
	}
	target.Await(t, n, soon)
	s.Kill()
	target.AwaitEnds(t, n, afterCrash(s))
	s.Restart(t)
	back := time.Now()
	hits := target.AwaitEnds(t, 2*n, afterCrash(s))
	for _, hit := range hits[n:] {
		if late := hit.At.Sub(back); late > harness.Allowed(takenUp(s), back) {
			t.Errorf("made again %s after the restart", late)
		}
		delete(jobs, hit.Header.Get("X-Punctual-Job-Id"))
	}
	if len(jobs) > 0 {
		t.Errorf("%d attempts were not made again", len(jobs))
	}
}

func TestDurabilityCrash_IsLoggedAndTheJobContinues(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	receiver := harness.SharedTarget(t).Route(t)
	job := create(c, `{"retries":0,"url":"`+target.URL+`","webhook_url":"`+receiver.URL+`"}`)
	target.Await(t, 1, soon)
	receiver.AwaitEnds(t, 2, soon)
	awaitEnds(t, c, 2)
	s.Kill()
	s.Restart(t)
	target.Await(t, 2, afterCrash(s))
	done := awaitState(t, c, job, "completed")
	logs := logsOf(c, job)
	wantEvents(t, logs, "http.request", "http.error", "http.request", "http.response")
	wantSame(t, "kind", logs[1].Get("payload.kind"), `"interrupted"`)
	wantMatch(t, "retry_at", logs[1].Get("payload.retry_at"), microsPattern)
	wantTimes(t, done, "attempted_at", "completed_at")
	if latest := instant(t, done.Get("job.attempted_at")); latest.Before(instant(t, logs[1].Get("inserted_at"))) {
		t.Errorf("attempted_at %s is not of the latest attempt", latest)
	}
	hits := receiver.AwaitEnds(t, 7, afterCrash(s))
	wantTypes(t, hits, "started", "request", "error", "started", "request", "response", "finished")
	wantSame(t, "kind", hits[2].JSON().Get("data.error.kind"), `"interrupted"`)
}

func TestDurabilityCrash_JobThatMustNotBeSentAgainIsDiscarded(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	receiver := harness.SharedTarget(t).Route(t)
	job := create(c, `{"method":"post","url":"`+target.URL+`","body":[1],"no_retry":["interrupted"],"callback_url":"`+receiver.URL+`"}`)
	target.Await(t, 1, soon)
	s.Kill()
	s.Restart(t)
	callback := receiver.Await(t, 1, afterCrash(s))[0].JSON()
	wantSame(t, "error.kind", callback.Get("error.kind"), `"interrupted"`)
	wantSame(t, "request.body", callback.Get("request.body"), `[1]`)
	awaitState(t, c, job, "discarded")
	logs := logsOf(c, job)
	wantEvents(t, logs, "http.request", "http.error")
	wantSame(t, "retry_at", logs[1].Get("payload.retry_at"), "null")
	if n := len(target.Hits()); n != 1 {
		t.Errorf("the request was sent %d times", n)
	}
}

func TestDurabilityCrash_LosesNothingAndStartsNothingEarly(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t)
	dues := map[string]time.Time{}
	for i := range 40 {
		job := create(c, fmt.Sprintf(`{"schedule_in":%.2f,"url":"%s"}`, 0.2+float64(i)*0.05, target.URL))
		dues[job.Get("job_id").Raw()] = instant(t, job.Get("job.scheduled_at"))
	}
	target.Await(t, 3, soon)
	s.Kill()
	s.Restart(t)
	target.Await(t, len(dues), afterCrash(s))
	for _, hit := range target.Hits() {
		id := hit.Header.Get("X-Punctual-Job-Id")
		if hit.At.Before(dues[id]) {
			t.Errorf("job %s was due %s and made at %s", id, dues[id], hit.At)
		}
	}
	// One hit may be the second of a job, while another job waits to be reclaimed.
	for id := range dues {
		harness.Eventually(t, afterCrash(s), "job "+id+" to be completed", func() bool {
			return c.Get("/api/jobs/"+id).Want(200).Data().Get("job.state").Str() == "completed"
		})
	}
}

func TestDurabilityCrash_ScheduleContinuesWithOneUnfinishedJob(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.JSONReply(`{"$set":{"n":1}}`), harness.Hang()).Respond(harness.JSONReply(`{}`))
	first := create(c, `{"method":"post","body":{},"repeat_every":1,"url":"`+target.URL+`"}`)
	target.Await(t, 2, soon)
	s.Kill()
	due := instant(t, first.Get("job.scheduled_at"))
	passed(t, due.Add(3200*time.Millisecond))
	s.Restart(t)
	if left := unfinished(c, first.Get("schedule_id").Str()); len(left) != 1 {
		t.Errorf("want one unfinished job: %s", left)
	}
	hits := target.Await(t, 5, afterCrash(s))
	c.Post(schedulePath(first)+"/disable", nil).Want(200)
	if due := ticks(t, first, hits); due[0] != 0 || due[1] != due[2] || due[3] < 4 {
		t.Errorf("runs were due %v s after the first: want the second twice, and no other late one", due)
	}
	wantFollowing(t, c, first, hits[:2])
	wantFollowing(t, c, first, hits[2:])
	for _, hit := range hits[1:] {
		wantSame(t, "$state", hit.JSON().Member("$state"), `{"n":1}`)
	}
}

func TestDurabilityCrash_DeliveriesSurvive(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	receiver.RespondOnce(harness.Hang())
	job := create(c, `{"url":"`+target.URL+`","webhook_url":"`+receiver.URL+`"}`)
	receiver.Await(t, 1, soon)
	awaitState(t, c, job, "completed")
	s.Kill()
	s.Restart(t)
	hits := receiver.Await(t, 5, afterCrash(s))
	wantTypes(t, hits, "started", "started", "request", "response", "finished")
	if hits[0].Header.Get("Webhook-Id") != hits[1].Header.Get("Webhook-Id") {
		t.Error("the message under way at the crash was sent again under another id")
	}
}

func TestDurabilityCrash_RedeliverySurvives(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	receiver.RespondOnce(harness.Status(500))
	job := create(c, `{"url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`)
	first := receiver.AwaitEnds(t, 1, soon)[0]
	awaitEnds(t, c, 2)
	s.Kill()
	s.Restart(t)
	again := receiver.Await(t, 2, afterCrash(s))[1]
	if wait := again.At.Sub(first.End); wait < 4900*time.Millisecond || wait > harness.Allowed(8*time.Second, first.End) {
		t.Errorf("tried again after %s, want 5 s", wait)
	}
	wantSame(t, "the job", again.JSON().Get("job.id"), job.Get("id").Raw())
}

func TestDurabilityCrash_RetrySurvives(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	job := awaitState(t, c, create(c, `{"url":"`+target.URL+`"}`), "retryable")
	retryAt := instant(t, logsOf(c, job)[1].Get("payload.retry_at"))
	s.Kill()
	s.Restart(t)
	if now := c.Get(jobPath(job)).Want(200).Data(); time.Now().Before(retryAt) {
		wantSame(t, "the job after the restart", now, job.Raw())
	}
	again := target.Await(t, 2, afterCrash(s))[1]
	if again.At.Before(retryAt) || again.At.Sub(retryAt) > harness.Allowed(2*time.Second, retryAt) {
		t.Errorf("tried again at %s, want %s", again.At, retryAt)
	}
	if got := again.Header.Get("X-Punctual-Attempt"); got != "2" {
		t.Errorf("the second attempt says it is %q", got)
	}
}

func TestDurabilityCrash_KeepsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	s, c := crashed(t)
	job := create(c, with(keyed("k"), `"repeat_every":60,"name":"n"`))
	cancelled := cancel(c, create(c, waiting))
	disabled := create(c, with(waiting, `"repeat_every":60`))
	at := c.Post(schedulePath(disabled)+"/disable", nil).Want(200).Data()
	gone := create(c, with(waiting, `"repeat_every":60`))
	c.Do("DELETE", schedulePath(gone), nil).Want(204)
	s.Kill()
	s.Restart(t)
	wantSame(t, "a created job", c.Get(jobPath(job)).Want(200).Data(), job.Raw())
	wantDuplicate(t, c.Post("/api/jobs", keyed("k")), job)
	wantSame(t, "a cancelled job", c.Get(jobPath(cancelled)).Want(200).Data(), cancelled.Raw())
	wantSame(t, "a disabled schedule", c.Get(schedulePath(disabled)).Want(200).Data(), at.Raw())
	c.Get(schedulePath(gone)).WantProblem(404)
}

// TestDurabilityCrash_JobPreparedAtThreeIsSetAside makes the database hang on
// the claim of one job, and kills the service each time it tries.
func TestDurabilityCrash_JobPreparedAtThreeIsSetAside(t *testing.T) {
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
	err = sqlitex.ExecuteScript(db, `CREATE TRIGGER forever BEFORE INSERT ON logs WHEN new.event = 1 AND (SELECT name FROM jobs WHERE number = new.job) = 'brew'
		BEGIN SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000000000) SELECT count(*) FROM n); END;`, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	schedule := create(c, `{"url":"`+target.URL+`/brew","name":"brew","repeat_every":[1,"hour"]}`)
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
