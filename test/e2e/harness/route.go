package harness

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// Hit is one request a target received.
type Hit struct {
	Method   string
	Path     string // escaped, as sent
	RawQuery string
	Host     string
	Header   http.Header
	Body     []byte
	BodyErr  error     // of reading the body
	At       time.Time // when the request's head had been read
	End      time.Time // when it had been answered; zero while under way
	Aborted  bool      // the connection ended before the response was whole

	conn *connection
}

// Broken returns when the connection that a hit came on was found to have
// ended; zero while it is open.
func (h Hit) Broken() time.Time { return h.conn.ended() }

// JSON returns the body of a hit.
func (h Hit) JSON() JSON { return JSON(h.Body) }

// Route is a path of a target: its responses, and the requests it received.
type Route struct {
	Path string
	URL  string

	mu       sync.Mutex
	hits     []*Hit
	changed  chan struct{} // closed and replaced at each beginning and end of a hit
	handler  http.Handler
	sequence []http.Handler // answers for the next hits, before handler
	releases []func()
}

// Respond sets the response to every further hit.
func (r *Route) Respond(h http.Handler) *Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handler = h
	return r
}

// RespondOnce sets the responses to the next hits, one each in this order.
func (r *Route) RespondOnce(hs ...http.Handler) *Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence = append(r.sequence, hs...)
	return r
}

// Hold makes every further hit wait until release is called (or the test ends,
// or the caller gives up) before next responds to it.
func (r *Route) Hold(next http.Handler) (release func()) {
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	r.Respond(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-gate:
			next.ServeHTTP(w, req)
		case <-req.Context().Done():
		}
	}))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.releases = append(r.releases, release)
	return release
}

func (r *Route) releaseAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, release := range r.releases {
		release()
	}
}

func (r *Route) begin(hit *Hit) http.Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hits = append(r.hits, hit)
	r.notify()
	if len(r.sequence) > 0 {
		h := r.sequence[0]
		r.sequence = r.sequence[1:]
		return h
	}
	if r.handler != nil {
		return r.handler
	}
	return Status(http.StatusOK)
}

func (r *Route) end(hit *Hit, aborted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hit.End, hit.Aborted = time.Now(), aborted
	r.notify()
}

func (r *Route) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Hits returns copies of all hits so far, in the order they came.
func (r *Route) Hits() []Hit {
	hits, _ := r.look()
	return hits
}

func (r *Route) look() ([]Hit, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hits := make([]Hit, len(r.hits))
	for i, hit := range r.hits {
		hits[i] = *hit
	}
	return hits, r.changed
}

// Await blocks until at least n hits have come, and returns all.
func (r *Route) Await(t testing.TB, n int, within time.Duration) []Hit {
	t.Helper()
	hits, ok := r.await(pace.Guard(within), func(hits []Hit) bool { return len(hits) >= n })
	if !ok {
		t.Fatalf("waited %s for %d hits of %s, got %d", pace.Guard(within), n, r.Path, len(hits))
	}
	return hits
}

// AwaitEnds blocks until at least n hits have been answered or broken off.
func (r *Route) AwaitEnds(t testing.TB, n int, within time.Duration) []Hit {
	t.Helper()
	ended := func(h Hit) bool { return !h.End.IsZero() }
	hits, ok := r.await(pace.Guard(within), func(hits []Hit) bool {
		return len(slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool { return !ended(h) })) >= n
	})
	if !ok {
		came := len(hits)
		left := len(slices.DeleteFunc(hits, ended))
		t.Fatalf("waited %s for the end of %d hits of %s; %d came, %d of them have not ended", pace.Guard(within), n, r.Path, came, left)
	}
	return hits
}

// Quiet reports whether no further hit comes within the time given.
func (r *Route) Quiet(d time.Duration) bool {
	before := len(r.Hits())
	_, more := r.await(d, func(hits []Hit) bool { return len(hits) > before })
	return !more
}

func (r *Route) await(within time.Duration, enough func([]Hit) bool) ([]Hit, bool) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		hits, changed := r.look()
		if enough(hits) {
			return hits, true
		}
		select {
		case <-changed:
		case <-deadline.C:
			return hits, false
		}
	}
}
