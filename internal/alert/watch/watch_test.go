package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// memory is a store with one account that has an alert, and a queue of jobs.
type memory struct {
	alert     *store.Alert
	items     []store.QueueKey
	states    map[int64]job.State // of jobs; Available unless set
	events    []store.AlertOutcome
	sent      []string
	fails     int // how many calls of AlertTrack fail
	tracked   int
	peeked    int
	finished  []store.Finish
	lastError error
}

func (m *memory) Now() time.Time { return time.Now() }

func (m *memory) QueuePeek(_ context.Context, after store.QueueKey, until time.Time, limit int) (found []store.QueueKey, err error) {
	for _, item := range m.items {
		if (after.Due.IsZero() || before(after, item)) && len(found) < limit && !item.Due.After(until) {
			found = append(found, item)
		}
	}
	m.peeked += len(found)
	return found, nil
}

func (m *memory) QueueLoad(_ context.Context, keys []store.QueueKey) ([]*store.QueueItem, error) {
	loaded := make([]*store.QueueItem, len(keys))
	for i, k := range keys {
		state := m.states[k.Number]
		if state == 0 {
			state = job.Available
		}
		loaded[i] = &store.QueueItem{QueueKey: k, Job: &job.Job{Number: k.Number, State: state, DueAt: k.Due,
			Args: rawjson.Value(`{"url":"https://x/"}`)}}
	}
	return loaded, nil
}

func (m *memory) AlertAccounts(_ context.Context, known int64) (int64, map[int64]store.LateRange, error) {
	if known == 1 {
		return 1, nil, nil
	}
	return 1, map[int64]store.LateRange{7: {Min: time.Minute, Max: time.Minute}}, nil
}

func (m *memory) AlertsPending(context.Context, int) ([]int64, time.Time, error) {
	if len(m.events) > 0 {
		return []int64{7}, time.Time{}, nil
	}
	return nil, time.Time{}, nil
}

func (m *memory) AlertTrack(_ context.Context, _ int64, late []store.QueueKey, decide store.AlertDecide) (bool, error) {
	if m.fails > 0 {
		m.fails--
		return false, m.lastError
	}
	m.tracked++
	s := &store.AlertSnapshot{Now: time.Now(), Alerts: []*store.Alert{m.alert}, Events: m.events}
	for range late {
		s.Late = append(s.Late, true)
	}
	if c := decide(s); c != nil {
		for _, d := range c.Deliveries {
			m.sent = append(m.sent, fmt.Sprint(strings.TrimPrefix(d.Event, "alert."), d.Job))
		}
	}
	m.events = nil
	return false, nil
}

func (m *memory) AlertStatePrune(context.Context, int) (int, error) { return 0, nil }

func (m *memory) QueueFinish(_ context.Context, items []store.Finish) ([]bool, error) {
	for i := range items {
		if end := items[i].Delivery; end != nil {
			if end.Outcome != nil {
				m.events = append(m.events, *end.Outcome)
			}
			continue
		}
		m.events = append(m.events, items[i].Decide(&store.Snapshot{}).Outcomes...)
	}
	m.finished = items
	return make([]bool, len(items)), nil
}

func (m *memory) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return m.JobChange(ctx, c.Owner, job.Ref{Number: c.Job}, decide)
}

func (m *memory) JobChange(_ context.Context, _ job.Owner, _ job.Ref, decide store.Decide) (*job.Job, error) {
	m.events = append(m.events, decide(&store.Snapshot{}).Outcomes...)
	return nil, nil
}

func newWatcher(definition string) (*memory, *Watcher) {
	m := &memory{states: map[int64]job.State{}, alert: &store.Alert{Name: "a", Definition: rawjson.Value(definition)}}
	return m, New(Config{Store: m, Log: slog.New(slog.DiscardHandler)})
}

// run runs the watcher for some time.
func run(t *testing.T, w *Watcher, lasts time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	w.Run(ctx)
}

