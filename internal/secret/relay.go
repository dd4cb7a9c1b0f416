package secret

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

// Relay encrypts the requests and answers that nodes pass to one another for
// listeners: a request has the values of secrets, since the listener's node can't
// resolve them. Without keys there are no secrets, and rows are stored as they are.
// Rows that are not encrypted are read in any case: a node of an earlier version
// writes them.
type Relay struct {
	store.Relay
	Keys *Keyring
}

// RelayAsk implements store.Relay.
func (r *Relay) RelayAsk(ctx context.Context, request store.RelayRequest) error {
	request.Request = r.seal(requestRecord(request.ID, request.Listener), request.Request)
	return r.Relay.RelayAsk(ctx, request)
}

// RelayTake implements store.Relay. A request that can't be decrypted is nil, so that
// its listener's node reports it and the others are carried out.
func (r *Relay) RelayTake(ctx context.Context, listeners []uuid.UUID) ([]store.RelayRequest, error) {
	taken, err := r.Relay.RelayTake(ctx, listeners)
	for i := range taken {
		t := &taken[i]
		t.Request = r.open(requestRecord(t.ID, t.Listener), t.Request)
	}
	return taken, err
}

// RelayAnswer implements store.Relay.
func (r *Relay) RelayAnswer(ctx context.Context, id uuid.UUID, answer []byte) error {
	return r.Relay.RelayAnswer(ctx, id, r.seal(answerRecord(id), answer))
}

// RelayCollect implements store.Relay. An answer that can't be decrypted is nil.
func (r *Relay) RelayCollect(ctx context.Context, id uuid.UUID) ([]byte, error) {
	answer, err := r.Relay.RelayCollect(ctx, id)
	return r.open(answerRecord(id), answer), err
}

func (r *Relay) seal(record string, b []byte) []byte {
	if r.Keys == nil {
		return b
	}
	return r.Keys.SealBytes(record, b)
}

func (r *Relay) open(record string, b []byte) []byte {
	if !isSealed(string(b[:min(len(b), len(sealed))])) {
		return b
	}
	opened, err := r.Keys.OpenBytes(record, b)
	if err != nil {
		return nil
	}
	return opened
}
