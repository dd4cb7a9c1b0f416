package soak

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// retention is how long the service keeps records: longer than the end of a job is
// waited for, and so short that the database stops growing during the warm-up.
func retention() string { return fmt.Sprintf("%.0fs", pace.Limit(3*time.Minute).Seconds()) }

func TestSoak_KeepsPromisesAndStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	for store, database := range map[string]func() string{
		"sqlite":   func() string { return "" },
		"postgres": func() string { return pgtest.Start(t, pgtest.Durable).URL("postgres") },
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			run(t, store, database())
		})
	}
}

func run(t *testing.T, store, database string) {
	s := &soak{
		ledger: newLedger(), size: sizeOfRun(), t: t, schedules: map[string]*schedule{}, alerted: map[int64]string{},
		service: harness.Prepare(t, harness.Database(database), harness.Flag("public-url", publicURL),
			harness.Flag("retention", retention())),
	}
	for range s.accounts {
		s.clients = append(s.clients, s.service.Account(t).Client)
	}
	s.service.Restart(t)
	s.target = harness.BareTarget(t, s)
	s.prepare()
	s.began = time.Now()
	of, every := newSeries(), min(max(s.lasts/240, time.Second), 30*time.Second)
	s.live(t.Context(), of, every)
	s.kill()
	s.work.Wait()
	s.drain()
	warm := int(s.lasts / 4 / every)
	if dir := os.Getenv("PUNCTUAL_SOAK_REPORT"); dir != "" {
		if err := s.write(dir, store, of, warm); err != nil {
			t.Error(err)
		}
	}
	t.Log(s.figures(store, of, warm))
	s.judgeAll(t, of, warm)
}

// live keeps up the load, with faults, for the length of the run.
func (s *soak) live(ctx context.Context, of []*series, every time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, s.lasts)
	defer cancel()
	for account := range watchers {
		s.work.Go(func() { s.pulses(ctx, account) })
	}
	s.work.Go(func() { s.edits(ctx) })
	s.work.Go(func() { s.samples(ctx, every, of) })
	s.work.Go(func() { s.timers(ctx) })
	s.work.Go(func() { s.jobs(ctx) })
	s.storm(ctx, s.began.Add(s.lasts/4))
}

// drain disables the schedules, so that nothing is left to be done.
func (s *soak) drain() {
	for _, r := range s.schedules {
		s.clients[r.account].Post("/api/schedules/"+r.id+"/disable", nil).Want(200)
	}
}

// judgeAll fails the test for each broken promise and, after a long run, for each line
// that is not flat. It wants each part of the load to have done something.
func (s *soak) judgeAll(t *testing.T, of []*series, warm int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.violations {
		t.Error(v)
	}
	if n := len(s.entries); n > 0 {
		t.Errorf("%d jobs were not checked", n)
	}
	for _, name := range []string{"jobs acknowledged", "runs", "jobs completed", "jobs discarded", "edits of schedules",
		"looks at schedules", "alert messages", "kills"} {
		if s.counts[name] == 0 {
			t.Errorf("none of: %s", name)
		}
	}
	for _, q := range of {
		if trend, flat := q.flat(warm); !flat && s.lasts >= judged && !(q.timed && busy(of, warm)) {
			t.Errorf("%s rises by %s, may rise by %s", q.name, q.show(trend.rise), q.show(q.allowed(trend)))
		}
	}
}
