package listen

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// MaxListeners is how many listeners an account may have, on all nodes.
	MaxListeners = 10
	// maxOfNetwork is how many listeners a client's network may have on a node,
	// maxOfAll how many there may be on it.
	maxOfNetwork = 100
	maxOfAll     = 1000
	// maxInFlight is how many requests a listener has under way: from attempts of
	// this node, and from those of each other node.
	maxInFlight = 8
)

// Config configures a Hub.
type Config struct {
	// Relay reaches the listeners of other nodes; nil if there is one node only.
	Relay store.Relay
	// Node returns the number of this process's node.
	Node func() int64
	// Now returns the time by the clock of the store.
	Now func() time.Time
	// Public is the number of the public account, which can't have listeners; 0 if
	// there is none.
	Public int64
	Log    *slog.Logger
}

// Hub has the listeners that are connected to this node, and knows those of other
// nodes. It is safe for concurrent use.
type Hub struct {
	Config
	ctx     context.Context
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
	relay   relay
	ping    time.Duration // pingEvery, less in tests

	mu       sync.Mutex
	sessions map[uuid.UUID]*session
	accounts map[int64]map[*session]bool // the same by account
	networks map[netip.Prefix]int        // how many by the network of the client
	draining bool
	waiting  int           // attempts that wait for a listener
	changed  chan struct{} // closed when a listener is new, gone or has room
	woken    time.Time     // when changed was closed last
	waking   *time.Timer   // closes changed; nil if it is not set
}

// New returns a Hub. The caller must Start it, and Close it before the store.
func New(config Config) *Hub {
	h := &Hub{
		Config: config, sessions: map[uuid.UUID]*session{}, accounts: map[int64]map[*session]bool{}, networks: map[netip.Prefix]int{},
		changed: make(chan struct{}), relay: newRelay(), ping: pingEvery,
	}
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	return h
}

// Start begins to pass requests between nodes.
func (h *Hub) Start() {
	if h.Relay != nil {
		h.running.Go(h.runRelay)
	}
}

// Drain tells listeners that the service stops: they connect again, to another
// node if there is one, and answer what they have under way. No new ones are
// accepted. Attempts of this node can use those that are still connected.
func (h *Hub) Drain() {
	h.mu.Lock()
	h.draining = true
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	h.relay.wake()
	for _, s := range all {
		s.enqueue(&Message{Type: Drain})
	}
}

// Close ends all listeners, after those that still answer requests of other nodes
// have done so or within has passed, and waits for everything that the Hub does.
func (h *Hub) Close(within time.Duration) {
	end := time.Now().Add(within)
	for h.relay.serving() > 0 && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond)
	}
	h.mu.Lock()
	h.cancel(&errEnded{"the service is stopping"}) // no session joins from now on
	h.mu.Unlock()
	h.running.Wait()
}

// Listeners returns how many listeners are connected to this node.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

// InFlight returns how many requests the listeners of this node have under way.
func (h *Hub) InFlight() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, s := range h.sessions {
		n += s.busy
	}
	return n
}

// wakeCost is how long waking an attempt and choosing a listener for it may take.
// Attempts that wait are woken together, and so rarely that they use a twentieth of
// a processor.
const wakeCost = time.Microsecond

// broadcast wakes all that wait for a listener, soon. Called with mu held.
func (h *Hub) broadcast() {
	if h.waiting == 0 || h.waking != nil {
		return
	}
	pause := time.Duration(h.waiting)*20*wakeCost - time.Since(h.woken)
	if pause <= 0 {
		h.wakeAll()
		return
	}
	h.waking = time.AfterFunc(pause, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waking = nil
		h.wakeAll()
	})
}

// wakeAll is broadcast at once. Called with mu held.
func (h *Hub) wakeAll() {
	close(h.changed)
	h.changed = make(chan struct{})
	h.woken = time.Now()
}

// wait waits until a listener may be free: until wake is closed or ctx ends.
func (h *Hub) wait(ctx context.Context, wake <-chan struct{}) {
	select {
	case <-wake:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
}

// refuse returns the fault for one listener too many, or nil if there is room.
// Called with mu held.
func (h *Hub) refuse(s *session) error {
	why := ""
	switch {
	case h.draining || h.ctx.Err() != nil:
		return &fault.Error{Code: fault.Unavailable, Message: "the service is stopping; connect again shortly", RetryAfter: time.Second}
	case len(h.accounts[s.Account]) >= MaxListeners:
		why = tooManyListeners
	case h.networks[s.network] >= maxOfNetwork:
		why = "too many listeners are connected from this network address; end one, then try again"
	case len(h.sessions) >= maxOfAll:
		why = "too many listeners are connected; try again shortly"
	default:
		return nil
	}
	return tooMany(why)
}

const tooManyListeners = "this account has too many listeners connected; end one, then try again"

func tooMany(why string) error {
	return &fault.Error{Code: fault.TooMany, Reason: fault.Overlapping, Message: why, RetryAfter: 10 * time.Second}
}

// join adds a listener, here and to the list that all nodes read. The caller ends the
// session and calls leave afterwards, also after an error.
func (h *Hub) join(ctx context.Context, s *session) error {
	h.mu.Lock()
	err := h.refuse(s)
	if err == nil {
		h.replace(s)
		h.sessions[s.ID] = s
		if h.accounts[s.Account] == nil {
			h.accounts[s.Account] = map[*session]bool{}
		}
		h.accounts[s.Account][s] = true
		h.networks[s.network]++
		h.running.Add(1)
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	if h.Relay == nil {
		return nil
	}
	listed, err := h.Relay.ListenerAdd(ctx, s.Listener, MaxListeners)
	if err == nil && !listed {
		return tooMany(tooManyListeners)
	}
	return err
}

// replace ends the connections that the same program had before. Called with mu
// held.
func (h *Hub) replace(s *session) {
	for other := range h.accounts[s.Account] {
		if s.instance != "" && other.instance == s.instance {
			other.cancel(&errEnded{"the same program has connected again"})
		}
	}
}

// listed makes a listener that is ready known to the attempts that wait for one.
func (h *Hub) listed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broadcast()
}

// leave removes a listener, if it has joined.
func (h *Hub) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.ID] == nil {
		return
	}
	delete(h.sessions, s.ID)
	if delete(h.accounts[s.Account], s); len(h.accounts[s.Account]) == 0 {
		delete(h.accounts, s.Account)
	}
	if h.networks[s.network]--; h.networks[s.network] == 0 {
		delete(h.networks, s.network)
	}
	h.broadcast()
	h.relay.wake()
	h.running.Done()
}

// release returns a slot of a listener.
func (h *Hub) release(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.busy--
	h.broadcast()
}
