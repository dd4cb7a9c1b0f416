package harness

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// connection is one that a target has taken.
type connection struct {
	mu  sync.Mutex
	end time.Time
}

func (c *connection) ended() time.Time {
	if c == nil {
		return time.Time{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

// connections are those that a server has open.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]*connection
}

type connectionKey struct{}

func connectionOf(req *http.Request) *connection {
	c, _ := req.Context().Value(connectionKey{}).(*connection)
	return c
}

// watch has a server tell of its connections.
func (cs *connections) watch(server *http.Server) {
	cs.open = map[net.Conn]*connection{}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		c := &connection{}
		cs.mu.Lock()
		defer cs.mu.Unlock()
		cs.open[conn] = c
		return context.WithValue(ctx, connectionKey{}, c)
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		if state != http.StateClosed && state != http.StateHijacked {
			return
		}
		cs.mu.Lock()
		c := cs.open[conn]
		delete(cs.open, conn)
		cs.mu.Unlock()
		if c != nil {
			c.mu.Lock()
			c.end = time.Now()
			c.mu.Unlock()
		}
	}
}
