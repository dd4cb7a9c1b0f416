package admission

import (
	"context"
	"sync"
)

// holding are the leases of one answer.
type holding struct {
	mu     sync.Mutex
	leases []*lease
	over   bool
}

type holdingKey struct{}

// Hold lets what is read with the context that it returns count until release is
// called: when the answer made of it has been written. What is read with a
// context that holds nothing counts while it is read only.
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

// keep lets a lease of this size last as long as ctx holds.
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
