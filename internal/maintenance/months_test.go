package maintenance

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ended is a store with one ended run of each of some schedules. The runs of one can't be
// read, those of another not be stored, and counting those of a third panics.
type ended struct {
	Store
	keys                           []store.ScheduleKey
	unreadable, unstored, poisoned store.ScheduleKey
	away                           bool
	cursor                         store.PruneCursor
	counted                        []store.ScheduleKey
}

func (s *ended) Now() time.Time { return time.Now() }

func (s *ended) MonthsCursor(context.Context) (store.PruneCursor, error) {
	if s.away {
		return store.PruneCursor{}, errBroken
	}
	return s.cursor, nil
}

func (s *ended) MonthsCursorPut(_ context.Context, cursor store.PruneCursor) error {
	s.cursor = cursor
	return nil
}

func (s *ended) MonthsEnded(_ context.Context, after store.PruneCursor, _ time.Time, limit int) (store.EndedSchedules, error) {
	keys := s.keys[after.Number:min(int(after.Number)+limit, len(s.keys))]
	next := store.PruneCursor{At: after.At, Number: after.Number + int64(len(keys))}
	return store.EndedSchedules{Keys: slices.Clone(keys), Next: next, More: len(keys) == limit}, nil
}

func (s *ended) MonthsRead(_ context.Context, keys []store.ScheduleKey, _ int) (read []store.RunMonths, err error) {
	if s.away || slices.Contains(keys, s.unreadable) {
		return nil, errBroken
	}
	for _, key := range keys {
		now := time.Now()
		run := store.EndedRun{Number: 1, State: job.Completed, ScheduledAt: now, DueAt: now, AttemptedAt: now, EndedAt: now}
		months := store.RunMonths{ScheduleKey: key, Runs: []store.EndedRun{run}}
		if key == s.poisoned {
			months.Months = []*store.ScheduleMonth{nil}
		}
		read = append(read, months)
	}
	return read, nil
}

func (s *ended) MonthsWrite(_ context.Context, changes []store.MonthsChange) error {
	if slices.ContainsFunc(changes, func(c store.MonthsChange) bool { return c.ScheduleKey == s.unstored }) {
		return errBroken
	}
	for _, c := range changes {
		s.counted = append(s.counted, c.ScheduleKey)
	}
	return nil
}

// TestCountMonths_GoesOnWithoutWhatCannotBeCounted also verifies that a store that is away
// skips no run: the search is repeated from the cursor.
func TestCountMonths_GoesOnWithoutWhatCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const schedules = monthsScan + monthsBatch
		s := &ended{}
		for i := range schedules {
			s.keys = append(s.keys, store.ScheduleKey{Account: 1 + int64(i%2), Schedule: uuid.New()})
		}
		s.unreadable, s.unstored, s.poisoned = s.keys[3], s.keys[monthsBatch+1], s.keys[3*monthsBatch]
		var log bytes.Buffer
		w := &Worker{Config: Config{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil))}}
		m := &monthly{}
		w.countMonths(t.Context(), m) // finds the first
		s.away = true
		w.countMonths(t.Context(), m)
		if s.away = false; s.cursor.Number != 0 || len(m.pending) > 0 {
			t.Fatalf("the store was away: cursor %+v, %d pending", s.cursor, len(m.pending))
		}
		steps := 0
		for w.countMonths(t.Context(), m) < maxMonthsRest {
			if steps++; steps > schedules {
				t.Fatal("the loop does not end")
			}
			time.Sleep(time.Second)
		}
		if len(s.counted) != schedules-3 || s.cursor.Number != schedules {
			t.Errorf("the runs of %d schedules were counted up to %+v, want %d", len(s.counted), s.cursor, schedules-3)
		}
		if n := strings.Count(log.String(), "schedules=1"); n != 3 {
			t.Errorf("%d of 3 schedules are in the log:\n%s", n, log.String())
		}
	})
}

// Counting that fails forever keeps no job forever.
func TestCounted_KeepsJobsForADayAtMost(t *testing.T) {
	w := &Worker{}
	before := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	if got := w.counted(before); !got.Equal(before) {
		t.Errorf("without counting: %v", got)
	}
	for until, want := range map[time.Time]time.Time{
		before.Add(time.Hour): before, before: before, before.Add(-time.Hour): before.Add(-time.Hour),
		{}: before.Add(-maxUncounted), before.Add(-48 * time.Hour): before.Add(-maxUncounted),
	} {
		w.countedUntil(until)
		if got := w.counted(before); !got.Equal(want) {
			t.Errorf("counted until %v: %v, want %v", until, got, want)
		}
	}
}

func TestEvery_GoesOnAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &Worker{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		ctx, cancel := context.WithCancel(t.Context())
		steps, begun := 0, time.Now()
		w.every(ctx, func(context.Context) time.Duration {
			if steps++; steps == 1 {
				panic("a poisoned record")
			}
			cancel()
			return time.Hour
		})
		if took := time.Since(begun); steps != 2 || took != afterPanic || !strings.Contains(log.String(), "a poisoned record") {
			t.Errorf("%d steps in %v, log %s", steps, took, log.String())
		}
	})
}
