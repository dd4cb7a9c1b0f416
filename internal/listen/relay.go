package listen

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
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

// sender takes a slot for a listener of another node, and returns what uses it.
func (r *relay) sender(h *Hub, l *store.Listener) sender {
	id := uuid.New()
	a := &ask{news: make(chan store.RelayState, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks[id] = a
	r.asksOf[l.Account]++
	r.asksTo[l.ID]++
	return func(ctx context.Context, m *Message) (*Message, *job.Failure) {
		defer h.asked(id, l)
		if m == nil {
			return nil, nil
		}
		return h.ask(ctx, a, store.RelayRequest{ID: id, Listener: l.ID}, m)
	}
}

// asked returns the slot of a request.
func (h *Hub) asked(id uuid.UUID, l *store.Listener) {
	r := &h.relay
	r.mu.Lock()
	delete(r.asks, id)
	if r.asksOf[l.Account]--; r.asksOf[l.Account] == 0 {
		delete(r.asksOf, l.Account)
	}
	if r.asksTo[l.ID]--; r.asksTo[l.ID] == 0 {
		delete(r.asksTo, l.ID)
	}
	r.mu.Unlock()
	h.listed()
}

// ask stores a request for another node's listener and waits for the answer.
func (h *Hub) ask(ctx context.Context, a *ask, request store.RelayRequest, m *Message) (*Message, *job.Failure) {
	var err error
	if request.Request, err = m.Encode(); err != nil {
		return nil, interrupted("the request could not be passed to the listener's node")
	}
	request.ExpiresAt = h.Now().Add(noTimeout)
	if m.TimeoutMS > 0 {
		request.ExpiresAt = h.Now().Add(time.Duration(m.TimeoutMS)*time.Millisecond + expireAfter)
	}
	if err := h.Relay.RelayAsk(ctx, request); err != nil {
		h.drop(ctx, request.ID, false) // it may have been stored
		return nil, interrupted("the request could not be passed to the listener's node")
	}
	h.relay.stored(a)
	for {
		select {
		case <-ctx.Done():
			h.drop(ctx, request.ID, false)
			return nil, interrupted("the attempt ended before the listener answered")
		case state := <-a.news:
			switch {
			case state.Answered:
				return h.collect(ctx, request.ID)
			case !state.Gone:
				return nil, lost("the request was lost on its way to the listener")
			case !state.Taken && h.drop(ctx, request.ID, true):
				return nil, nil
			case state.Taken:
				h.drop(ctx, request.ID, false)
				return nil, lost("the listener's node stopped, or lost the listener, before it answered")
			}
		}
	}
}

// stored records that a request is in the table, so that it is lost when it is not
// found there.
func (r *relay) stored(a *ask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.stored = true
}

func lost(why string) *job.Failure { return &job.Failure{Kind: job.KindClosed, Message: why} }

// collect reads the answer to a request.
func (h *Hub) collect(ctx context.Context, id uuid.UUID) (*Message, *job.Failure) {
	b, err := h.Relay.RelayCollect(ctx, id)
	if err != nil || b == nil {
		return nil, lost("the listener's answer could not be read")
	}
	m, err := decodeAnswer(b)
	switch {
	case err != nil:
		return nil, lost("the listener's answer could not be read")
	case m.Type == Failure:
		return nil, &job.Failure{Kind: m.Kind, Message: m.Error}
	}
	return m, nil
}

// drop deletes a request. If that fails, the request expires.
func (h *Hub) drop(ctx context.Context, id uuid.UUID, unlessTaken bool) bool {
	dropped, err := h.Relay.RelayDrop(context.WithoutCancel(ctx), id, unlessTaken)
	return err == nil && dropped
}

// runRelay passes requests and answers until the Hub is closed.
func (h *Hub) runRelay() {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	list := time.NewTicker(syncEvery)
	defer list.Stop()
	h.sync()
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
			err = h.sync()
		case <-h.relay.news:
			err = h.sync()
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
func (h *Hub) sync() error {
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
	others, err := h.Relay.ListenerSync(h.ctx, node, mine)
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

// poll tells those who wait what became of their requests.
func (h *Hub) poll() error {
	r := &h.relay
	r.mu.Lock()
	asks := make(map[uuid.UUID]*ask, len(r.asks))
	ids := make([]uuid.UUID, 0, len(r.asks))
	for id, a := range r.asks {
		if a.stored {
			asks[id] = a
			ids = append(ids, id)
		}
	}
	r.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	states, err := h.Relay.RelayStates(h.ctx, ids)
	if err != nil {
		return err
	}
	tell := func(state store.RelayState) {
		select {
		case asks[state.ID].news <- state:
		default:
		}
		delete(asks, state.ID)
	}
	for _, state := range states {
		if state.Answered || state.Gone {
			tell(state)
		}
		delete(asks, state.ID)
	}
	for id := range asks {
		tell(store.RelayState{ID: id})
	}
	return nil
}

// take takes requests of other nodes for listeners with free slots.
func (h *Hub) take() error {
	for h.ctx.Err() == nil {
		ids := h.free()
		if len(ids) == 0 {
			return nil
		}
		requests, err := h.Relay.RelayTake(h.ctx, ids)
		if err != nil {
			return err
		}
		for _, request := range requests {
			h.serveTaken(request)
		}
		if len(requests) < takeAtOnce {
			return nil
		}
	}
	return nil
}

// free returns up to takeAtOnce listeners that can take a request, in an order that
// changes from call to call.
func (h *Hub) free() []uuid.UUID {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return nil
	}
	r := &h.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unwritten >= maxUnwritten {
		return nil
	}
	var ids []uuid.UUID
	for id, s := range h.sessions { // in random order
		if s.busy < maxInFlight && s.ctx.Err() == nil && r.owed[s.Account] < maxUnwrittenOf {
			if ids = append(ids, id); len(ids) == takeAtOnce {
				break
			}
		}
	}
	return ids
}

// serveTaken has a listener of this node answer a request of another node.
func (h *Hub) serveTaken(request store.RelayRequest) {
	h.mu.Lock()
	s := h.sessions[request.Listener]
	if s != nil {
		s.busy++
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.ctx, request.ExpiresAt.Sub(h.Now()))
	r := &h.relay
	r.mu.Lock()
	r.taken[request.ID] = &take{cancel}
	r.mu.Unlock()
	h.running.Go(func() {
		defer cancel()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.taken, request.ID)
		}()
		m, err := Decode(request.Request)
		if err != nil || m.Type != Request {
			m = nil
		}
		answer := &Message{Type: Failure, Kind: job.KindClosed, Error: "the listener disconnected before it answered"}
		if s != nil {
			send := s.sender(h.owe(s.Account, len(request.Request)))
			if got, failure := send(ctx, m); got != nil {
				answer = got
			} else if failure != nil && slices.Contains(answerKinds, failure.Kind) {
				answer.Kind, answer.Error = failure.Kind, failure.Message
			}
		}
		if ctx.Err() == nil || h.ctx.Err() != nil {
			h.storeAnswer(request.ID, answer)
		}
	})
}

// owe counts bytes that wait to be written for an account. The function returned
// is called once when they are written, or never will be.
func (h *Hub) owe(account int64, bytes int) func() {
	r := &h.relay
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.unwritten += n
		if r.owed[account] += n; r.owed[account] == 0 {
			delete(r.owed, account)
		}
	}
	add(bytes)
	return sync.OnceFunc(func() { add(-bytes) })
}

// storeAnswer stores an answer, also while the Hub is being closed.
func (h *Hub) storeAnswer(id uuid.UUID, answer *Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), answerWithin)
	defer cancel()
	b, err := answer.Encode()
	for err == nil {
		if err := h.Relay.RelayAnswer(ctx, id, b); err == nil || ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollEvery):
		}
	}
}

// dropUnwanted cancels requests of other nodes that nobody waits for any more.
func (h *Hub) dropUnwanted() error {
	r := &h.relay
	r.mu.Lock()
	ids := make([]uuid.UUID, 0, len(r.taken))
	for id := range r.taken {
		ids = append(ids, id)
	}
	r.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	wanted, err := h.Relay.RelayWanted(h.ctx, ids)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if t := r.taken[id]; t != nil && !slices.Contains(wanted, id) {
			t.cancel()
		}
	}
	return nil
}

// Diverts reports whether all requests of a job are to be answered by a listener,
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
		if err := h.sync(); err != nil {
			return false, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tags[account] > 0 && slices.ContainsFunc(r.listeners[account], func(l store.Listener) bool { return !l.Draining && matches(&l) }), nil
}
