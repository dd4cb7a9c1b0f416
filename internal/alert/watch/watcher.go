package watch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Watcher needs of the store.
type Store interface {
	Now() time.Time
	QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error)
	QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error)
	AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]store.LateRange, err error)
	AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error)
	AlertTrack(ctx context.Context, account int64, late []store.QueueKey, decide store.AlertDecide) (more bool, err error)
	AlertStatePrune(ctx context.Context, limit int) (int, error)
}

// Config configures a Watcher.
type Config struct {
	Store Store
	// Link returns where a job is shown; nil if that is not known.
	Link func(job int64) string
	// HeldBack reports whether a limit holds a queue item back, so that it doesn't
	// count as late; nil: none does.
	HeldBack func(store.QueueKey) bool
	// Retention is how long what alerts have sent is kept; 0: until others take its place.
	Retention time.Duration
	Log       *slog.Logger
}

const (
	// pollEvery is how often a node looks for changed alerts, for outcomes that
	// other nodes have left, and for late runs.
	pollEvery = time.Second
	// pruneEvery is how often states of deleted schedules are deleted, pruneMax how
	// many at once.
	pruneEvery = time.Hour
	pruneMax   = 1000
	// maxAccounts is how many accounts one pass tracks.
	maxAccounts = 100
	// restFactor is how much longer than it took to track an account the account
	// waits for its next turn. What has happened meanwhile is tracked together, so
	// that busy accounts leave the store to others.
	restFactor = 4
)

// Watcher tracks the alerts of all accounts.
type Watcher struct {
	Config
	known    atomic.Pointer[known]
	refresh  sync.Mutex // held while known is replaced
	wake     chan struct{}
	stale    atomic.Bool // another node has changed alerts
	mu       sync.Mutex
	recorded map[int64]bool // accounts with new outcomes
	resting  map[int64]bool // accounts that wait for their next turn
	scan     lateScan
	pruned   time.Time
	failing  bool // the last pass failed
}

// known is which accounts have alerts.
type known struct {
	revision int64
	accounts map[int64]store.LateRange
	late     bool // one of them watches for late runs
}

// New returns a Watcher that knows of no alerts until Refresh or Run.
func New(config Config) *Watcher {
	w := &Watcher{Config: config, wake: make(chan struct{}, 1), recorded: map[int64]bool{}, resting: map[int64]bool{}}
	w.known.Store(&known{})
	return w
}

// Watches reports whether an account has alerts.
func (w *Watcher) Watches(account int64) bool {
	_, ok := w.known.Load().accounts[account]
	return ok
}

// Refresh reads which accounts have alerts.
func (w *Watcher) Refresh(ctx context.Context) error {
	w.refresh.Lock()
	defer w.refresh.Unlock()
	revision, accounts, err := w.Store.AlertAccounts(ctx, w.known.Load().revision)
	if err != nil || accounts == nil {
		return err
	}
	k := &known{revision: revision, accounts: accounts}
	for _, late := range accounts {
		k.late = k.late || late.Max > 0
	}
	w.known.Store(k)
	return nil
}

// Changed notes that another node has changed alerts. It does not block.
func (w *Watcher) Changed() {
	w.stale.Store(true)
	w.poke()
}

// Recorded notes that outcomes of an account were stored.
func (w *Watcher) Recorded(account int64) {
	w.mu.Lock()
	w.recorded[account] = true
	rests := w.resting[account]
	w.mu.Unlock()
	if !rests {
		w.poke()
	}
}

func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run tracks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		poll := false
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
			poll = true
		}
		next, err := w.pass(ctx, poll)
		if err != nil && !w.failing && ctx.Err() == nil {
			w.Log.Warn("tracking alerts failed; retrying", "error", err)
		}
		w.failing = err != nil
		if poll {
			timer.Reset(next)
		}
	}
}

