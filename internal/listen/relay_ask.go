package listen

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

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
	if failure := h.storeAsk(ctx, request); failure != nil {
		return nil, failure
	}
	h.relay.stored(a)
	for {
		select {
		case <-ctx.Done():
			h.drop(ctx, request.ID, false)
			return nil, interrupted("the attempt ended before the listener responded")
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
				return nil, lost("the listener's node stopped, or lost the listener, before it responded")
			}
		}
	}
}

// storeAsk stores a request for another node's listener. It tries twice, because the
// response to a commit may be lost: the request is stored once. After that, the other
// node may have taken the request unless it can be deleted before.
func (h *Hub) storeAsk(ctx context.Context, request store.RelayRequest) *job.Failure {
	for range 2 {
		if h.Relay.RelayAsk(ctx, request) == nil {
			return nil
		}
	}
	failure := interrupted("the request could not be passed to the listener's node")
	if !h.drop(ctx, request.ID, true) {
		h.drop(ctx, request.ID, false) // so that the other node cancels it
		failure = &job.Failure{
			Kind: job.KindInterrupted, Message: "it is not known whether the request has reached the listener's node", Wait: failure.Wait,
		}
	}
	return failure
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
		return nil, lost("the listener's response could not be read")
	}
	m, err := decodeAnswer(b)
	switch {
	case err != nil:
		return nil, lost("the listener's response could not be read")
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
	report := func(state store.RelayState) {
		select {
		case asks[state.ID].news <- state:
		default:
		}
		delete(asks, state.ID)
	}
	for _, state := range states {
		if state.Answered || state.Gone {
			report(state)
		}
		delete(asks, state.ID)
	}
	for id := range asks {
		report(store.RelayState{ID: id})
	}
	return nil
}