func (m *memory) want(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(m.sent, " "); got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

const receiver = `"to":[{"webhook":"https://x/"}]`

func discard(number, account int64) store.Finish {
	return store.Finish{QueueKey: store.QueueKey{Account: account}, Decide: func(*store.Snapshot) *store.Changes {
		return &store.Changes{Job: &job.Job{Number: number, Owner: job.Owner{Number: account}, State: job.Discarded,
			Args: rawjson.Value(`{"url":"https://x/"}`)}}
	}}
}

func TestRecorder_RecordsOutcomesOfAccountsWithAlerts(t *testing.T) {
	m, w := newWatcher(`{"on":["failed"],` + receiver + `}`)
	r := &Recorder{Watcher: w, Store: m}
	finish := func(want int) {
		t.Helper()
		m.events = nil
		if _, err := r.QueueFinish(t.Context(), []store.Finish{discard(1, 7), discard(2, 8), discard(3, 7)}); err != nil ||
			len(m.events) != want {
			t.Errorf("%d outcomes of an end, %v, want %d", len(m.events), err, want)
		}
		m.events = nil
		if _, err := r.JobChange(t.Context(), job.Owner{Number: 7}, job.Ref{}, discard(4, 7).Decide); err != nil ||
			len(m.events) != want/2 {
			t.Errorf("%d outcomes of a change, %v, want %d", len(m.events), err, want/2)
		}
	}
	finish(0)
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	finish(2)
}

func TestRecorder_RecordsAnswersToMessagesOfAlerts(t *testing.T) {
	m, w := newWatcher(`{"on":["failed"],` + receiver + `}`)
	r := &Recorder{Watcher: w, Store: m}
	if err := w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ends []store.Finish
	for _, account := range []int64{7, 8} { // 8 has no alerts any more
		ends = append(ends, store.Finish{QueueKey: store.QueueKey{Account: account},
			Delivery: &store.DeliveryEnd{Attempt: 1, Outcome: &store.AlertOutcome{Owner: job.Owner{Number: account}, Kind: store.AlertAnswered}}})
	}
	if _, err := r.QueueFinish(t.Context(), ends); err != nil || len(m.events) != 1 || m.events[0].Owner.Number != 7 {
		t.Errorf("recorded %+v, %v", m.events, err)
	}
	if ends[1].Delivery.Outcome == nil {
		t.Error("the caller's end was changed")
	}
}

func TestWatcher_TracksAtOnceAndRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, w := newWatcher(`{"on":["failed"],` + receiver + `}`)
		r := &Recorder{Watcher: w, Store: m}
		if err := w.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.fails, m.lastError = 2, errors.New("the store is away")
		if _, err := r.QueueFinish(t.Context(), []store.Finish{discard(1, 7)}); err != nil {
			t.Fatal(err)
		}
		run(t, w, 500*time.Millisecond)
		m.want(t, "")
		run(t, w, 3*time.Second)
		m.want(t, "failed1")
	})
}

func TestWatcher_ReportsLateRunsOnceAndLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, w := newWatcher(`{"on":["late"],"late_by":60,` + receiver + `}`)
		for i := range int64(2500) {
			m.items = append(m.items, store.QueueKey{ItemID: store.ItemID{Number: i}, Account: 8, Due: time.Now().Add(-time.Hour)})
		}
		for i := range int64(3) {
			m.items = append(m.items, store.QueueKey{ItemID: store.ItemID{Number: 3000 + i}, Account: 7,
				Due: time.Now().Add(time.Duration(i) * time.Second)})
		}
		m.states[3001] = job.Retryable
		run(t, w, 59*time.Second)
		m.want(t, "")
		run(t, w, 10*time.Second)
		m.want(t, "late3000 late3002")
		before := m.tracked
		run(t, w, time.Minute)
		m.want(t, "late3000 late3002")
		if m.tracked > before+3 {
			t.Errorf("tracked %d times without anything new", m.tracked-before)
		}
		if m.peeked > 130*peekItems {
			t.Errorf("looked at %d items in 129 s", m.peeked)
		}
	})
}

// BenchmarkRecorder measures what the recorder adds to the finish of an account
// without alerts.
func BenchmarkRecorder(b *testing.B) {
	m, w := newWatcher(`{"on":["late"],` + receiver + `}`)
	if err := w.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	items := make([]store.Finish, 1)
	items[0] = discard(1, 8)
	for name, r := range map[string]Recorded{"direct": nothing{m}, "recorded": &Recorder{Watcher: w, Store: nothing{m}}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.QueueFinish(b.Context(), items)
			}
		})
	}
}

// nothing is a store that ends nothing.
type nothing struct{ *memory }

func (nothing) QueueFinish(context.Context, []store.Finish) ([]bool, error) { return nil, nil }

// revised is a store whose alerts have changed since a revision.
type revised struct {
	*memory
	revision int64
	accounts map[int64]store.LateRange
}

func (r *revised) AlertAccounts(_ context.Context, known int64) (int64, map[int64]store.LateRange, error) {
	if known == r.revision {
		return known, nil, nil
	}
	return r.revision, r.accounts, nil
}

func TestWatcher_ReadsAlertsAgainWhenToldThatTheyChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &revised{memory: &memory{}, revision: 1, accounts: map[int64]store.LateRange{}}
		w := New(Config{Store: s, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		synctest.Wait()
		s.revision, s.accounts = 2, map[int64]store.LateRange{7: {}}
		synctest.Wait()
		if w.Watches(7) {
			t.Error("the watcher reads alerts all the time")
		}
		w.Changed()
		synctest.Wait()
		if !w.Watches(7) {
			t.Error("the watcher does not know of an alert that another node has created")
		}
	})
}
