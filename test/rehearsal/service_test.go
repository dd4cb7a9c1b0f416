// Package rehearsal compares rehearsals with the service, which runs the same schedules in
// virtual time: its rules, its engine and the store for SQLite, with targets that take as
// long and fail as often as the rehearsal said.
package rehearsal

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// running is the service in virtual time, on a store for SQLite, with targets that respond
// as a rehearsal has them.
type running struct {
	store    *sqlite.Store
	service  *service.Service
	owner    job.Owner
	fail     map[string]float64
	duration map[string]time.Duration
	stop     context.CancelFunc
	parts    sync.WaitGroup
	close    func()

	mu       sync.Mutex
	starts   map[int64]time.Time // by job, when its first request arrived
	attempts map[int64]int       // by job, how many requests arrived
}

// emptyDatabase is the file of a database without records. Copying it is faster than
// making its tables.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rehearse")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// start starts the service in a directory, as package app does.
func start(t *testing.T, dir string, file []byte) *running {
	t.Helper()
	path := filepath.Join(dir, "service.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{store: s, owner: job.Owner{ID: uuid.New()}, stop: cancel, starts: map[int64]time.Time{}, attempts: map[int64]int{}}
	account := &identity.Account{Owner: r.owner, Email: "a@example.com", CreatedAt: time.Now(),
		Secrets: []identity.Secret{{Value: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", CreatedAt: time.Now()}}}
	if err := s.AccountInsert(ctx, account); err != nil {
		t.Fatal(err)
	}
	r.owner = account.Owner
	number, err := s.NodeStart(ctx)
	if err != nil {
		t.Fatal(err)
	}
	log, measured := slog.New(slog.DiscardHandler), metrics.New("rehearse")
	var dispatcher *dispatch.Dispatcher
	runner := attempt.New(attempt.Config{
		Queue: s, Jobs: s, Client: r, Secrets: r, Logs: s, Groups: s, Runs: s, Metrics: measured, Log: log,
		Random: func() float64 { return 0 },
		LimitStarted: func(account, job int64, keys []string, until, at time.Time) {
			dispatcher.LimitStarted(account, job, keys, until, at)
		},
		LimitsFreed: func(account int64, keys []string) { dispatcher.LimitsFreed(account, keys) },
	})
	dispatcher = dispatch.New(dispatch.Config{
		Queue: s, Node: number, Concurrency: 100, Prepare: runner.Prepare, Deadline: lifecycle.Deadline, Log: log,
		ObserveClaims: measured.BatchSize("claim"), SetAside: runner.SetAside, Blocked: s, Budget: dispatch.Budget,
	})
	s.Subscribe(dispatcher.Notice)
	if err := dispatcher.Suspect(ctx); err != nil {
		t.Fatal(err)
	}
	r.service = service.New(service.Config{Store: s, Operations: s, Engine: dispatcher, Metrics: measured,
		Random: func() float64 { return 0 }})
	r.parts.Go(func() { _ = dispatcher.Run(ctx, time.Minute) })
	r.close = func() {
		r.stop()
		r.parts.Wait()
		runner.Close()
		r.service.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return r
}

// Prewarm implements attempt.Client. Targets need no connections.
func (r *running) Prewarm(execute.Party, string, int, bool) {}

// Do implements attempt.Client. The path of a target's URL is the key of its schedule.
func (r *running) Do(ctx context.Context, request execute.Request) job.Outcome {
	began := time.Now()
	var number int64
	var due time.Time
	attempt := 0
	for _, f := range request.Own {
		switch f.Name {
		case "X-Punctual-Job-Id":
			number, _ = strconv.ParseInt(f.Value, 10, 64)
		case "X-Punctual-Attempt":
			attempt, _ = strconv.Atoi(f.Value)
		case "X-Punctual-Scheduled-At":
			due, _ = time.Parse(time.RFC3339Nano, f.Value)
		}
	}
	if request.Leave != nil && !request.Leave() {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Unsent: true}}
	}
	key := filepath.Base(request.URL)
	r.mu.Lock()
	r.attempts[number]++
	if _, ok := r.starts[number]; !ok {
		r.starts[number] = began
	}
	r.mu.Unlock()
	timer := time.NewTimer(r.duration[key])
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return job.Outcome{Duration: time.Since(began), Failure: &job.Failure{Kind: job.KindInterrupted, Message: "the test is over"}}
	}
	status := http.StatusOK
	if rehearse.Fails(key, r.fail[key], due, attempt) {
		status = http.StatusInternalServerError
	}
	return job.Outcome{Duration: time.Since(began), Response: &job.Response{Status: status}}
}

// SigningSecrets implements attempt.Secrets.
func (r *running) SigningSecrets(context.Context, int64) (execute.Signing, error) {
	return execute.Signing{Secrets: []execute.Secret{execute.Secret("secret")}}, nil
}

// TokenKey implements attempt.Secrets.
func (r *running) TokenKey(context.Context, int64) (execute.Secret, error) {
	return execute.Secret("sig_key"), nil
}

// create creates a schedule. It returns false if its fields don't go together.
func (r *running) create(t *testing.T, body string) bool {
	t.Helper()
	_, _, err := r.service.Create(t.Context(), r.owner, []byte(body), nil)
	if err != nil && fault.CodeOf(err) != fault.Invalid {
		t.Fatalf("%s: %v", body, err)
	}
	return err == nil
}

// limit sets a limit.
func (r *running) limit(t *testing.T, key, body string) {
	t.Helper()
	if _, _, err := r.service.SetLimit(t.Context(), r.owner, key, rawjson.Value(body), service.Match{}); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

// schedules returns all schedules.
func (r *running) schedules(t *testing.T) []*job.Schedule {
	t.Helper()
	page, err := r.service.Schedules(t.Context(), r.owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// jobs returns all runs that have begun or ended, by schedule, the oldest first.
func (r *running) jobs(t *testing.T) map[uuid.UUID][]*job.Job {
	t.Helper()
	found := map[uuid.UUID][]*job.Job{}
	for q := (&job.ListQuery{Limit: 100}); q != nil; {
		page, err := r.service.Jobs(t.Context(), r.owner, job.Query{ListQuery: *q})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range page.Items {
			found[j.ScheduleID] = append([]*job.Job{j}, found[j.ScheduleID]...)
		}
		q = page.Next
	}
	return found
}

// describe returns a run as a line of text.
func describe(j *job.Job, attempts int) string {
	return fmt.Sprintf("due %s, %d attempts, %s, %d skipped before", job.FormatTime(j.ScheduledAt), attempts, j.State, j.Skipped)
}

// ofKey returns the schedule with a key.
func (r *running) ofKey(t *testing.T, key string) *job.Schedule {
	t.Helper()
	for _, s := range r.schedules(t) {
		if *s.Key == key {
			return s
		}
	}
	t.Fatalf("no schedule %s", key)
	return nil
}
