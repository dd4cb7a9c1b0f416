package bench

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// target is the TLS server that jobs are sent to, on one or many addresses. It
// notes when each job's request is there, and responds with 60 bytes of JSON.
type target struct {
	urls   []string // one for each address
	server *http.Server
	served sync.WaitGroup

	rounds     atomic.Pointer[[]*round]
	strays     atomic.Int64 // requests of no round
	handshakes atomic.Int64
	overHTTP1  atomic.Int64 // requests of jobs
	overHTTP2  atomic.Int64
	resumed    atomic.Int64 // handshakes that took up a session of before

	mu     sync.Mutex
	idle   map[net.Conn]struct{}
	freed  chan struct{} // closed when requests that hang are released
	letGo  sync.Once
	events *receipts // of the receiver of callbacks and webhooks
}

const (
	pathJob  = "/job"
	pathHang = "/hang"
	// pathLarge is answered with as much as is kept of a response.
	pathLarge = "/large"
)

const answer = `{"ok":true,"from":"punctual bench","pad":"0123456789abcdef"}`

// loopback returns the i-th of many addresses of this machine.
func loopback(i int) string { return fmt.Sprintf("127.1.%d.%d", i/250, 1+i%250) }

func loopbacks(n int) []string {
	addresses := make([]string, n)
	for i := range addresses {
		addresses[i] = loopback(i)
	}
	return addresses
}

// manyAddresses reports whether this machine has more loopback addresses than
// one, as Linux has by default.
func manyAddresses() bool {
	listener, err := net.Listen("tcp4", net.JoinHostPort(loopback(1), "0"))
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}

// startTarget listens on a free port of each address, each with a certificate
// of its own.
func startTarget(a *authority, http2 bool, addresses ...string) (*target, error) {
	t := &target{idle: map[net.Conn]struct{}{}, freed: make(chan struct{})}
	t.rounds.Store(&[]*round{})
	certificates := map[string]*tls.Certificate{}
	listeners := make([]net.Listener, 0, len(addresses))
	for _, address := range addresses {
		certificate, err := a.certify(net.ParseIP(address))
		if err != nil {
			return nil, err
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(address, "0"))
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, fmt.Errorf("the target can't listen on %s (of %d addresses); check that programs may, and open so many files (ulimit -n): %w", address, len(addresses), err)
		}
		certificates[address] = certificate
		listeners = append(listeners, listener)
		t.urls = append(t.urls, "https://"+listener.Addr().String())
	}
	t.server = t.newServer(certificates, http2)
	for _, listener := range listeners {
		t.served.Go(func() { _ = t.server.ServeTLS(listener, "", "") }) // ends when it is closed
	}
	return t, nil
}

func (t *target) newServer(certificates map[string]*tls.Certificate, http2 bool) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Server{
		Handler: t, Protocols: protocols, ConnState: t.follow,
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that go away are part of it
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			// Clients name no server when they call an address, so the
			// certificate goes by where the connection came in.
			GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				host, _, _ := net.SplitHostPort(hello.Conn.LocalAddr().String())
				if c := certificates[host]; c != nil {
					return c, nil
				}
				return nil, fmt.Errorf("no certificate for %s", host)
			},
			VerifyConnection: func(state tls.ConnectionState) error {
				t.handshakes.Add(1)
				if state.DidResume {
					t.resumed.Add(1)
				}
				return nil
			},
		},
	}
}

// follow keeps the connections that are idle.
func (t *target) follow(conn net.Conn, state http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state == http.StateIdle {
		t.idle[conn] = struct{}{}
	} else {
		delete(t.idle, conn)
	}
}

// hangUp closes all idle connections, as targets do after a while.
func (t *target) hangUp() {
	t.mu.Lock()
	idle := t.idle
	t.idle = map[net.Conn]struct{}{}
	t.mu.Unlock()
	for conn := range idle {
		_ = conn.Close()
	}
}

// expect makes the target note the jobs of a round.
func (t *target) expect(r *round) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rounds := append(slices.Clone(*t.rounds.Load()), r)
	t.rounds.Store(&rounds)
}

// spoken returns the protocols that jobs' requests have come by since it was last
// asked, the most frequent first; "" when there were none.
func (t *target) spoken() string {
	one, two := t.overHTTP1.Swap(0), t.overHTTP2.Swap(0)
	switch {
	case one == 0 && two == 0:
		return ""
	case two == 0:
		return "HTTP/1.1"
	case one == 0:
		return "HTTP/2"
	case one < two:
		return "HTTP/2 and HTTP/1.1"
	default:
		return "HTTP/1.1 and HTTP/2"
	}
}

// forget ends what all rounds expect.
func (t *target) forget() { t.rounds.Store(&[]*round{}) }

var buffers = sync.Pool{New: func() any { return new([4096]byte) }}

// ServeHTTP implements http.Handler.
func (t *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	buffer := buffers.Get().(*[4096]byte)
	n, _ := io.ReadFull(r.Body, buffer[:]) // short bodies are the rule
	_, _ = io.Copy(io.Discard, r.Body)
	defer buffers.Put(buffer)
	switch path := r.URL.Path; {
	case path == pathJob || path == pathHang || path == pathLarge:
		t.job(w, r, at, buffer[:n])
	case t.events != nil && t.events.receive(path, buffer[:n], at):
		t.answer(w, answer)
	default:
		t.strays.Add(1)
		http.NotFound(w, r)
	}
}

func (t *target) job(w http.ResponseWriter, r *http.Request, at time.Time, body []byte) {
	number, ok := readNumber(body)
	in := t.roundOf(number)
	if !ok || in == nil {
		t.strays.Add(1)
		http.Error(w, "not a job of this bench", http.StatusNotFound)
		return
	}
	if r.ProtoMajor == 2 {
		t.overHTTP2.Add(1)
	} else {
		t.overHTTP1.Add(1)
	}
	a, first := in.arrive(number, at)
	if r.URL.Path == pathHang {
		select {
		case <-t.freed:
		case <-r.Context().Done():
		}
	} else if in.hold > 0 && sleepUntil(r.Context(), at.Add(in.hold)) != nil {
		if first {
			a.broken.Store(true)
		}
		return
	}
	if first {
		a.answered.Store(true)
	}
	if r.URL.Path == pathLarge {
		t.answer(w, largeAnswer)
	} else {
		t.answer(w, answer)
	}
}

func (t *target) answer(w http.ResponseWriter, text string) {
	header := w.Header()
	header["Content-Type"] = []string{"application/json"}
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	_, _ = io.WriteString(w, text)
}

func (t *target) roundOf(number int64) *round {
	for _, r := range slices.Backward(*t.rounds.Load()) {
		if r.holds(number) {
			return r
		}
	}
	return nil
}

// bodyHead begins every job's body; the number follows.
const bodyHead = `{"job":`

// readNumber reads a job's number from its body. It looks at no more than it
// must, since the target runs on the processors that are being measured.
func readNumber(body []byte) (number int64, ok bool) {
	rest, ok := strings.CutPrefix(string(body[:min(len(body), len(bodyHead)+20)]), bodyHead)
	if !ok {
		return 0, false
	}
	end := strings.IndexByte(rest, ',')
	if end < 0 {
		return 0, false
	}
	number, err := strconv.ParseInt(rest[:end], 10, 64)
	return number, err == nil
}

// free lets requests that hang go.
func (t *target) free() { t.letGo.Do(func() { close(t.freed) }) }

// close stops the target.
func (t *target) close() {
	t.free()
	_ = t.server.Close() // nobody is left to talk to
	t.served.Wait()
}
