package maintenance

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/store"
)

// pruned is a store with old jobs that stay and others that go, and with old logs.
type pruned struct {
	Store
	kept, jobs, logs int64
	examined         int // jobs, by all batches
	broken           string
	stuck            map[int64]bool // jobs by number, and whether their removal fails
	last             int64          // the highest number in stuck
	log              bytes.Buffer
}

var errBroken = errors.New("the store is broken")

func (s *pruned) Now() time.Time { return time.Now() }

// JobPrune examines the jobs that stay, then those that go.
func (s *pruned) JobPrune(_ context.Context, _ time.Time, after store.PruneCursor, limit int) (b store.Pruned, err error) {
	if s.broken == "job" {
		return store.Pruned{Next: after}, errBroken
	}
	if s.stuck != nil {
		return s.pruneNumbered(after, limit)
	}
	b.Next = after
	for ; b.Examined < limit && b.Next.Number < s.kept; b.Examined++ {
		b.Next.Number++
	}
	b.Removed = min(limit-b.Examined, int(s.jobs))
	b.Examined += b.Removed
	s.jobs -= int64(b.Removed)
	s.examined += b.Examined
	b.More = b.Examined == limit
	return b, nil
}

// pruneNumbered removes jobs 1 to last that are not removed, which have a value in stuck:
// whether their removal fails.
func (s *pruned) pruneNumbered(after store.PruneCursor, limit int) (b store.Pruned, err error) {
	b.Next = after
	var gone []int64
	for n := after.Number + 1; n <= s.last && b.Examined < limit; n++ {
		if fails, there := s.stuck[n]; there {
			b.Examined++
			b.Next.Number = n
			gone = append(gone, n)
			if fails {
				err = errBroken
			}
		}
	}
	b.More = b.Examined == limit
	if err != nil {
		return b, err
	}
	for _, n := range gone {
		delete(s.stuck, n)
	}
	b.Removed = len(gone)
	return b, nil
}

func (s *pruned) LogPrune(_ context.Context, _ time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
	if s.broken == "log" {
		return store.Pruned{Next: after}, errBroken
	}
	n := min(limit, int(s.logs))
	s.logs -= int64(n)
	return store.Pruned{Removed: n, Examined: n, Next: after, More: n == limit}, nil
}

func (s *pruned) AuditPrune(context.Context, time.Time, int) (int, error) { return 0, nil }

func (s *pruned) RunPrune(context.Context, time.Time, int) (int, bool, error) { return 0, false, nil }

// run prunes for some time.
func (s *pruned) run(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	w := &Worker{Config: Config{Store: s, Metrics: metrics.New("test"), Log: slog.New(slog.NewTextHandler(&s.log, nil)), Retention: time.Hour}}
	for _, p := range w.prunings() {
		go w.every(ctx, func(ctx context.Context) time.Duration { return w.prune(ctx, p) })
	}
	<-ctx.Done()
	synctest.Wait()
}

// TestPrune_PassesRecordsThatStay: what is behind them goes in the same round, and they
// are examined again only after a while.
func TestPrune_PassesRecordsThatStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kept = 300_000
		s := &pruned{kept: kept, jobs: 1000}
		s.run(t, 40*time.Second)
		if s.jobs != 0 || s.examined != kept+1000 {
			t.Errorf("after 40 s, %d jobs were examined and %d are left, want each examined once", s.examined, s.jobs)
		}
		s.examined, s.jobs = 0, 12_000
		s.run(t, 2*time.Hour)
		if s.jobs != 0 || s.examined < 2*kept || s.examined > 3*kept+12_000 {
			t.Errorf("within two hours, %d jobs were examined and %d are left, want two or three rounds", s.examined, s.jobs)
		}
	})
}

// TestPrune_KindsAreIndependent: logs are removed while the removal of jobs fails, and
// the other way round.
func TestPrune_KindsAreIndependent(t *testing.T) {
	for _, broken := range []string{"job", "log"} {
		t.Run(broken, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &pruned{jobs: 1000, logs: 1000, broken: broken}
				s.run(t, 10*time.Second)
				if left := map[string]int64{"job": s.logs, "log": s.jobs}[broken]; left != 0 {
					t.Errorf("%d records of the other kind are left", left)
				}
			})
		})
	}
}

// TestPrune_PassesRecordsThatCannotBeRemoved: all others go, and each of these is logged
// once.
func TestPrune_PassesRecordsThatCannotBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pruned{stuck: map[int64]bool{}, last: 1000}
		for n := int64(1); n <= s.last; n++ {
			s.stuck[n] = n == 1 || n == 2 || n == 700
		}
		s.run(t, 10*time.Minute)
		if len(s.stuck) != 3 {
			t.Errorf("%d jobs are left, want the 3 whose removal fails", len(s.stuck))
		}
		if n := strings.Count(s.log.String(), errBroken.Error()); n != 3 {
			t.Errorf("%d failures were logged, want one of each job:\n%s", n, s.log.String())
		}
	})
}
