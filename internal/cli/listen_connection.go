package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/pause"
)

// maxRefusal is how many bytes of the response to a refused handshake are read.
const maxRefusal = 64 << 10

// refusedHandshake returns the error of a response to a handshake.
func refusedHandshake(got *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(got.Body, maxRefusal))
	err := refused("", got.StatusCode, got.Header, text)
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{status: got.StatusCode, detail: err.Error()}
	}
	return r
}

// connections are connections that are being served.
type connections struct{ group sync.WaitGroup }

func (c *connections) wait() { c.group.Wait() }

// serve serves a connection until it ends, or the service asks to connect again: the
// connection is then served on, until the service closes it. It returns the reason,
// and whether the connection was ready.
func (c *connections) serve(ctx context.Context, l *listening, conn *websocket.Conn) (why string, ready bool) {
	s := &serving{listening: l, conn: conn, requests: map[uint64]context.CancelFunc{}, moved: make(chan struct{}),
		ended: make(chan struct{})}
	c.group.Go(func() { s.run(ctx) })
	select {
	case <-s.ended:
		return s.why, s.ready
	case <-s.moved:
		return "the service is stopping", true
	}
}

// serving is one connection to the service.
type serving struct {
	*listening
	conn  *websocket.Conn
	moved chan struct{} // closed when the service stops
	ended chan struct{} // closed when the connection has ended
	why   string        // and its reason
	ready bool

	group    sync.WaitGroup
	mu       sync.Mutex
	requests map[uint64]context.CancelFunc
}

func (s *serving) run(ctx context.Context) {
	defer close(s.ended)
	ctx, cancel := context.WithCancel(ctx)
	s.group.Go(func() { s.keepAlive(ctx, cancel) })
	err := s.receive(ctx)
	s.why = reason(err)
	cancel()
	s.group.Wait()
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
}

// reason describes why a connection has ended.
func reason(err error) string {
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Reason != "":
		return printable(closed.Reason)
	case errors.Is(err, io.EOF):
		return "the service closed it"
	}
	return printable(err.Error())
}

// keepAlive ends a connection to a service that does not respond.
func (s *serving) keepAlive(ctx context.Context, cancel context.CancelFunc) {
	defer cancel()
	for pause.For(ctx, aliveEvery) {
		ping, done := context.WithTimeout(ctx, aliveWithin)
		err := s.conn.Ping(ping)
		done()
		if err != nil {
			return
		}
	}
}

// receive handles what the service sends.
func (s *serving) receive(ctx context.Context) error {
	for {
		kind, b, err := s.conn.Read(ctx)
		if err != nil {
			return err
		}
		m, err := listen.Decode(b)
		if err != nil || kind != websocket.MessageBinary {
			return errors.New("the service sent something that is not understood; use the version of punctual that it has")
		}
		switch m.Type {
		case listen.Ready:
			s.ready = true
			s.terminal.ready(s.command)
		case listen.Request:
			s.begin(ctx, m)
		case listen.Cancel:
			s.cancelled(m.ID)
		case listen.Drain:
			s.drain()
		}
	}
}

// drain has another connection opened.
func (s *serving) drain() {
	select {
	case <-s.moved:
	default:
		close(s.moved)
	}
}

// begin answers a request in the background. The service bounds how many there are.
func (s *serving) begin(ctx context.Context, m *listen.Message) {
	var cancel context.CancelFunc
	connection := ctx
	if m.TimeoutMS > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(m.TimeoutMS)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	s.mu.Lock()
	s.requests[m.ID] = cancel
	s.mu.Unlock()
	s.group.Go(func() {
		defer s.cancelled(m.ID)
		start := time.Now()
		answer := s.forward.answer(ctx, m)
		took := time.Since(start)
		answer.ID = m.ID
		b, err := answer.Encode()
		if err == nil {
			write, done := context.WithTimeout(context.WithoutCancel(ctx), aliveWithin)
			err = s.conn.Write(write, websocket.MessageBinary, b)
			done()
		}
		if connection.Err() != nil {
			return
		}
		if err != nil {
			s.terminal.note("the response to %s %s could not be sent: %s", m.Method, printable(m.Path), printable(err.Error()))
			return
		}
		s.terminal.answered(s.command, m, answer, start, took)
	})
}

// cancelled ends a request.
func (s *serving) cancelled(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.requests[id]; cancel != nil {
		cancel()
		delete(s.requests, id)
	}
}
