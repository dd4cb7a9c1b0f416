package nodes

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is the network between one node and its database.
type Proxy struct {
	Port int

	listener net.Listener
	upstream string

	mu      sync.Mutex
	mode    mode
	slow    time.Duration
	changed chan struct{} // closed and replaced when the mode changes
	conns   map[net.Conn]bool
	closed  bool
}

type mode int

const (
	passing  mode = iota
	cut           // connections are broken and refused
	halfOpen      // packets vanish, those that end a connection included
)

// startProxy leads to an address until the test ends.
func startProxy(t testing.TB, upstream string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, listener: l, upstream: upstream, changed: make(chan struct{}),
		conns: map[net.Conn]bool{}}
	go p.serve()
	t.Cleanup(p.close)
	return p
}

// set changes what happens to connections, those that exist included.
func (p *Proxy) set(m mode, slow time.Duration) {
	p.mu.Lock()
	p.mode, p.slow = m, slow
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if m == cut {
		p.breakAll()
	}
}

func (p *Proxy) breakAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.(*net.TCPConn).SetLinger(0) // a reset, as from a firewall
		_ = conn.Close()
	}
	clear(p.conns)
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.set(cut, 0)
}

func (p *Proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		go p.lead(conn)
	}
}

// lead connects a client with the database, when the network lets it.
func (p *Proxy) lead(client net.Conn) {
	if !p.keep(client) || !p.await() {
		_ = client.Close()
		return
	}
	server, err := net.Dial("tcp", p.upstream)
	if err != nil || !p.keep(server) {
		_ = client.Close()
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.pump(client, server) })
	ways.Go(func() { p.pump(server, client) })
	ways.Wait()
	p.forget(client, server)
}

// keep notes a connection; false when none may be.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.mode == cut {
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(p.conns, conn)
	}
}

// await waits until packets pass; false when connections are broken.
func (p *Proxy) await() bool {
	for {
		p.mu.Lock()
		m, slow, changed := p.mode, p.slow, p.changed
		p.mu.Unlock()
		switch m {
		case cut:
			return false
		case halfOpen:
			<-changed
		default:
			if slow > 0 {
				pause(slow)
			}
			return true
		}
	}
}

// pump carries one way of a connection. What is read while packets vanish
// comes late, as by retransmission, if the ends still want it.
func (p *Proxy) pump(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.await() {
			break
		}
		if n > 0 {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				break
			}
		}
		if err != nil {
			if err == io.EOF {
				_ = to.(*net.TCPConn).CloseWrite()
				return
			}
			break
		}
	}
	_ = to.Close() // the other way ends with it
}