// pass tracks the accounts that have something to track. It returns when to poll
// again.
func (w *Watcher) pass(ctx context.Context, poll bool) (next time.Duration, err error) {
	accounts := map[int64]bool{}
	next = pollEvery
	if stale := w.stale.Swap(false); stale || poll {
		if err := w.Refresh(ctx); err != nil {
			return next, err
		}
	}
	if poll {
		if len(w.known.Load().accounts) > 0 {
			if next, err = w.pending(ctx, accounts); err != nil {
				return next, err
			}
		}
	}
	w.takeRecorded(accounts)
	for account := range accounts {
		if err := w.track(ctx, account); err != nil {
			return next, err // the next poll finds the others
		}
	}
	if poll {
		if err := w.lateRuns(ctx); err != nil {
			return next, err
		}
		return next, w.prune(ctx)
	}
	return next, nil
}

// pending adds the accounts that have something to track now, and returns when
// the next one will.
func (w *Watcher) pending(ctx context.Context, accounts map[int64]bool) (time.Duration, error) {
	pending, at, err := w.Store.AlertsPending(ctx, maxAccounts)
	if err != nil {
		return pollEvery, err
	}
	for _, account := range pending {
		accounts[account] = true
	}
	if at.IsZero() {
		return pollEvery, nil
	}
	return max(10*time.Millisecond, min(pollEvery, at.Sub(w.Store.Now()))), nil
}

// takeRecorded moves the recorded accounts to accounts, and leaves out those that
// rest.
func (w *Watcher) takeRecorded(accounts map[int64]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for account := range w.recorded {
		accounts[account] = true
	}
	clear(w.recorded)
	for account := range w.resting {
		if accounts[account] {
			delete(accounts, account)
			w.recorded[account] = true
		}
	}
}

// track tracks an account's outcomes and reminders, and lets the account rest.
func (w *Watcher) track(ctx context.Context, account int64) error {
	began := time.Now()
	more, err := w.decide(ctx, account, nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.resting[account] = true
	if more {
		w.recorded[account] = true
	}
	w.mu.Unlock()
	time.AfterFunc(restFactor*time.Since(began), func() {
		w.mu.Lock()
		delete(w.resting, account)
		waits := w.recorded[account]
		w.mu.Unlock()
		if waits {
			w.poke()
		}
	})
	return nil
}

// decide runs the tracker once. What the tracker or the store can't handle is
// dropped and logged, so that it can't stop the alerts of the account.
func (w *Watcher) decide(ctx context.Context, account int64, late []alert.LateRun) (more bool, err error) {
	keys := make([]store.QueueKey, len(late))
	for i := range late {
		keys[i] = late[i].QueueKey
	}
	more, err = w.Store.AlertTrack(ctx, account, keys, func(m *store.AlertSnapshot) *store.AlertChanges { return w.tracked(m, late) })
	if err == nil || !store.IsUnstorable(err) {
		return more, err
	}
	w.Log.Error("what alerts send can't be stored; outcomes were dropped", "account", account, "error", err)
	return w.Store.AlertTrack(ctx, account, nil, func(*store.AlertSnapshot) *store.AlertChanges { return nil })
}

// tracked calls the tracker; it returns nil if that panics.
func (w *Watcher) tracked(m *store.AlertSnapshot, late []alert.LateRun) (c *store.AlertChanges) {
	err := fault.Guard(func() error {
		c = alert.Track(m, alert.Input{Late: late, Link: w.Link, HeldBack: w.HeldBack, Retention: w.Retention})
		return nil
	})
	if err != nil {
		w.Log.Error("tracking alerts panicked; outcomes were dropped", "account", m.Owner.Number, "outcomes", len(m.Events), "error", err)
	}
	return c
}

// TakeMails counts n e-mails of an account with alerts that are sent outside the
// queue, and returns how many of them its limit allows.
func (w *Watcher) TakeMails(ctx context.Context, account int64, n int) (taken int, err error) {
	_, err = w.Store.AlertTrack(ctx, account, nil, func(m *store.AlertSnapshot) *store.AlertChanges {
		c := w.tracked(m, nil)
		if c == nil {
			c = &store.AlertChanges{Data: m.Data}
		}
		taken = alert.TakeMails(c, n)
		return c
	})
	return taken, err
}

// prune deletes the states of deleted schedules now and then.
func (w *Watcher) prune(ctx context.Context) error {
	if now := w.Store.Now(); now.Sub(w.pruned) >= pruneEvery {
		n, err := w.Store.AlertStatePrune(ctx, pruneMax)
		if err != nil {
			return err
		}
		if n < pruneMax {
			w.pruned = now
		}
	}
	return nil
}
