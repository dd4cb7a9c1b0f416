package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// rawListener is a listener that sends what a test wants.
type rawListener struct {
	*websocket.Conn
	t *testing.T
}

// listenRaw connects a listener and waits until it is ready.
func listenRaw(t *testing.T, a *harness.Account, name string) *rawListener {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), a.Service.URL()+"/api/listen?name="+name, &websocket.DialOptions{
		Subprotocols: []string{"punctual.listen.v1"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + a.Key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	conn.SetReadLimit(16 << 20)
	l := &rawListener{conn, t}
	if m := l.receive(); m.Get("type").Str() != "ready" {
		t.Fatalf("the first message is %s", m)
	}
	return l
}

// receive returns the JSON of the next message.
func (l *rawListener) receive() harness.JSON {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), pace.Guard(soon))
	defer cancel()
	_, b, err := l.Read(ctx)
	if err != nil || len(b) < 4 {
		l.t.Fatalf("receiving %q: %v", b, err)
	}
	return harness.JSON(b[4 : 4+binary.BigEndian.Uint32(b)])
}

func (l *rawListener) send(header, body string) {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	_ = l.Write(l.t.Context(), websocket.MessageBinary, append(append(b, header...), body...))
}

// wantClosed waits until the service has closed the connection.
func (l *rawListener) wantClosed(what string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), pace.Guard(soon))
	defer cancel()
	for {
		if _, _, err := l.Read(ctx); err != nil {
			if ctx.Err() != nil {
				l.t.Errorf("%s: the connection stays open", what)
			}
			return
		}
	}
}

func TestListen_EndsListenersThatSendGarbage(t *testing.T) {
	t.Parallel()
	text := func(l *rawListener, _ string) { _ = l.Write(t.Context(), websocket.MessageText, []byte("hello")) }
	answer := func(header, body string) func(*rawListener, string) {
		return func(l *rawListener, id string) { l.send(strings.ReplaceAll(header, "ID", id), body) }
	}
	for name, hostile := range map[string]func(l *rawListener, id string){
		"text":  text,
		"empty": func(l *rawListener, _ string) { _ = l.Write(t.Context(), websocket.MessageBinary, nil) },
		"short": func(l *rawListener, _ string) {
			_ = l.Write(t.Context(), websocket.MessageBinary, []byte{0, 0, 0, 9, '{'})
		},
		"size": func(l *rawListener, _ string) {
			_ = l.Write(t.Context(), websocket.MessageBinary, bytes.Repeat([]byte{255}, 64))
		},
		"no-json":       answer(`{"type":`, ""),
		"other-type":    answer(`{"type":"request","id":ID}`, ""),
		"other-request": answer(`{"type":"response","id":99,"status":200}`, ""),
		"status":        answer(`{"type":"response","id":ID,"status":101}`, ""),
		"field":         answer(`{"type":"response","id":ID,"status":200,"header":[["a b","c"]]}`, ""),
		"value":         answer(`{"type":"response","id":ID,"status":200,"header":[["a","c\u0000\r\nd: e"]]}`, ""),
		"fields":        answer(`{"type":"response","id":ID,"status":200,"header":[`+strings.Repeat(`["a","b"],`, 2000)+`["a","b"]]}`, ""),
		"kind":          answer(`{"type":"failure","id":ID,"kind":"blocked","error":"x"}`, ""),
		"body":          answer(`{"type":"response","id":ID,"status":200}`, strings.Repeat("x", 256<<10+2)),
		"huge":          answer(`{"type":"response","id":ID,"status":200}`, strings.Repeat("x", 4<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := account(t) // of its own: the number of listeners of one is limited
			l := listenRaw(t, a, "hostile-"+name)
			job := create(a.Client, `{"retries":0,"url":"https://listen.invalid/hostile-`+name+`/x"}`)
			request := l.receive()
			if request.Get("type").Str() != "request" || request.Get("path").Str() != "/x" {
				t.Fatalf("a message is %s", request)
			}
			hostile(l, request.Get("id").Raw())
			payload := awaitLogs(t, a.Client, job, 2, soon)[1].Get("payload")
			if payload.Get("kind").Str() != "protocol" {
				t.Errorf("the outcome is %s", payload)
			}
			l.wantClosed(name)
		})
	}
}

func TestListen_IsRetriedWhenTheListenerIsKilled(t *testing.T) {
	t.Parallel()
	a := account(t)
	entered := make(chan struct{}, 10)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Punctual-Attempt") == "1" {
			entered <- struct{}{}
			<-r.Context().Done()
		}
	})
	l := harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL)
	l.AwaitReady(t, 1)
	job := create(a.Client, `{"retries":20,"backoff":[1],"url":"https://listen.invalid/dev/x"}`)
	<-entered
	l.Kill()
	payload := awaitLogs(t, a.Client, job, 2, soon)[1].Get("payload")
	if payload.Get("kind").Str() != "closed" || payload.Get("message").Str() != "the listener disconnected before it responded" {
		t.Errorf("the first attempt: %s", payload)
	}
	harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL)
	awaitState(t, a.Client, job, "completed")
}

