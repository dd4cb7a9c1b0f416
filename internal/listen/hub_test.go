package listen

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
)

// patience is what only a broken hub exceeds.
var patience = pace.Guard(30 * time.Second)

// newHub returns a hub of a node with the server that listeners connect to.
func newHub(t *testing.T, node int64, relay store.Relay, permit func(context.Context) error) (*Hub, string) {
	t.Helper()
	h := New(Config{Relay: relay, Node: func() int64 { return node }, Now: time.Now, Public: 99, Log: slog.New(slog.DiscardHandler)})
	h.Start()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if err := h.Serve(w, r, Options{Account: 1, Name: q.Get("name"), Tag: q.Get("tag"), Instance: q.Get("instance")},
			permit); err != nil {
			http.Error(w, err.Error(), map[fault.Code]int{fault.TooMany: 429, fault.Unavailable: 503,
				fault.Unreadable: 400}[fault.CodeOf(err)])
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { h.Close(0) })
	return h, server.URL
}

func allowed(context.Context) error { return nil }

// connect connects a listener and, unless answer is nil, answers its requests.
func connect(t *testing.T, url string, answer func(m *Message) *Message) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{Subprotocols: []string{Subprotocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(16 << 20)
	if answer == nil {
		return conn
	}
	go func() {
		for {
			_, b, err := conn.Read(context.Background())
			if err != nil {
				return
			}
			m, err := Decode(b)
			if err != nil || m.Type != Request {
				continue
			}
			go func() {
				got := answer(m)
				if got == nil {
					return
				}
				got.ID = m.ID
				if b, err := got.Encode(); err == nil {
					_ = conn.Write(context.Background(), websocket.MessageBinary, b)
				}
			}()
		}
	}()
	return conn
}

// request sends a request of account 1 and returns the response's body, or the failure.
func request(ctx context.Context, h *Hub, url string, tags ...string) (string, *job.Failure) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return "", &job.Failure{Message: err.Error()}
	}
	resp, failure := h.Answer(1, tags, r, []byte("asked"), func() bool { return true })
	if failure != nil {
		return "", failure
	}
	b, _ := io.ReadAll(resp.Body)
	return string(b), nil
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !check(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

func says(text string) func(*Message) *Message {
	return func(*Message) *Message { return &Message{Type: Response, Status: 200, Body: []byte(text)} }
}

func TestHub_PassesRequestsBetweenNodes(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	connect(t, url+"?name=dev", func(m *Message) *Message {
		return &Message{Type: Response, Status: 200, Body: []byte(m.Method + " " + m.Base + " " + m.Path + " " + string(m.Body))}
	})
	eventually(t, "the listener", func() bool { return here.Listeners() == 1 })
	var group sync.WaitGroup
	for _, h := range []*Hub{here, there} {
		for i := range 40 {
			group.Go(func() {
				got, failure := request(t.Context(), h, fmt.Sprintf("https://listen.invalid/dev/%d?x", i))
				if want := fmt.Sprintf("POST https://listen.invalid/dev /%d?x asked", i); failure != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, failure, want)
				}
			})
		}
	}
	if group.Wait(); f.asked < 40 || f.left() != 0 {
		t.Errorf("%d requests went over the tables, %d are left", f.asked, f.left())
	}
	if _, failure := request(t.Context(), there, "https://listen.invalid/other/x"); failure == nil || failure.Kind != job.KindConnect {
		t.Errorf("without a listener: %v", failure)
	}
	if h := there.InFlight() + here.InFlight(); h != 0 {
		t.Errorf("%d requests are still under way", h)
	}
}

func TestHub_TheListenerThatConnectedLastAnswers(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, first := newHub(t, 1, f, allowed)
	there, second := newHub(t, 2, f, allowed)
	connect(t, first+"?name=dev", says("first"))
	eventually(t, "the first listener", func() bool { return here.Listeners() == 1 })
	last := connect(t, second+"?name=dev", says("second"))
	eventually(t, "the second listener", func() bool {
		got, _ := request(t.Context(), here, "https://listen.invalid/dev")
		return got == "second"
	})
	_ = last.CloseNow()
	eventually(t, "the first listener again", func() bool {
		got, _ := request(t.Context(), there, "https://listen.invalid/dev")
		return got == "first"
	})
}

