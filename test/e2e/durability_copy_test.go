package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// inFile returns the URL of a database in a new file.
func inFile(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "punctual.db")
}

// onServer returns the URL of an empty PostgreSQL database: one of those that
// the whole suite runs on, if it does.
func onServer(t *testing.T) string {
	t.Helper()
	if os.Getenv("PUNCTUAL_E2E_NEW_DATABASE") != "" {
		return harness.NewDatabase(t)
	}
	return pgtest.URL(t)
}

// toEach runs a test for every kind of database that can be copied to.
func toEach(t *testing.T, test func(t *testing.T, to string)) {
	for name, empty := range map[string]func(*testing.T) string{
		"SQLite": inFile, "PostgreSQL": onServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, empty(t))
		})
	}
}

// copied copies a database and returns what the command printed.
func copied(t *testing.T, from, to string) harness.JSON {
	t.Helper()
	var result harness.Result
	harness.Eventually(t, 3*soon, "the copy to be whole", func() bool {
		result = harness.Command(t, nil, "copy", "--from", from, "--to", to, "--json")
		return !stopped(result)
	})
	if result.Code != 0 {
		t.Fatalf("the copy ended with status %d\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	return harness.JSON(result.Stdout)
}

// stopped reports whether a copy says that it goes on if it is started again: a server that
// gets no processor for a second or two counts as down.
func stopped(copy harness.Result) bool {
	return strings.Contains(copy.Stderr, "start the same command again to go on")
}

// before is what a service did before its database is copied.
type before struct {
	*testing.T
	client           *harness.Client
	revoked          string // a key
	target, receiver *harness.Route

	repeating, far, cancelled, due, retried, called harness.JSON // jobs
}

// lead has a service do what the copy is to go on with: a schedule that keeps a
// state, jobs that wait, one that is tried again and a message that is.
func lead(t *testing.T, s *harness.Service) *before {
	t.Helper()
	a := s.Account(t)
	b := &before{T: t, client: a.Client, target: harness.SharedTarget(t).Route(t), receiver: harness.SharedTarget(t).Route(t)}
	id, revoked := s.NewKey(t, a.Email)
	s.Command(t, "keys", "revoke", id)
	b.revoked = revoked
	c := a.Client
	b.far = create(c, keyed("a key"))
	b.cancelled = cancel(c, create(c, with(waiting, `"name":"☃"`)))
	b.due = create(c, `{"schedule_in":20,"url":"`+b.target.URL+`/due"}`)

	failing := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	b.retried = create(c, `{"backoff":[3600],"url":"`+failing.URL+`"}`)
	b.receiver.RespondOnce(harness.Reply(503, "", "", "Retry-After", "20"))
	quiet := harness.SharedTarget(t).Route(t)
	b.called = create(c, `{"url":"`+quiet.URL+`","callback_url":"`+b.receiver.URL+`"}`)

	ticking := harness.SharedTarget(t).Route(t)
	ticking.RespondOnce(harness.JSONReply(`{"$set":{"n":1}}`)).Respond(harness.JSONReply(`{}`))
	b.repeating = create(c, `{"method":"post","body":{},"repeat_every":1,"url":"`+ticking.URL+`"}`)
	ticking.AwaitEnds(t, 2, soon)
	b.receiver.AwaitEnds(t, 1, soon)
	b.retried = awaitState(t, c, b.retried, "retryable")
	b.called = awaitState(t, c, b.called, "completed")
	awaitEnds(t, c, 5)
	return b
}

func TestDurabilityCopy_ServiceContinuesOnTheCopyOfItsDatabase(t *testing.T) {
	t.Parallel()
	toEach(t, func(t *testing.T, to string) {
		from := harness.Start(t, harness.Database(inFile(t)))
		b := lead(t, from)
		if code := from.Stop(); code != 0 {
			t.Fatalf("the service ended with status %d", code)
		}
		records := copied(t, from.DatabaseURL, to).Get("records")
		if records.Get("accounts").Int() != 2 || records.Get("keys").Int() < 2 || records.Get("schedules").Int() != 1 ||
			records.Get("deliveries").Int() != 1 {
			t.Errorf("the copy counts %s", records.Raw())
		}
		after := harness.Start(t, harness.Database(to))
		b.goesOn(after.Client(t, b.client.Key))
		after.Client(t, b.revoked).Get("/api/jobs").WantProblem(401)
	})
}

// goesOn wants all that was led to to go on, with the same key.
func (b *before) goesOn(c *harness.Client) {
	b.Helper()
	t, back := b.T, time.Now()
	for name, job := range map[string]harness.JSON{
		"a waiting job": b.far, "a cancelled job": b.cancelled, "a retryable job": b.retried, "a completed job": b.called,
	} {
		wantSame(t, name, c.Get(jobPath(job)).Want(200).Data(), job.Raw())
	}
	wantDuplicate(t, c.Post("/api/jobs", keyed("a key")), b.far)
	wantEvents(t, logsOf(c, b.called), "http.request", "http.response")

	due := b.target.Await(t, 1, 3*soon)[0]
	at := instant(t, b.due.Get("job.scheduled_at"))
	from := at // or, on a slow machine, when the service was back
	if back.After(at) {
		from = back
	}
	if due.At.Before(at) || due.At.Sub(from) > harness.Allowed(5*time.Second, from) {
		t.Errorf("the waiting job was due %s and made at %s, the service was back at %s", at, due.At, back)
	}
	calls := b.receiver.AwaitEnds(t, 2, soon)
	if calls[0].Header.Get("Webhook-Id") != calls[1].Header.Get("Webhook-Id") || string(calls[0].Body) != string(calls[1].Body) {
		t.Error("the message was sent again as another one")
	}
	if next := create(c, waiting); next.Get("job_id").Int() <= b.lastNumber() {
		t.Errorf("a new job has the number %s, which was given before", next.Get("job_id").Raw())
	}
	b.keepsItsGrid(c)
}

func (b *before) lastNumber() int64 { return int64(b.repeating.Get("job_id").Int()) }

// keepsItsGrid wants the schedule to have one unfinished job throughout, each
// run on its grid.
func (b *before) keepsItsGrid(c *harness.Client) {
	b.Helper()
	t := b.T
	schedule := b.repeating.Get("schedule_id").Str()
	first := instant(t, b.repeating.Get("job.scheduled_at"))
	var numbers []int
	harness.Eventually(t, soon, "further runs of the schedule", func() bool {
		if left := unfinished(c, schedule); len(left) != 1 {
			t.Errorf("want one unfinished job: %s", left)
		}
		numbers = numbers[:0]
		for _, job := range c.Get("/api/jobs?limit=100&schedule_id=" + schedule).Want(200).Data().Items() {
			if off := instant(t, job.Get("job.scheduled_at")).Sub(first) % time.Second; off != 0 {
				t.Errorf("a run is %s off the grid", off)
			}
			numbers = append(numbers, int(job.Get("job_id").Int()))
		}
		return len(numbers) >= 6
	})
	slices.Sort(numbers)
	if len(slices.Compact(numbers)) != len(numbers) {
		t.Errorf("numbers were given twice: %v", numbers)
	}
	c.Post(schedulePath(b.repeating)+"/disable", nil).Want(200)
	latest := c.Get("/api/logs?event=worker.http.request&limit=1&job_id=" + fmt.Sprint(numbers[len(numbers)-2])).Want(200).Data().Items()
	if len(latest) != 1 {
		t.Fatal("the latest run but one has no request log")
	}
	wantSame(t, "the schedule's state", harness.JSON(latest[0].Get("payload.body").Raw()).Member("$state"), `{"n":1}`)
}

func TestDurabilityCopy_AttemptUnderWayAtACrashIsRetriedOnTheCopy(t *testing.T) {
	t.Parallel()
	toEach(t, func(t *testing.T, to string) {
		from := harness.Start(t, harness.Database(inFile(t)))
		c := from.Account(t).Client
		target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
		job := create(c, `{"retries":0,"url":"`+target.URL+`"}`)
		target.Await(t, 1, soon)
		from.Kill()
		copied(t, from.DatabaseURL, to)
		after := harness.Start(t, harness.Database(to)).Client(t, c.Key)
		target.Await(t, 2, soon)
		awaitState(t, after, job, "completed")
		logs := logsOf(after, job)
		wantEvents(t, logs, "http.request", "http.error", "http.request", "http.response")
		wantSame(t, "kind", logs[1].Get("payload.kind"), `"interrupted"`)
	})
}

// TestDurabilityCopy_BackWaitsForANodeThatCrashed takes as long as the lease of
// a node lasts.
func TestDurabilityCopy_BackWaitsForANodeThatCrashed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	from, to := harness.Start(t, harness.Database(onServer(t))), inFile(t)
	c := from.Account(t).Client
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	job := create(c, `{"retries":0,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	from.Kill()
	var result harness.Result
	harness.Eventually(t, afterCrash(from), "the node that crashed to be missed", func() bool {
		result = harness.Command(t, nil, "copy", "--from", from.DatabaseURL, "--to", to)
		return !strings.Contains(result.Stderr, "until a few seconds ago") && !stopped(result)
	})
	if result.Code != 0 {
		t.Fatalf("the copy ended with status %d\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	after := harness.Start(t, harness.Database(to)).Client(t, c.Key)
	target.Await(t, 2, soon)
	awaitState(t, after, job, "completed")
	wantEvents(t, logsOf(after, job), "http.request", "http.error", "http.request", "http.response")
}

func TestDurabilityCopy_DatabaseInUseIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(from, to string, sentence string) {
		t.Helper()
		result := harness.Command(t, nil, "copy", "--from", from, "--to", to)
		if result.Code != 1 || !strings.Contains(result.Stderr, sentence) || result.Stdout != "" {
			t.Errorf("the copy ended with status %d\n%s%s\nwant 1 and %q", result.Code, result.Stdout, result.Stderr, sentence)
		}
	}
	file, server := harness.Start(t, harness.Database(inFile(t))), harness.Start(t, harness.Database(onServer(t)))
	stopped := harness.Start(t, harness.Database(inFile(t)))
	stopped.Stop()
	refused(file.DatabaseURL, inFile(t), "in use by another punctual")
	refused(server.DatabaseURL, inFile(t), "in use by another punctual")
	refused(stopped.DatabaseURL, file.DatabaseURL, "in use by another punctual")
	refused(stopped.DatabaseURL, server.DatabaseURL, "in use by another punctual")
	awaitReady(t, file)
}
