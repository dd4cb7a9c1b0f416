package follow

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// Store is what a Hub reads.
type Store interface {
	Now() time.Time
	JobList(ctx context.Context, owner job.Owner, q store.JobQuery) ([]*job.Job, error)
	JobGetMany(ctx context.Context, owner job.Owner, ids []store.JobID) ([]*job.Job, error)
	JobsEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]*job.Job, error)
	LogList(ctx context.Context, owner job.Owner, q store.LogQuery) ([]*job.Log, error)
}

// Config of a Hub.
type Config struct {
	Store Store
	Log   *slog.Logger
}

const (
	// MaxStreams is how many streams an account may have at once on a node.
	MaxStreams = 20
	// MaxHints is how many streams of hints there may be, which cost little: the
	// pages of one account may be open to everyone.
	MaxHints = 1000
)

// Hub knows who watches what.
type Hub struct {
	Config
	watched atomic.Int64 // accounts that are watched
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	watchers map[int64]*watcher // by the account's number
}

// New makes a Hub. Its owner must Close it before the store.
func New(config Config) *Hub {
	h := &Hub{Config: config, watchers: map[int64]*watcher{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends all streams and waits until nothing is read any more.
func (h *Hub) Close() {
	h.cancel()
	h.running.Wait()
}

// Wake tells that this node has stored something of an account. It does not
// block.
func (h *Hub) Wake(account int64) { h.tell(account, nil) }

// Changed tells that this node has created or changed a job. It does not block.
func (h *Hub) Changed(j *job.Job) { h.tell(j.Owner.Number, j) }

func (h *Hub) tell(account int64, j *job.Job) {
	if h.watched.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watchers[account]
	if w == nil {
		return
	}
	if j != nil && len(w.changed) < maxChanged {
		w.changed = append(w.changed, j)
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Open begins a stream of an account's events, from now on or, when last names
// a log, from behind that one. A TooMany fault when there are MaxStreams. The
// caller must Serve or Close the stream.
func (h *Hub) Open(ctx context.Context, owner job.Owner, last uuid.UUID) (*Stream, error) {
	return h.open(ctx, &Stream{hub: h, owner: owner, last: last, more: make(chan struct{}, 1)})
}

// OpenHints begins a stream that only tells that something has happened, as an
// event "job" without a record, once a second at most: for pages that read what
// they show for themselves. A TooMany fault when there are MaxHints.
func (h *Hub) OpenHints(ctx context.Context, owner job.Owner) (*Stream, error) {
	return h.open(ctx, &Stream{hub: h, owner: owner, hints: true, more: make(chan struct{}, 1)})
}

func (h *Hub) open(ctx context.Context, s *Stream) (*Stream, error) {
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

// most is how many streams of hints, or others, an account may have.
var most = map[bool]int{true: MaxHints, false: MaxStreams}

// join lets the account's watcher tell a stream; the first one starts it.
func (h *Hub) join(s *Stream) (*watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil {
		return nil, stopping()
	}
	w := h.watchers[s.owner.Number]
	if w == nil {
		w = newWatcher(h, s.owner)
		h.watchers[s.owner.Number] = w
		h.watched.Add(1)
		h.running.Go(w.run)
	}
	if w.open[s.hints] == most[s.hints] {
		return nil, &fault.Error{
			Code: fault.TooMany, Message: "this account has too many event streams open; close one, then try again", RetryAfter: 10 * time.Second,
		}
	}
	w.streams[s] = true
	w.open[s.hints]++
	s.watcher = w
	return w, nil
}

// leave takes a stream from its watcher; the last one stops it.
func (h *Hub) leave(s *Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := s.watcher
	if !w.streams[s] {
		return
	}
	delete(w.streams, s)
	w.open[s.hints]--
	if len(w.streams) == 0 {
		delete(h.watchers, s.owner.Number)
		h.watched.Add(-1)
		w.stop()
	}
}
