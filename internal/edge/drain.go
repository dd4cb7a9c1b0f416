package edge

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// drainPoll is how often drain.begin counts connections.
const drainPoll = 10 * time.Millisecond

// drain lets clients of a server move to another process that listens on the same socket.
// The zero value drains nothing yet.
type drain struct {
	begun atomic.Bool

	mu        sync.Mutex
	listeners []*paused
}

// listen returns a listener that stops accepting when the drain begins.
func (d *drain) listen(l net.Listener) net.Listener {
	p := &paused{Listener: l, begun: &d.begun, closed: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listeners = append(d.listeners, p)
	return p
}

// wrap returns a handler whose responses end their connections once the drain has begun.
func (d *drain) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// begin begins the drain, and returns once there are no connections, or ctx ends.
func (d *drain) begin(ctx context.Context, connections func() int) {
	d.begun.Store(true)
	d.mu.Lock()
	for _, l := range d.listeners {
		l.interrupt()
	}
	d.mu.Unlock()
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for connections() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// paused is a listener that leaves connections in the kernel's queue once begun is set,
// without being closed.
type paused struct {
	net.Listener
	begun  *atomic.Bool
	once   sync.Once
	closed chan struct{}
}

// interrupt ends the call of Accept that waits for a connection.
func (p *paused) interrupt() {
	if l, ok := p.Listener.(interface{ SetDeadline(time.Time) error }); ok {
		_ = l.SetDeadline(time.Unix(1, 0)) // fails only when it is closed
	}
}

// Accept implements net.Listener. A connection that was taken from the queue is returned,
// whatever has begun.
func (p *paused) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil && p.begun.Load() {
		<-p.closed
	}
	return c, err
}

// Close implements net.Listener.
func (p *paused) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}
