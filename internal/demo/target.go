package demo

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// hit is one request as the target saw it.
type hit struct {
	at      time.Time
	path    string
	job     int64
	attempt int
	count   int // what $state.count was sent as; notCounted when not a whole number
}

const notCounted = -1

// target is the TLS server whose endpoints the demo's jobs call. It notes when
// each request arrived.
type target struct {
	URL       string
	Authority []byte // PEM, to be trusted by the service
	server    *http.Server
	served    sync.WaitGroup

	mu   sync.Mutex
	hits []hit
}

func startTarget() (*target, error) {
	authority, certificate, err := certificates()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the demo's target can't listen on 127.0.0.1; check that this machine lets programs do so: %w", err)
	}
	t := &target{URL: "https://" + listener.Addr().String(), Authority: authority}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pathOnce, t.receive(func(*hit) (int, string) { return http.StatusOK, `{"received":true}` }))
	mux.HandleFunc("POST "+pathCount, t.receive(func(h *hit) (int, string) {
		return http.StatusOK, fmt.Sprintf(`{"$set":{"count":%d}}`, h.count+1)
	}))
	mux.HandleFunc("POST "+pathStumble, t.receive(func(h *hit) (int, string) {
		if h.attempt == 1 {
			return http.StatusServiceUnavailable, `{"received":false}`
		}
		return http.StatusOK, `{"received":true}`
	}))
	t.server = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	t.served.Go(func() { _ = t.server.ServeTLS(listener, "", "") }) // ends when it is closed
	return t, nil
}

// receive returns a handler that records the request and responds.
func (t *target) receive(answer func(*hit) (status int, body string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := hit{at: time.Now(), path: r.URL.Path, count: notCounted}
		h.job, _ = strconv.ParseInt(r.Header.Get("X-Punctual-Job-Id"), 10, 64)
		h.attempt, _ = strconv.Atoi(r.Header.Get("X-Punctual-Attempt"))
		var body struct {
			Count json.RawMessage `json:"count"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err == nil {
			h.count = readCount(body.Count)
		}
		t.mu.Lock()
		t.hits = append(t.hits, h)
		t.mu.Unlock()
		status, text := answer(&h)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // whether it went through shows in the service's records
	}
}

// readCount reads what $state.count became: null before the first $set.
func readCount(sent json.RawMessage) int {
	if string(sent) == "null" {
		return 0
	}
	n, err := strconv.Atoi(string(sent))
	if err != nil {
		return notCounted
	}
	return n
}

// Hits returns the requests so far, in the order of their arrival.
func (t *target) Hits() []hit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hits)
}

func (t *target) Close() {
	_ = t.server.Close() // nobody is left to talk to
	t.served.Wait()
}
