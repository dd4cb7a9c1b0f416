package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// Store is a PostgreSQL database.
type Store struct {
	*records.Records
	id      string // distinguishes this process's notices from others'
	pools   [classes]*pgxpool.Pool
	control *pgxpool.Pool
	pooled  bool // connections go through a pooler
	clock   *clock
	contact *contact
	hosts   *hosts
	// writeWithin is the timeout of a write.
	writeWithin time.Duration
	// answerWithin is the timeout of a probe of a server that is up.
	answerWithin time.Duration
	// cancelsEvery is how often cancels are read while notices of them arrive.
	cancelsEvery time.Duration
	// after is time.After for the probes.
	after func(time.Duration) <-chan time.Time
	// replicated says that commits wait for a standby.
	replicated atomic.Bool
	probe      store.Probe
	notify     atomic.Pointer[func(store.Notice)]
	notifier   *notifier
	owners     owners
	dutyRead   atomic.Pointer[dutyRead]
	packs      atomic.Bool // see startPacking

	mu       sync.Mutex
	leases   map[int64]time.Duration // this process's nodes: when their last heartbeat was sent
	onlyNode bool                    // there is no other node
	hearing  bool                    // notices of others arrive
	listens  bool                    // the loops that a node needs are running
	mailbox  chan struct{}           // there may be cancels to read
	presence presence
	expired  chan struct{} // see Expired
	joined   chan struct{} // receives when this process has registered a node

	background context.Context
	stop       context.CancelFunc
	done       sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Options configure Open.
type Options struct {
	// Waiting is called with the cause when the server can't be reached at once and Open
	// tries again, for 30 s at most; nil for nothing.
	Waiting func(cause error)
	// WriteWithin is the timeout of a write; 0 is 5 s. The tests of a slow program set it.
	WriteWithin time.Duration
	// AnswerWithin is how long a server may take to answer a probe before another one, of
	// half that time, decides that it is down; 0 is 1 s. Tests on a slow machine set it.
	AnswerWithin time.Duration
	// CancelsEvery is how often cancels for this process's nodes are read while notices of
	// them arrive, in case one was lost; 0 is 2 s. The tests of the notices set it.
	CancelsEvery time.Duration
	// after is time.After for the probes; nil is that.
	after func(time.Duration) <-chan time.Time
}

// Open connects to the database at a URL and migrates its tables.
func Open(ctx context.Context, databaseURL string, options Options) (*Store, error) {
	config, err := configure(databaseURL)
	if err != nil {
		return nil, err
	}
	return openWith(ctx, config, databaseURL, options)
}

// openWith is Open with the configuration of the connections.
func openWith(ctx context.Context, config *pgxpool.Config, databaseURL string, options Options) (*Store, error) {
	hosts := &hosts{}
	finding, cancel := context.WithTimeout(ctx, config.ConnConfig.ConnectTimeout)
	hosts.find(finding, config.ConnConfig) // if none is found, connecting says why
	cancel()
	if err := hosts.order(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	pooled, err := adapt(ctx, config, databaseURL, options.Waiting)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(context.Background())
	s := &Store{
		id: uuid.NewString(), pooled: pooled, clock: newClock(), contact: newContact(), hosts: hosts,
		owners:       owners{ids: map[int64]uuid.UUID{}},
		writeWithin:  cmp.Or(options.WriteWithin, writeWithin),
		answerWithin: cmp.Or(options.AnswerWithin, answerWithin), after: time.After,
		cancelsEvery: cmp.Or(options.CancelsEvery, store.HeartbeatInterval),
		leases:       map[int64]time.Duration{}, mailbox: make(chan struct{}, 1),
		expired: make(chan struct{}, 1), joined: make(chan struct{}, 1), background: background, stop: stop,
	}
	if options.after != nil {
		s.after = options.after
	}
	s.Records = records.New(recordsEngine{s})
	s.Subscribe(func(store.Notice) {})
	if err := s.openPools(background, config); err != nil {
		stop()
		return nil, err
	}
	s.notifier = newNotifier(s)
	if err := s.readTime(ctx, options.Waiting); err != nil {
		s.closePools()
		return nil, s.wrap(ctx, fmt.Errorf("reading the time of the database: %w", err))
	}
	if err := s.readPacks(ctx); err != nil {
		s.closePools()
		return nil, err
	}
	s.done.Go(func() { s.watch(background) })
	s.done.Go(func() { s.notifier.run(background) })
	return s, nil
}

// readTime estimates the time by the best of several round trips. It retries while the
// server is too busy to respond, and tells waiting, unless it is nil, of the first failure.
func (s *Store) readTime(ctx context.Context, waiting func(error)) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for answers := 0; answers < 5; {
		_, err := s.ask(ctx, connectTimeout)
		switch {
		case err == nil:
			answers++
		case !errors.Is(err, errUnanswered) || ctx.Err() != nil:
			return err
		case waiting != nil:
			waiting(err)
			waiting = nil
		}
	}
	return nil
}

// closePools closes all connections. It cancels calls under way first, because
// closing waits for their connections.
func (s *Store) closePools() {
	s.stop()
	s.contact.gone(errClosed)
	s.done.Wait()
	s.eachPool((*pgxpool.Pool).Close)
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.notifier.flush()
	s.closePools()
	return nil
}

// Subscribe implements store.Store.
func (s *Store) Subscribe(f func(store.Notice)) { s.notify.Store(&f) }

func (s *Store) publish(n store.Notice) { (*s.notify.Load())(n) }

// Now implements store.Queue.
func (s *Store) Now() time.Time { return s.clock.now() }

// Ping implements store.Store: it writes.
func (s *Store) Ping(ctx context.Context) error {
	_, cancel, err := s.contact.bound(ctx, writeWithin)
	if err != nil {
		return err
	}
	cancel()
	err = s.probe.Do(ctx, func(ctx context.Context) error {
		return s.write(ctx, func(t *tx) error { return t.commit(query{sql: `UPDATE probes SET beat = beat + 1`}) })
	})
	if err != nil && fault.CodeOf(err) != fault.Unavailable {
		err = fault.Unreachable(err)
	}
	return err
}
