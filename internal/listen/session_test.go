package listen

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// TestSession_KeepsNoRequestsThatNobodyWaitsFor has attempts end before their requests
// are written to a listener that reads nothing.
func TestSession_KeepsNoRequestsThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	h := New(Config{Node: func() int64 { return 1 }, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	s := h.newSession(Options{Account: 1, Name: "dev"})
	defer s.end()
	for range maxQueued {
		s.abandon(s.submit(&Message{Type: Request, Body: make([]byte, 1<<10)}, h.owe(1, 1<<10)))
	}
	if h.relay.unwritten != 0 || len(h.relay.owed) != 0 {
		t.Errorf("%d bytes are owed, %d of account 1", h.relay.unwritten, h.relay.owed[1])
	}
	for len(s.out) > 0 {
		if x := (<-s.out).exchange; x.request != nil {
			t.Fatalf("a request with a body of %d bytes is queued", len(x.request.Body))
		}
	}
}

// slowList is a list of listeners that takes its time to add one.
type slowList struct {
	*tables
	release chan struct{}
	err     error
}

func (l *slowList) ListenerAdd(ctx context.Context, listener store.Listener, most int) (bool, error) {
	<-l.release
	if l.err != nil {
		return false, l.err
	}
	return l.tables.ListenerAdd(ctx, listener, most)
}

// TestHub_EndsRequestsToAListenerThatCouldNotConnect queues requests for a listener
// that has joined but is not served: it can't be listed, or the handshake fails.
func TestHub_EndsRequestsToAListenerThatCouldNotConnect(t *testing.T) {
	t.Parallel()
	for name, listing := range map[string]error{"listing fails": errors.New("no database"), "handshake fails": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := &slowList{newTables(), make(chan struct{}), listing}
				h := New(Config{Relay: list, Node: func() int64 { return 1 }, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
				defer h.Close(0)
				h.Start()
				handshake := httptest.NewRequest(http.MethodGet, "/api/listen", nil)
				handshake.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {Subprotocol},
					"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
				served := make(chan error, 1)
				go func() { // the recorder is no http.Hijacker
					served <- h.Serve(httptest.NewRecorder(), handshake, Options{Account: 1, Name: "dev"}, allowed)
				}()
				synctest.Wait()
				failures := make(chan *job.Failure, 1)
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					defer cancel()
					_, failure := request(ctx, h, "https://listen.invalid/dev")
					failures <- failure
				}()
				var taken store.RelayRequest
				for _, s := range h.sessions {
					taken = store.RelayRequest{ID: uuid.New(), Listener: s.ID, ExpiresAt: time.Now().Add(time.Hour)}
				}
				taken.Request, _ = (&Message{Type: Request, Body: []byte("asked")}).Encode()
				h.serveTaken(taken)
				synctest.Wait()
				if n := h.InFlight(); n != 2 {
					t.Errorf("%d requests are under way, want 2", n)
				}
				start := time.Now()
				close(list.release)
				if err := <-served; !errors.Is(err, listing) {
					t.Errorf("the listener got %v", err)
				}
				if failure := <-failures; failure == nil || failure.Kind != job.KindConnect {
					t.Errorf("the attempt got %v", failure)
				}
				synctest.Wait()
				if took := time.Since(start); took > time.Minute || h.relay.serving() > 0 || h.relay.unwritten > 0 {
					t.Errorf("after %s, %d requests of other nodes are under way with %d bytes", took, h.relay.serving(), h.relay.unwritten)
				}
			})
		})
	}
}
