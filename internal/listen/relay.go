package listen

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// pollEvery is how often a node reads the tables while it has something to wait
	// for.
	pollEvery = 100 * time.Millisecond
	// syncEvery is how often a node reads which listeners there are, and listFor how
	// long it relies on what it has read.
	syncEvery = time.Second
	listFor   = 2500 * time.Millisecond
	// maxAsks is how many requests for listeners of other nodes a node has under way,
	// maxAsksOf those of one account.
	maxAsks   = 128
	maxAsksOf = 32
	// takeAtOnce is how many requests of other nodes are taken at once, at most one
	// for each listener.
	takeAtOnce = 16
	// maxUnwritten is how many bytes of them wait to be written to listeners,
	// maxUnwrittenOf those of one account.
	maxUnwritten   = 32 << 20
	maxUnwrittenOf = 8 << 20
	// answerWithin is how long storing an answer may take, and expireAfter how long
	// after its timeout a request is deleted if its asker has not.
	answerWithin = 10 * time.Second
	expireAfter  = time.Minute
	// noTimeout stands for the timeout of a request that has none.
	noTimeout = 20 * time.Minute
)

// relay is a Hub's part in passing requests between nodes.
type relay struct {
	syncing sync.Mutex // held while the listeners of other nodes are read
	news    chan struct{}

	mu        sync.Mutex
	listeners map[int64][]store.Listener // of other nodes, by account
	tags      map[int64]int              // how many of these have a tag
	readAt    time.Time                  // when reading them began
	asks      map[uuid.UUID]*ask
	asksOf    map[int64]int     // by account
	asksTo    map[uuid.UUID]int // by listener
	taken     map[uuid.UUID]*take
	unwritten int
	owed      map[int64]int // unwritten, by account
}

func newRelay() relay {
	return relay{
		news: make(chan struct{}, 1), listeners: map[int64][]store.Listener{}, tags: map[int64]int{}, asks: map[uuid.UUID]*ask{},
		asksOf: map[int64]int{}, asksTo: map[uuid.UUID]int{}, taken: map[uuid.UUID]*take{}, owed: map[int64]int{},
	}
}

// ask is a request of this node for a listener of another node.
type ask struct {
	news   chan store.RelayState
	stored bool // guarded by relay.mu
}

// take is a request of another node for a listener of this node.
type take struct {
	cancel context.CancelFunc
}

// wake makes the node's listeners known soon.
func (r *relay) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// serving returns how many requests of other nodes are under way here.
func (r *relay) serving() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken)
}

// choose returns the listener of another node that connected last, of those that
// match and are not busy because of this node, and whether any matches. fresh has
// listeners that may not be known yet.
func (r *relay) choose(w *wanted, fresh []store.Listener) (best *store.Listener, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range slices.Concat(r.listeners[w.account], fresh) {
		if !w.matches(&l) || l.Draining {
			continue
		}
		found = true
		room := len(r.asks) < maxAsks && r.asksOf[w.account] < maxAsksOf && r.asksTo[l.ID] < maxInFlight
		if room && (best == nil || l.Since.After(best.Since)) {
			best = &l
		}
	}
	return best, found
}

// runRelay passes requests and answers until the Hub is closed.
func (h *Hub) runRelay() {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	list := time.NewTicker(syncEvery)
	defer list.Stop()
	_ = h.sync(h.ctx) // tried again soon
	failed := false
	for round := 0; ; round++ {
		var err error
		select {
		case <-h.ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), 2*time.Second)
			_, _ = h.Relay.ListenerSync(ctx, h.Node(), nil) // else they are deleted with the node's lease
			cancel()
			return
		case <-list.C:
			err = h.sync(store.Routine(h.ctx))
		case <-h.relay.news:
			err = h.sync(h.ctx)
		case <-poll.C:
			if err = h.poll(); err == nil {
				err = h.take()
			}
			if round%8 == 0 && err == nil {
				err = h.dropUnwanted()
			}
		}
		if err != nil && !failed && h.ctx.Err() == nil {
			h.Log.Warn("passing requests between listeners' nodes failed; retrying", "error", err)
		}
		failed = err != nil
	}
}

// sync makes the listeners of this node known and reads those of others.
func (h *Hub) sync(ctx context.Context) error {
	r := &h.relay
	r.syncing.Lock()
	defer r.syncing.Unlock()
	h.mu.Lock()
	node := h.Node()
	mine := make([]store.Listener, 0, len(h.sessions))
	for _, s := range h.sessions {
		l := s.Listener
		l.Node, l.Draining = node, h.draining
		mine = append(mine, l)
	}
	h.mu.Unlock()
	start := time.Now()
	others, err := h.Relay.ListenerSync(ctx, node, mine)
	if err != nil {
		return err
	}
	r.mu.Lock()
	clear(r.listeners)
	clear(r.tags)
	for _, l := range others {
		r.listeners[l.Account] = append(r.listeners[l.Account], l)
		if l.Tag != "" {
			r.tags[l.Account]++
		}
	}
	r.readAt = start
	r.mu.Unlock()
	h.listed()
	return nil
}

// Diverts reports whether a listener responds to all requests of a job,
// because there is one for a tag of the job. tags returns them.
func (h *Hub) Diverts(account int64, tags func() []string) (bool, error) {
	if account == h.Public {
		return false, nil
	}
	w := &wanted{account: account}
	matches := func(l *store.Listener) bool {
		if l.Account != account || l.Tag == "" {
			return false
		}
		if w.tags == nil {
			w.tags = tags()
		}
		return w.matches(l)
	}
	h.mu.Lock()
	found := false
	for s := range h.accounts[account] {
		found = found || s.ctx.Err() == nil && matches(&s.Listener)
	}
	h.mu.Unlock()
	if found || h.Relay == nil {
		return found, nil
	}
	r := &h.relay
	r.mu.Lock()
	stale := time.Since(r.readAt) > listFor
	r.mu.Unlock()
	if stale && len(tags()) == 0 {
		return false, nil // so it does not wait for the database
	}
	if stale {
		if err := h.sync(h.ctx); err != nil {
			return false, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tags[account] > 0 && slices.ContainsFunc(r.listeners[account],
		func(l store.Listener) bool { return !l.Draining && matches(&l) }), nil
}
