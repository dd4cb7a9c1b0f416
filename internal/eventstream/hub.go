package eventstream

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Hub reads.
type Store interface {
	Now() time.Time
	store.Versions
	JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error)
	LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error)
}

// Config configures a Hub.
type Config struct {
	Store Store
	Log   *slog.Logger
}

const (
	// MaxStreams is how many streams an account may have at once on a node.
	MaxStreams = 20
	// MaxHints is how many hint streams an account may have. The limit is high because
	// they cost little, and the pages of one account may be public.
	MaxHints = 1000
	// maxOfNetwork is how many streams a client's network may have, maxOfAll how
	// many there may be, of each sort.
	maxOfNetwork = 200
	maxOfAll     = 2000
	// maxHeld is how many bytes of events may wait for all readers together. Records
	// beyond that are read again when they are written.
	maxHeld = 32 << 20
	// maxRounds is how many watchers may read at once.
	maxRounds = 2
)

// Hub manages the watchers and streams of all accounts.
type Hub struct {
	Config
	watched atomic.Int64 // accounts that are watched
	stored  lastStored
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	held   atomic.Int64  // bytes of events that wait for readers
	rounds chan struct{} // a slot for each watcher that reads

	mu       sync.Mutex
	watchers map[int64]*watcher   // by the account's number
	networks map[netip.Prefix]int // streams by the network of the client
	open     map[bool]int         // streams of hints, and others
}

// New returns a Hub. The caller must Close it before the store.
func New(config Config) *Hub {
	h := &Hub{
		Config: config, watchers: map[int64]*watcher{}, networks: map[netip.Prefix]int{}, open: map[bool]int{},
		rounds: make(chan struct{}, maxRounds),
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.stored.began = config.Store.Now()
	return h
}

// Close ends all streams and waits until all reads have finished.
func (h *Hub) Close() {
	h.cancel()
	h.running.Wait()
}

// Wake reports that this node stored something of an account. It does not block.
func (h *Hub) Wake(account int64) { h.notify(account, 0) }

// Changed reports that this node created or changed a job. It does not block.
func (h *Hub) Changed(j *job.Job) { h.notify(j.Owner.Number, j.Number) }

func (h *Hub) notify(account, number int64) {
	h.stored.put(account, h.Store.Now())
	if h.watched.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watchers[account]
	if w == nil {
		return
	}
	if number != 0 && len(w.changed) < maxChanged {
		w.changed = append(w.changed, job.Ref{Number: number})
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Open opens a stream of an account's events, from now on or, if last names a log,
// from after that log. It returns a TooMany fault if there are too many streams: of
// the account, of the client's network, or in all. The caller must Serve or Close
// the stream.
func (h *Hub) Open(ctx context.Context, owner job.Owner, address netip.Addr, last uuid.UUID) (*Stream, error) {
	return h.begin(ctx, &Stream{hub: h, owner: owner, network: network.Of(address), last: last, more: make(chan struct{}, 1)})
}

// OpenHints opens a stream that only reports that something happened: an event "job"
// without a record, at most once a second. It is for pages that reload their own
// data. It begins with an event unless nothing has changed since a time by the store's
// clock, before which the page was read. It returns a TooMany fault if there are too
// many such streams: of the account, of the client's network, or in all.
func (h *Hub) OpenHints(ctx context.Context, owner job.Owner, address netip.Addr, since time.Time) (*Stream, error) {
	s, err := h.begin(ctx, &Stream{hub: h, owner: owner, network: network.Of(address), hints: true, more: make(chan struct{}, 1)})
	if err == nil && h.changed(ctx, owner, since) {
		s.push([]event{hint})
	}
	return s, err
}

func (h *Hub) begin(ctx context.Context, s *Stream) (*Stream, error) {
	w, err := h.join(s)
	if err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
		err = w.failed
	case <-ctx.Done():
		err = ctx.Err()
	case <-h.ctx.Done():
		err = stopping()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func stopping() error {
	return &fault.Error{Code: fault.Unavailable, Message: "the service is stopping; try again shortly", RetryAfter: time.Second}
}

// most returns how many streams of a kind an account may have.
var most = map[bool]int{true: MaxHints, false: MaxStreams}

// refuse returns the fault for one stream too many, or nil if there is room. Called
// with mu held.
func (h *Hub) refuse(s *Stream) error {
	ofAccount := 0
	if w := h.watchers[s.owner.Number]; w != nil {
		ofAccount = w.open[s.hints]
	}
	why := ""
	switch {
	case ofAccount >= most[s.hints]:
		why = "this account has too many event streams open; close one, then try again"
	case h.networks[s.network] >= maxOfNetwork:
		why = "too many event streams are open from this network address; close one, then try again"
	case h.open[s.hints] >= maxOfAll:
		why = "too many event streams are open; try again shortly"
	default:
		return nil
	}
	return &fault.Error{Code: fault.TooMany, Reason: fault.Overlapping, Message: why, RetryAfter: 10 * time.Second}
}

// join adds a stream to the account's watcher, starting the watcher if necessary.
func (h *Hub) join(s *Stream) (*watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return nil, stopping()
	}
	if err := h.refuse(s); err != nil {
		return nil, err
	}
	w := h.watchers[s.owner.Number]
	if w == nil {
		w = newWatcher(h, s.owner)
		h.watchers[s.owner.Number] = w
		h.watched.Add(1)
		h.running.Go(w.run)
	}
	w.streams[s] = true
	w.open[s.hints]++
	h.open[s.hints]++
	h.networks[s.network]++
	s.watcher = w
	return w, nil
}

// leave removes a stream from its watcher, and stops the watcher after the last one.
func (h *Hub) leave(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := s.watcher
	if !w.streams[s] {
		return
	}
	delete(w.streams, s)
	w.open[s.hints]--
	h.open[s.hints]--
	if h.networks[s.network]--; h.networks[s.network] == 0 {
		delete(h.networks, s.network)
	}
	if len(w.streams) == 0 {
		delete(h.watchers, s.owner.Number)
		h.watched.Add(-1)
		w.stop()
	}
}
