package listen

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

// tables is a store.Relay in memory, which several hubs share.
type tables struct {
	mu        sync.Mutex
	listeners map[uuid.UUID]store.Listener
	requests  map[uuid.UUID]*row
	order     []uuid.UUID
	asked     int
	// askErr is how many of the next RelayAsk fail, after the request was stored unless
	// askLost is set.
	askErr  int
	askLost bool
	// beforeDrop is called before a request is deleted; nil does nothing.
	beforeDrop func()
}

var errLost = errors.New("the connection was lost")

type row struct {
	store.RelayRequest
	taken  bool
	answer []byte
}

func newTables() *tables {
	return &tables{listeners: map[uuid.UUID]store.Listener{}, requests: map[uuid.UUID]*row{}}
}

func (f *tables) ListenerAdd(_ context.Context, l store.Listener, most int) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, other := range f.listeners {
		if other.Account == l.Account {
			n++
		}
	}
	if n < most {
		f.listeners[l.ID] = l
	}
	return n < most, nil
}

func (f *tables) ListenerSync(_ context.Context, node int64, mine []store.Listener) (others []store.Listener, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, l := range f.listeners {
		if l.Node == node {
			delete(f.listeners, id)
		} else {
			others = append(others, l)
		}
	}
	for _, l := range mine {
		f.listeners[l.ID] = l
	}
	return others, nil
}

func (f *tables) ListenersNamed(_ context.Context, account int64, name string) (found []store.Listener, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.listeners {
		if l.Account == account && l.Name == name {
			found = append(found, l)
		}
	}
	return found, nil
}

func (f *tables) RelayAsk(_ context.Context, r store.RelayRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.askErr > 0 && f.askLost {
		f.askErr--
		return errLost
	}
	if f.requests[r.ID] == nil {
		f.requests[r.ID] = &row{RelayRequest: r}
		f.order = append(f.order, r.ID)
		f.asked++
	}
	if f.askErr > 0 {
		f.askErr--
		return errLost
	}
	return nil
}

func (f *tables) RelayTake(_ context.Context, listeners []uuid.UUID) (taken []store.RelayRequest, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range listeners {
		for _, id := range f.order {
			if r := f.requests[id]; r != nil && r.Listener == l && !r.taken {
				r.taken = true
				taken = append(taken, r.RelayRequest)
				break
			}
		}
	}
	return taken, nil
}

func (f *tables) RelayWanted(_ context.Context, ids []uuid.UUID) ([]uuid.UUID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return f.requests[id] == nil }), nil
}

func (f *tables) RelayAnswer(_ context.Context, id uuid.UUID, answer []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.requests[id]; r != nil {
		r.answer = answer
	}
	return nil
}

func (f *tables) RelayStates(_ context.Context, ids []uuid.UUID) (states []store.RelayState, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if r := f.requests[id]; r != nil {
			l, listed := f.listeners[r.Listener]
			states = append(states, store.RelayState{ID: id, Taken: r.taken, Answered: r.answer != nil,
				Gone: !listed || l.Draining && !r.taken})
		}
	}
	return states, nil
}

func (f *tables) RelayCollect(_ context.Context, id uuid.UUID) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.requests[id]
	if r == nil {
		return nil, nil
	}
	delete(f.requests, id)
	return r.answer, nil
}

func (f *tables) RelayDrop(_ context.Context, id uuid.UUID, unlessTaken bool) (bool, error) {
	f.mu.Lock()
	if before := f.beforeDrop; before != nil {
		f.mu.Unlock()
		before()
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	r := f.requests[id]
	if r == nil || r.taken && unlessTaken {
		return false, nil
	}
	delete(f.requests, id)
	return true, nil
}

// crash forgets everything, as a database does with unlogged tables.
func (f *tables) crash() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.requests)
	clear(f.listeners)
}

func (f *tables) left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}
