package admission

import (
	"context"
	"sync"

	"github.com/punctual-dev/punctual/internal/job"
)

// holding is the set of leases of one response.
type holding struct {
	mu     sync.Mutex
	leases []*lease
	over   bool
}

type holdingKey struct{}

// Hold returns a context whose reads keep their bytes until release is called.
// Call release after the response has been written. Reads with other contexts
// release their bytes when they return.
func Hold(ctx context.Context) (held context.Context, release func()) {
	h := &holding{}
	return context.WithValue(ctx, holdingKey{}, h), h.release
}

func (h *holding) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.leases {
		l.release()
	}
	h.leases, h.over = nil, true
}

type reservedKey struct{}

// Reserve reserves bytes for several reads of one response. Reads with the returned
// context don't reserve their own; the caller bounds what they read together. settle
// ends the reservation; the bytes that are kept for the response count as those of a
// read with ctx. If records is not a Store, nothing is counted.
//
// Use it before reads that may add up to much: requests of an account that hold a
// part of their bytes and wait for the rest would block each other.
func Reserve(ctx context.Context, records any, owner job.Owner, bytes int) (reserved context.Context, settle func(kept int), err error) {
	s, ok := records.(*Store)
	if !ok {
		return ctx, func(int) {}, nil
	}
	l, err := s.bytes.take(ctx, owner.Number, bytes)
	if err != nil {
		return nil, nil, err
	}
	return context.WithValue(ctx, reservedKey{}, true), func(kept int) { keep(ctx, l, kept) }, nil
}

func isReserved(ctx context.Context) bool { return ctx.Value(reservedKey{}) != nil }

// take reserves bytes for a read. The lease is nil if they are a part of those that
// Reserve has reserved.
func (s *Store) take(ctx context.Context, owner job.Owner, size int) (*lease, error) {
	if isReserved(ctx) {
		return nil, nil
	}
	return s.bytes.take(ctx, owner.Number, size)
}

// keep keeps a lease of this size until the release of ctx's Hold.
func keep(ctx context.Context, l *lease, size int) {
	if l == nil {
		return
	}
	h, _ := ctx.Value(holdingKey{}).(*holding)
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	if h == nil || h.over {
		size = 0
	}
	l.resize(size)
	if size > 0 {
		h.leases = append(h.leases, l)
	}
}
