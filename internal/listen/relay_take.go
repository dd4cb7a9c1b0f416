package listen

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

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
		answer := &Message{Type: Failure, Kind: job.KindClosed, Error: "the listener disconnected before it responded"}
		m, err := Decode(request.Request)
		if err != nil || m.Type != Request {
			m, answer.Error = nil, "the listener's node could not read the request; do all nodes have the same keys in --secrets-key-file?"
		}
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
// is called when they are written, or never will be; perhaps more than once.
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
		pause.For(ctx, pollEvery)
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
