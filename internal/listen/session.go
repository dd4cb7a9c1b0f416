package listen

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// pingEvery is how often the service checks that a listener is alive and its key
	// still valid, and how long the listener may take to respond.
	pingEvery = 10 * time.Second
	// writeWithin is how long a listener may take to receive a message.
	writeWithin = 15 * time.Second
	// maxLate is how many responses that nobody waits for any more may be missing.
	maxLate = 64
	// maxQueued is how many messages wait to be written: a request and a cancel for
	// each slot, those of other nodes included, and a few others.
	maxQueued = 256
)

// session is a listener that is connected to this node.
type session struct {
	store.Listener
	hub      *Hub
	instance string // names the program, "" if it does not say
	network  netip.Prefix
	busy     int // slots in use. Guarded by hub.mu

	conn   *websocket.Conn
	out    chan *outgoing
	ctx    context.Context // ends with the session
	cancel context.CancelCauseFunc
	// io ends after the close frame was written: when the context of a read or write
	// ends, the library closes the connection.
	io context.Context

	mu      sync.Mutex
	ended   bool
	last    uint64
	pending map[uint64]*exchange
	late    map[uint64]bool // cancelled and not answered
}

// outgoing is a message to be written: that of an exchange, or another.
type outgoing struct {
	message  *Message // nil if there is an exchange
	exchange *exchange
}

// exchange is a request that a listener has to answer. Its fields are guarded by
// the session's mu until done is closed.
type exchange struct {
	id uint64
	// request is nil once it is written, or nobody waits for the answer: so a queue
	// holds only bodies of attempts under way, whose bytes are bounded.
	request *Message
	// unqueued is called when the request was written, or will not be; perhaps more
	// than once.
	unqueued func()
	done     chan struct{}
	over     bool // done is closed, or nobody waits
	written  bool // the listener may have got the request
	answer   *Message
	failure  *job.Failure // nil without an answer: the listener did not get the request
}

// errEnded is the cause of a session's end that is not the listener's fault.
type errEnded struct{ why string }

func (e *errEnded) Error() string { return e.why }

// enqueue queues a message that may be lost.
func (s *session) enqueue(m *Message) {
	select {
	case s.out <- &outgoing{message: m}:
	default:
	}
}

// sender returns what uses a slot of this listener, which the caller has taken.
// unqueued is called when the request was written to the listener, or will not be;
// perhaps more than once.
func (s *session) sender(unqueued func()) sender {
	return func(ctx context.Context, m *Message) (*Message, *job.Failure) {
		defer s.hub.release(s)
		if m == nil {
			unqueued()
			return nil, nil
		}
		x := s.submit(m, unqueued)
		if x == nil {
			unqueued()
			return nil, nil
		}
		select {
		case <-x.done:
		case <-ctx.Done():
			s.abandon(x)
			return nil, interrupted("the attempt ended before the listener responded")
		}
		return x.answer, x.failure
	}
}

// submit queues a request; nil if the session has ended.
func (s *session) submit(m *Message, unqueued func()) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.last++
	numbered := *m
	numbered.ID = s.last
	x := &exchange{id: s.last, request: &numbered, unqueued: unqueued, done: make(chan struct{})}
	select {
	case s.out <- &outgoing{exchange: x}:
	default:
		s.cancel(errors.New("the listener does not read"))
		return nil
	}
	s.pending[x.id] = x
	return x
}

// abandon cancels a request whose answer nobody waits for.
func (s *session) abandon(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.over {
		return
	}
	x.over = true
	delete(s.pending, x.id)
	if !x.written {
		x.request = nil
		x.unqueued()
		return
	}
	if s.ended {
		return
	}
	if s.late[x.id] = true; len(s.late) > maxLate {
		s.cancel(errors.New("the listener does not respond"))
		return
	}
	s.enqueue(&Message{Type: Cancel, ID: x.id})
}

// run serves a session until it ends, and returns why.
func (s *session) run(permit func(context.Context) error) error {
	var parts sync.WaitGroup
	var closed context.CancelFunc
	s.io, closed = context.WithCancel(context.WithoutCancel(s.ctx))
	parts.Go(s.read)
	parts.Go(s.write)
	parts.Go(func() { s.check(permit) })
	<-s.ctx.Done()
	why := context.Cause(s.ctx)
	s.fail(why)
	// Close waits for the listener to agree, and discards what it still sends. That is
	// for those that behave.
	var ended *errEnded
	switch code := fault.CodeOf(why); {
	case errors.As(why, &ended):
		_ = s.conn.Close(websocket.StatusGoingAway, ended.why)
	case code == fault.Unauthorized || code == fault.Forbidden:
		_ = s.conn.Close(websocket.StatusPolicyViolation, closeReason(why))
	default:
		_ = s.conn.CloseNow()
	}
	closed()
	parts.Wait()
	return why
}