func TestListen_CancelsWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	a := account(t)
	ended := make(chan struct{}, 1)
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- struct{}{}
	})
	harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL).AwaitReady(t, 1)
	job := create(a.Client, `{"url":"https://listen.invalid/dev/x"}`)
	p.await(t, 1)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
	<-ended
	slow := create(a.Client, `{"retries":0,"timeout":5,"url":"https://listen.invalid/dev/x"}`)
	awaitState(t, a.Client, slow, "discarded")
	if kind := awaitLogs(t, a.Client, slow, 2, soon)[1].Get("payload.kind").Str(); kind != "timeout" {
		t.Errorf("the kind is %s, want timeout", kind)
	}
	<-ended
}

// TestListen_OutlivesRestarts stops the service by SIGTERM while a request is under
// way, which is answered, and then by SIGKILL, after which it is made again.
func TestListen_OutlivesRestarts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	a := s.Account(t)
	address := harness.Forward(t, s.URL())
	var mu sync.Mutex
	hold := make(chan struct{})
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		held := hold
		mu.Unlock()
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	l := harness.Listen(t, address.URL, a.Key, "--forward-to", p.URL)
	l.AwaitReady(t, 1)
	job := create(a.Client, `{"url":"https://listen.invalid/dev/x"}`)
	p.await(t, 1)
	if err := s.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "the listener to connect again", func() bool { return strings.Contains(l.Notes(), "connecting again") })
	close(hold)
	if code := s.Wait(soon); code != 0 {
		t.Errorf("exit status %d", code)
	}
	mu.Lock()
	hold = make(chan struct{})
	mu.Unlock()
	s.Restart(t)
	address.To(s.URL())
	l.AwaitReady(t, 2)
	awaitState(t, a.Client, job, "completed")
	if n := len(p.requests()); n != 1 {
		t.Errorf("the program got %d requests, want 1", n)
	}
	job = create(a.Client, `{"retries":20,"backoff":[1],"url":"https://listen.invalid/dev/y"}`)
	p.await(t, 2)
	s.Kill()
	s.Restart(t)
	address.To(s.URL())
	l.AwaitReady(t, 3)
	close(hold)
	harness.Eventually(t, afterCrash(s), "the attempt to be retried", func() bool { return len(p.requests()) > 2 })
	awaitState(t, a.Client, job, "completed")
}

func TestListen_BoundsListenersAndRequests(t *testing.T) {
	t.Parallel()
	a := account(t)
	release := make(chan struct{})
	var mu sync.Mutex
	underWay, most := 0, 0
	count := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		underWay += change
		most = max(most, underWay)
	}
	p := newProgram(t, func(w http.ResponseWriter, r *http.Request) {
		count(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		count(-1)
	})
	harness.Listen(t, a.Service.URL(), a.Key, "--forward-to", p.URL, "--name", "busy").AwaitReady(t, 1)
	for range 9 {
		listenRaw(t, a, "other")
	}
	_, answer, err := websocket.Dial(t.Context(), a.Service.URL()+"/api/listen?name=other", &websocket.DialOptions{
		Subprotocols: []string{"punctual.listen.v1"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + a.Key}},
	})
	if err == nil || answer == nil || answer.StatusCode != 429 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("an eleventh listener: %v %v", answer, err)
	}
	var jobs []harness.JSON
	for range 12 {
		jobs = append(jobs, create(a.Client, `{"retries":0,"url":"https://listen.invalid/busy/x"}`))
	}
	p.await(t, 8)
	for n := 9; n <= len(jobs); n++ {
		release <- struct{}{}
		p.await(t, n)
	}
	close(release)
	for _, job := range jobs {
		awaitState(t, a.Client, job, "completed")
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 8 {
		t.Errorf("%d requests were under way at once, want 8", most)
	}
}

func TestListen_EndsWhenTheKeyIsRevoked(t *testing.T) {
	t.Parallel()
	a := account(t)
	id, key := a.Service.NewKey(t, a.Email)
	l := harness.Listen(t, a.Service.URL(), key)
	l.AwaitReady(t, 1)
	revoked := time.Now()
	a.Service.Command(t, "keys", "revoke", id)
	if code := l.Wait(time.Minute); code != 4 || !strings.Contains(l.Notes(), "revoked") {
		t.Errorf("status %d: %s", code, l.Notes())
	}
	t.Logf("it ended %s after the key was revoked", time.Since(revoked).Round(time.Millisecond))
}
