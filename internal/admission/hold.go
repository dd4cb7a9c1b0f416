package admission

import (
	"context"
	"sync"
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

// keep keeps a lease of this size until the release of ctx's Hold.
func keep(ctx context.Context, l *lease, size int) {
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