// end ends a session, which may not have run. Requests may have been queued since it
// has joined.
func (s *session) end() {
	s.cancel(nil)
	s.fail(context.Cause(s.ctx))
	for len(s.out) > 0 { // nothing is queued any more
		if o := <-s.out; o.exchange != nil {
			o.exchange.unqueued()
		}
	}
}

// closeReason bounds a reason to what a close frame can hold.
func closeReason(why error) string {
	const most = 120
	text := sentence(why.Error())
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// fail ends all requests of a session that has ended.
func (s *session) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	failure := &job.Failure{Kind: job.KindClosed, Message: "the listener disconnected before it responded"}
	if errors.Is(why, errMessage) {
		failure = &job.Failure{Kind: job.KindProtocol, Message: "the listener sent something other than a response"}
	}
	for id, x := range s.pending {
		if x.written {
			x.failure = failure
		}
		x.over = true
		close(x.done)
		delete(s.pending, id)
	}
}

// read takes the listener's answers.
func (s *session) read() {
	s.conn.SetReadLimit(maxAnswer)
	for {
		kind, message, err := s.conn.Reader(s.io)
		if err == nil && (kind != websocket.MessageBinary || !s.expects()) {
			err = errMessage
		}
		var b []byte
		if err == nil {
			b, err = io.ReadAll(message)
		}
		if errors.Is(err, websocket.ErrMessageTooBig) {
			err = errMessage
		}
		if err == nil {
			err = s.answered(b)
		}
		if err != nil {
			s.cancel(err)
			return
		}
	}
}

// expects reports whether the listener has anything to answer. Otherwise nothing
// that it sends is read.
func (s *session) expects() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)+len(s.late) > 0
}

// answered handles an answer.
func (s *session) answered(b []byte) error {
	m, err := decodeAnswer(b)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.pending[m.ID]
	switch {
	case x == nil && s.late[m.ID]:
		delete(s.late, m.ID)
		return nil
	case x == nil || !x.written:
		return errMessage // an answer to no request
	case m.Type == Failure:
		x.failure = &job.Failure{Kind: m.Kind, Message: "the listener reports: " + m.Error}
	default:
		x.answer = m
	}
	x.over = true
	delete(s.pending, m.ID)
	close(x.done)
	return nil
}

// write writes what is queued.
func (s *session) write() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case o := <-s.out:
			if err := s.writeOne(o); err != nil {
				s.cancel(err)
				return
			}
		}
	}
}

func (s *session) writeOne(o *outgoing) error {
	m := o.message
	if x := o.exchange; x != nil {
		defer x.unqueued()
		if m = s.begins(x); m == nil {
			return nil
		}
	}
	b, err := m.Encode()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.io, writeWithin)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageBinary, b)
}

// begins returns the request of an exchange and records that it is about to be
// written; nil if nobody waits for the answer any more.
func (s *session) begins(x *exchange) *Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.over {
		return nil
	}
	x.written = true
	m := x.request
	x.request = nil
	return m
}

// check ends the session of a listener that is dead or whose key is not valid any
// more, and tells one that is ready so.
func (s *session) check(permit func(context.Context) error) {
	ready := time.NewTimer(s.hub.readyAfter(s))
	defer ready.Stop()
	ticker := time.NewTicker(s.hub.ping)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ready.C:
			s.enqueue(&Message{Type: Ready})
			s.hub.listed()
		case <-ticker.C:
			if err := s.alive(permit); err != nil {
				s.cancel(err)
				return
			}
		}
	}
}

func (s *session) alive(permit func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(s.io, s.hub.ping)
	defer cancel()
	switch err := permit(ctx); fault.CodeOf(err) {
	case fault.Unauthorized, fault.Forbidden:
		return err
	}
	if err := s.conn.Ping(ctx); err != nil {
		return errors.New("the listener does not respond")
	}
	return nil
}

// readyAfter returns how long after it was listed a listener is certain to get all
// its requests.
func (h *Hub) readyAfter(s *session) time.Duration {
	if h.Relay == nil || s.Tag == "" {
		return 0
	}
	return listFor + syncEvery
}
