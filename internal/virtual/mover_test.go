package virtual

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// fake is a store and an engine that takes a while for each item.
type fake struct {
	clock   *Clock
	due     []time.Time // in order
	wake    time.Time   // of a limit; zero for none
	overdue int         // how often a completion is overdue yet
	awaited time.Time   // the deadline of a completion; zero for none
	ended   time.Duration
	busy    time.Duration
	until   time.Time // busy until then, by the machine's clock
	fired   []time.Duration
	moved   int
}

func (f *fake) QueuePeek(context.Context, store.QueueKey, time.Time, int) ([]store.QueueKey, error) {
	if len(f.due) == 0 {
		return nil, nil
	}
	if now := f.clock.Now(); !f.due[0].After(now) {
		f.fired = append(f.fired, now.Sub(f.due[0]))
		f.due, f.until = f.due[1:], time.Now().Add(f.busy)
	}
	if len(f.due) == 0 {
		return nil, nil
	}
	return []store.QueueKey{{Due: f.due[0]}}, nil
}

func (f *fake) LimitWakes(context.Context, time.Time, int) ([]store.LimitWake, error) {
	if f.wake.IsZero() {
		return nil, nil
	}
	if !f.wake.After(f.clock.Now()) {
		f.due, f.wake = slices.Insert(f.due, 0, f.wake), time.Time{}
		return nil, nil
	}
	return []store.LimitWake{{At: f.wake}}, nil
}

func (f *fake) CompletionsOverdue(context.Context, int) ([]job.TokenHash, error) {
	if f.overdue > 0 {
		f.overdue--
		return make([]job.TokenHash, 1), nil
	}
	return nil, nil
}

// CompletionDeadline ends the completion once its deadline has passed.
func (f *fake) CompletionDeadline(context.Context) (time.Time, error) {
	if now := f.clock.Now(); !f.awaited.IsZero() && !f.awaited.After(now) {
		f.ended, f.awaited = now.Sub(f.awaited), time.Time{}
	}
	return f.awaited, nil
}

func (f *fake) Busy() bool { return time.Now().Before(f.until) }
func (f *fake) TimeMoved() { f.moved++ }

func TestMover_StopsAtWhatIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, began := &Clock{}, time.Now()
		f := &fake{clock: clock, busy: 3 * time.Second, overdue: 5, wake: began.Add(30 * time.Minute)}
		for _, after := range []time.Duration{0, time.Hour, time.Hour, 25 * time.Hour, 48 * time.Hour} {
			f.due = append(f.due, began.Add(after))
		}
		m := &Mover{Clock: clock, Queue: f, Engine: f}
		now, until, err := m.Advance(t.Context(), 26*time.Hour)
		if err != nil || now.Before(until) || now.Sub(began) < 26*time.Hour || now.Sub(began) > 27*time.Hour {
			t.Errorf("advanced to %v of %v: %v; want 26 hours", now.Sub(began), until.Sub(began), err)
		}
		if len(f.fired) != 5 {
			t.Errorf("%d items were fired, want 4 and the one that a limit held", len(f.fired))
		}
		for i, late := range f.fired {
			if late > f.busy+time.Second {
				t.Errorf("item %d was fired %v late", i, late)
			}
		}
		if f.overdue != 0 || f.moved == 0 {
			t.Errorf("%d completions are overdue, the engine was told %d times", f.overdue, f.moved)
		}
	})
}

func TestMover_StopsAtDeadlinesOfCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{clock: &Clock{}, awaited: time.Now().Add(10 * time.Minute)}
		m := &Mover{Clock: f.clock, Queue: f, Engine: f}
		if _, _, err := m.Advance(t.Context(), 30*time.Minute); err != nil || !f.awaited.IsZero() || f.ended > time.Second {
			t.Errorf("the completion ended %v after its deadline, %v", f.ended, err)
		}
	})
}

func TestMover_EndsAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{clock: &Clock{}, busy: time.Hour, due: []time.Time{time.Now()}}
		m, began := &Mover{Clock: f.clock, Queue: f, Engine: f}, time.Now()
		now, until, err := m.Advance(t.Context(), time.Hour)
		if took := time.Since(began); err != nil || !now.Before(until) || took > within+time.Second {
			t.Errorf("after %v: %v of %v, %v; a request that lasts must not hold the call", took, now, until, err)
		}
	})
}

func TestMover_OneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{clock: &Clock{}, busy: time.Hour, due: []time.Time{time.Now()}}
		m := &Mover{Clock: f.clock, Queue: f, Engine: f}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, _, err := m.Advance(ctx, time.Hour)
			ended <- err
		}()
		synctest.Wait()
		if _, _, err := m.Advance(t.Context(), time.Hour); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("a second call: %v, want a conflict", err)
		}
		cancel()
		if err := <-ended; err == nil {
			t.Error("a call whose client has gone goes on")
		}
	})
}

func FuzzReadAdvance(f *testing.F) {
	for _, body := range []string{`{"by":1}`, `{"by":[31,"days"]}`, `{"by":-1}`, `{"by":"1h"}`, `{"by":1,"x":2}`, `[]`, `{`, ``} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		by, err := readAdvance(body)
		if err == nil && (by <= 0 || by > MaxAdvance) || err != nil && by != 0 && fault.CodeOf(err) == fault.Internal {
			t.Errorf("%q moves the time by %v: %v", body, by, err)
		}
	})
}
