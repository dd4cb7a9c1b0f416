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
// read, those of another not be counted.
type ended struct {
	Store
	keys                 []store.ScheduleKey
	unreadable, unstored store.ScheduleKey
	away                 bool
	mark                 store.PruneMark
	counted              []store.ScheduleKey
}

func (s *ended) Now() time.Time { return time.Now() }

func (s *ended) MonthsMark(context.Context) (store.PruneMark, error) {
	if s.away {
		return store.PruneMark{}, errBroken
	}
	return s.mark, nil
}

func (s *ended) MonthsMarkAt(_ context.Context, mark store.PruneMark) error {
	s.mark = mark
	return nil
}

func (s *ended) MonthsEnded(_ context.Context, after store.PruneMark, _ time.Time, limit int) (store.EndedSchedules, error) {
	keys := s.keys[after.Number:min(int(after.Number)+limit, len(s.keys))]
	next := store.PruneMark{At: after.At, Number: after.Number + int64(len(keys))}
	return store.EndedSchedules{Keys: slices.Clone(keys), Next: next, More: len(keys) == limit}, nil
}

func (s *ended) MonthsRead(_ context.Context, keys []store.ScheduleKey, _ int) (read []store.RunMonths, err error) {
	if s.away || slices.Contains(keys, s.unreadable) {
		return nil, errBroken
	}
	for _, key := range keys {
		now := time.Now()
		run := store.EndedRun{Number: 1, State: job.Completed, ScheduledAt: now, DueAt: now, AttemptedAt: now, EndedAt: now}
		read = append(read, store.RunMonths{ScheduleKey: key, Runs: []store.EndedRun{run}})
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
// skips no run: the search is repeated from the mark.
func TestCountMonths_GoesOnWithoutWhatCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const schedules = monthsScan + monthsBatch
		s := &ended{}
		for i := range schedules {
			s.keys = append(s.keys, store.ScheduleKey{Account: 1 + int64(i%2), Schedule: uuid.New()})
		}
		s.unreadable, s.unstored = s.keys[3], s.keys[monthsBatch+1]
		var log bytes.Buffer
		w := &Worker{Config: Config{Store: s, Log: slog.New(slog.NewTextHandler(&log, nil))}}
		m := &monthly{}
		w.countMonths(t.Context(), m) // finds the first
		s.away = true
		w.countMonths(t.Context(), m)
		if s.away = false; s.mark.Number != 0 || len(m.pending) > 0 {
			t.Fatalf("the store was away: mark %+v, %d pending", s.mark, len(m.pending))
		}
		steps := 0
		for w.countMonths(t.Context(), m) < maxMonthsRest {
			if steps++; steps > schedules {
				t.Fatal("the loop does not end")
			}
			time.Sleep(time.Second)
		}
		if len(s.counted) != schedules-2 || s.mark.Number != schedules {
			t.Errorf("the runs of %d schedules were counted up to %+v, want %d", len(s.counted), s.mark, schedules-2)
		}
		if n := strings.Count(log.String(), "schedules=1"); n != 2 {
			t.Errorf("%d of 2 schedules are in the log:\n%s", n, log.String())
		}
	})
}
