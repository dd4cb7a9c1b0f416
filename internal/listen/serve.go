package listen

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/store"
)

// Options say what a listener answers.
type Options struct {
	Account int64
	// Name and Tag are valid; one of them may be "".
	Name, Tag string
	// Instance names the program: a listener with the same is replaced. May be "".
	Instance string
	// Address is the client's.
	Address netip.Addr
}

// Serve serves a listener until one side ends the connection. It returns a fault if
// the request is no handshake of one, or there are too many; nothing has been
// written then. permit, which it calls every 10 seconds, ends the connection with an
// Unauthorized or Forbidden fault.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, o Options, permit func(context.Context) error) error {
	if !isHandshake(r) {
		return &fault.Error{
			Code: fault.Unreadable, Reason: "no_handshake",
			Message: "a WebSocket handshake with the subprotocol " + Subprotocol + " is needed; punctual listen sends one",
		}
	}
	s := h.newSession(o)
	defer h.leave(s)
	defer s.end()
	if err := h.join(r.Context(), s); err != nil {
		return err
	}
	// The server's own deadlines are for requests that end.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	var err error
	if s.conn, err = websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{Subprotocol}}); err != nil {
		h.Log.Debug("a listener's handshake failed", "error", err)
		return nil // Accept has responded
	}
	h.Log.Debug("a listener has connected", "listener", s.ID, "name", s.Name, "tag", s.Tag)
	why := s.run(permit)
	h.Log.Debug("a listener has disconnected", "listener", s.ID, "reason", why)
	return nil
}

// newSession returns a session that has not joined. The caller must end it.
func (h *Hub) newSession(o Options) *session {
	s := &session{
		Listener: store.Listener{ID: uuid.New(), Node: h.Node(), Account: o.Account, Name: o.Name, Tag: o.Tag, Since: h.Now()},
		hub:      h, instance: o.Instance, network: network.Of(o.Address),
		out: make(chan *outgoing, maxQueued), pending: map[uint64]*exchange{}, late: map[uint64]bool{},
	}
	s.ctx, s.cancel = context.WithCancelCause(h.ctx)
	return s
}

func isHandshake(r *http.Request) bool {
	has := func(name, token string) bool {
		for _, value := range r.Header.Values(name) {
			if slices.ContainsFunc(strings.Split(value, ","),
				func(part string) bool { return strings.EqualFold(strings.TrimSpace(part), token) }) {
				return true
			}
		}
		return false
	}
	return r.Method == http.MethodGet && has("Connection", "upgrade") && has("Upgrade", "websocket") &&
		has("Sec-WebSocket-Protocol", Subprotocol)
}