func TestHub_AttemptsWaitForABusyListener(t *testing.T) {
	t.Parallel()
	h, url := newHub(t, 1, nil, allowed)
	const requests = 100
	var entered atomic.Int64
	release := make(chan struct{})
	connect(t, url+"?name=dev", func(*Message) *Message {
		entered.Add(1)
		<-release
		return says("done")(nil)
	})
	eventually(t, "the listener", func() bool { return h.Listeners() == 1 })
	var group sync.WaitGroup
	for range requests {
		group.Go(func() {
			if _, failure := request(t.Context(), h, "https://listen.invalid/dev"); failure != nil {
				t.Error(failure.Message)
			}
		})
	}
	waiting := func() int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.waiting
	}
	eventually(t, "the others to wait", func() bool { return waiting() == requests-maxInFlight && entered.Load() == maxInFlight })
	for i := range requests {
		release <- struct{}{} // the next one may be sent then
		if n := entered.Load(); n > int64(maxInFlight+i+1) {
			t.Errorf("%d requests were under way", n-int64(i+1))
		}
	}
	if group.Wait(); waiting() != 0 {
		t.Errorf("%d requests wait", waiting())
	}
}

func TestHub_CancelsRequestsOfOtherNodes(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	entered := make(chan struct{}, 1)
	connect(t, url+"?name=dev", func(*Message) *Message { entered <- struct{}{}; return nil })
	eventually(t, "the listener", func() bool { return here.Listeners() == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = request(ctx, there, "https://listen.invalid/dev")
	}()
	<-entered
	cancel()
	<-done
	eventually(t, "the request to end at the listener's node", func() bool { return here.InFlight() == 0 && f.left() == 0 })
}

func TestHub_FailsWhatIsLost(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	entered := make(chan struct{}, 2)
	conn := connect(t, url+"?name=dev", func(*Message) *Message { entered <- struct{}{}; return nil })
	eventually(t, "the listener", func() bool { return here.Listeners() == 1 })
	failures := make(chan *job.Failure, 2)
	begin := func() {
		go func() {
			_, failure := request(t.Context(), there, "https://listen.invalid/dev")
			failures <- failure
		}()
		<-entered
	}
	begin()
	f.crash()
	if failure := <-failures; failure == nil || failure.Kind != job.KindClosed {
		t.Errorf("after a crash of the database: %+v", failure)
	}
	eventually(t, "the listener to be listed again",
		func() bool { named, _ := f.ListenersNamed(t.Context(), 1, "dev"); return len(named) == 1 })
	begin()
	_ = conn.CloseNow()
	if failure := <-failures; failure == nil || failure.Kind != job.KindClosed {
		t.Errorf("after the listener has left: %+v", failure)
	}
}

// TestHub_KnowsWhetherARequestWasPassedOn loses responses of the database.
func TestHub_KnowsWhetherARequestWasPassedOn(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	var asked atomic.Int64
	connect(t, url+"?name=dev", func(*Message) *Message {
		asked.Add(1)
		return &Message{Type: Response, Status: 200, Body: []byte("answer")}
	})
	eventually(t, "the listener", func() bool { return here.Listeners() == 1 })
	ask := func(name string, errs int, lost bool, beforeDrop func()) (string, *job.Failure) {
		f.mu.Lock()
		f.askErr, f.askLost, f.beforeDrop = errs, lost, beforeDrop
		f.mu.Unlock()
		return request(t.Context(), there, "https://listen.invalid/"+name)
	}
	for _, lost := range []bool{false, true} {
		if got, failure := ask("dev", 1, lost, func() {}); got != "answer" || failure != nil {
			t.Errorf("one response is lost: %q, %+v", got, failure)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("the listener got %d requests, want 2", n)
	}
	taken := func() { eventually(t, "the listener to be asked", func() bool { return asked.Load() == 3 }) }
	if _, failure := ask("dev", 2, false, taken); failure == nil || failure.Kind != job.KindInterrupted || failure.Unsent {
		t.Errorf("the listener has got the request: %+v", failure)
	}
	if _, failure := ask("dev", 2, true, func() {}); failure == nil || failure.Kind != job.KindInterrupted || failure.Unsent {
		t.Errorf("the request may have been stored: %+v", failure)
	}
	if _, err := f.ListenerAdd(t.Context(), store.Listener{ID: uuid.New(), Node: 3, Account: 1, Name: "idle"}, 10); err != nil {
		t.Fatal(err)
	}
	if _, failure := ask("idle", 2, false, func() {}); failure == nil || failure.Kind != job.KindInterrupted || !failure.Unsent {
		t.Errorf("the request was deleted before it was taken: %+v", failure)
	}
	if n := f.left(); n != 0 || asked.Load() != 3 {
		t.Errorf("%d requests are left, the listener got %d", n, asked.Load())
	}
}

func TestHub_DrainsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	connect(t, url+"?name=dev", func(*Message) *Message { entered <- struct{}{}; <-release; return says("drained")(nil) })
	eventually(t, "the listener", func() bool { return here.Listeners() == 1 })
	answers := make(chan string, 1)
	go func() {
		got, _ := request(t.Context(), there, "https://listen.invalid/dev")
		answers <- got
	}()
	<-entered
	here.Drain()
	if _, got, err := websocket.Dial(t.Context(), url+"?name=dev",
		&websocket.DialOptions{Subprotocols: []string{Subprotocol}}); err == nil || got == nil || got.StatusCode != 503 {
		t.Errorf("connecting to a node that stops: %v %v", got, err)
	}
	eventually(t, "other nodes to ask it no more", func() bool {
		_, failure := request(t.Context(), there, "https://listen.invalid/dev")
		return failure != nil && failure.Kind == job.KindConnect
	})
	closed := make(chan struct{})
	go func() {
		here.Close(patience)
		close(closed)
	}()
	close(release)
	if got := <-answers; got != "drained" {
		t.Errorf("the answer is %q", got)
	}
	<-closed
}

func TestHub_DivertsJobsWithATag(t *testing.T) {
	t.Parallel()
	f := newTables()
	here, url := newHub(t, 1, f, allowed)
	there, _ := newHub(t, 2, f, allowed)
	diverts := func(h *Hub, account int64, tags ...string) bool {
		t.Helper()
		yes, err := h.Diverts(account, func() []string { return tags })
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if diverts(here, 1, "a") {
		t.Error("without a listener")
	}
	connect(t, url+"?tag=a", says("diverted"))
	eventually(t, "the other node to know it", func() bool { return diverts(there, 1, "b", "a") })
	if !diverts(here, 1, "a") || diverts(there, 1, "b") || diverts(there, 2, "a") || diverts(here, 2, "a") || diverts(there, 1) {
		t.Error("other jobs are diverted, or not all with the tag")
	}
	if got, failure := request(t.Context(), there, "https://example.com/x", "a"); got != "diverted" {
		t.Errorf("the answer is %q %v", got, failure)
	}
}

func TestHub_EndsDeadListenersAndThoseWithoutAKey(t *testing.T) {
	t.Parallel()
	const ping = 50 * time.Millisecond
	h, url := newHub(t, 1, nil, allowed)
	h.ping = ping
	connect(t, url+"?name=dead", nil) // reads nothing, so it responds to no ping
	eventually(t, "the listener", func() bool { return h.Listeners() == 1 })
	eventually(t, "a dead listener to be ended", func() bool { return h.Listeners() == 0 })

	revoked, url := newHub(t, 1, nil, func(context.Context) error { return fault.New(fault.Unauthorized, "this key was revoked") })
	revoked.ping = ping
	conn := connect(t, url+"?name=revoked", nil)
	if _, _, err := conn.Read(t.Context()); err != nil {
		t.Fatal(err) // the message that it is ready
	}
	if _, _, err := conn.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "this key was revoked") {
		t.Errorf("the connection ends with %v", err)
	}
	eventually(t, "it to be gone", func() bool { return revoked.Listeners() == 0 })
}

func TestHub_ReplacesTheConnectionOfAProgram(t *testing.T) {
	t.Parallel()
	h, url := newHub(t, 1, nil, allowed)
	for i := range MaxListeners + 5 {
		connect(t, fmt.Sprintf("%s?name=dev&instance=one", url), says("x"))
		if i >= MaxListeners-1 {
			eventually(t, "room", func() bool { return h.Listeners() < MaxListeners })
		}
	}
	eventually(t, "one to be left", func() bool { return h.Listeners() == 1 })
	if _, failure := h.Answer(99, nil, httptest.NewRequest("GET", "https://listen.invalid/dev", nil), nil, nil); failure == nil ||
		failure.Kind != job.KindBlocked {
		t.Errorf("of the public account: %v", failure)
	}
}
