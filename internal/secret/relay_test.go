package secret

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

// rows is a store.Relay that keeps what it gets.
type rows struct {
	store.Relay
	requests []store.RelayRequest
	answers  map[uuid.UUID][]byte
}

func (r *rows) RelayAsk(_ context.Context, request store.RelayRequest) error {
	r.requests = append(r.requests, request)
	return nil
}

func (r *rows) RelayTake(context.Context, []uuid.UUID) ([]store.RelayRequest, error) {
	return append([]store.RelayRequest{}, r.requests...), nil
}

func (r *rows) RelayAnswer(_ context.Context, id uuid.UUID, answer []byte) error {
	r.answers[id] = answer
	return nil
}

func (r *rows) RelayCollect(_ context.Context, id uuid.UUID) ([]byte, error) {
	return r.answers[id], nil
}

func TestRelay_EncryptsRequestsAndAnswers(t *testing.T) {
	ctx, table, key := t.Context(), &rows{answers: map[uuid.UUID][]byte{}}, NewKey()
	one, other := &Relay{table, keyring(t, key)}, &Relay{table, keyring(t, NewKey(), key)}
	id := uuid.New()
	for _, name := range []string{"first s3cr3t-value", "second s3cr3t-value"} {
		if err := one.RelayAsk(ctx, store.RelayRequest{ID: uuid.New(), Listener: uuid.New(), Request: []byte(name)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.RelayAnswer(ctx, id, []byte("s3cr3t-value")); err != nil {
		t.Fatal(err)
	}
	for _, stored := range [][]byte{table.requests[0].Request, table.requests[1].Request, table.answers[id]} {
		if bytes.Contains(stored, []byte("s3cr3t")) {
			t.Errorf("stored %q", stored)
		}
	}
	taken := func(r *Relay) (all []string) {
		requests, err := r.RelayTake(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range requests {
			all = append(all, string(request.Request))
		}
		return all
	}
	if got := taken(other); got[0] != "first s3cr3t-value" || got[1] != "second s3cr3t-value" {
		t.Errorf("took %q", got)
	}
	if got, _ := other.RelayCollect(ctx, id); string(got) != "s3cr3t-value" {
		t.Errorf("collected %q", got)
	}
	// A row is bound to its request: one that was exchanged is not readable, and does
	// not keep others from being read.
	table.requests[0].Request = table.requests[1].Request
	if got := taken(other); got[0] != "" || got[1] != "second s3cr3t-value" {
		t.Errorf("took %q", got)
	}
	if got := taken(&Relay{table, keyring(t, NewKey())}); got[0] != "" || got[1] != "" {
		t.Errorf("a node with another key took %q", got)
	}
	if got, _ := other.RelayCollect(ctx, uuid.New()); got != nil {
		t.Errorf("collected %q of no request", got)
	}
}

// Without keys nothing is encrypted. A node with keys reads such rows: those of nodes
// of an earlier version.
func TestRelay_ReadsRowsThatAreNotEncrypted(t *testing.T) {
	ctx, table := t.Context(), &rows{answers: map[uuid.UUID][]byte{}}
	bare, keyed := &Relay{table, nil}, &Relay{table, keyring(t, NewKey())}
	id := uuid.New()
	for _, request := range []string{"a request", ""} {
		if err := bare.RelayAsk(ctx, store.RelayRequest{ID: id, Request: []byte(request)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := bare.RelayAnswer(ctx, id, []byte("answer")); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Relay{bare, keyed} {
		if got, err := r.RelayTake(ctx, nil); err != nil || string(got[0].Request) != "a request" || string(got[1].Request) != "" {
			t.Errorf("took %q, %v", got, err)
		}
		if got, err := r.RelayCollect(ctx, id); err != nil || string(got) != "answer" {
			t.Errorf("collected %q, %v", got, err)
		}
	}
	if err := keyed.RelayAsk(ctx, store.RelayRequest{ID: id, Request: []byte("hush")}); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.RelayTake(ctx, nil); err != nil || got[2].Request != nil {
		t.Errorf("a node without keys took %q, %v", got, err)
	}
}
