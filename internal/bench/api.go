package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// api calls a service as any client would: over HTTP, with a key.
type api struct {
	url    string
	key    string
	client *http.Client

	// keep makes it remember what it has created, so that it can be cancelled.
	keep    bool
	mu      sync.Mutex
	pending []string // paths of jobs
}

// callLimit is how long a call may take. An overloaded service takes long, but
// a bench must end.
const callLimit = time.Minute

func newAPI(url, key string, clients int) *api {
	return &api{url: strings.TrimSuffix(url, "/"), key: key, client: &http.Client{
		Timeout: callLimit,
		// A proxy from the environment would not know this machine's loopback.
		// Compressed metrics would cost CPU of the service or relay that is measured.
		Transport: &http.Transport{Proxy: nil, DisableCompression: true, MaxIdleConns: clients, MaxIdleConnsPerHost: clients,
			IdleConnTimeout: 90 * time.Second},
	}}
}

func (a *api) close() { a.client.CloseIdleConnections() }

// call makes a call; a response other than a success is an error.
func (a *api) call(ctx context.Context, method, path string, body []byte) (http.Header, []byte, error) {
	return a.send(ctx, method, path, "application/json", body)
}

// send is call with a body of another media type.
func (a *api) send(ctx context.Context, method, path, mediaType string, body []byte) (http.Header, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header["Authorization"] = []string{"Bearer " + a.key}
	request.Header["Content-Type"] = []string{mediaType}
	if mediaType != "application/json" {
		request.Header["Prefer"] = []string{"return=minimal"}
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("the service gave no answer: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("the service's answer to %s %s broke off: %w", method, path, err)
	}
	if answer.StatusCode/100 != 2 {
		return nil, nil, fmt.Errorf("the service refused %s %s with %s: %s", method, path, answer.Status, bytes.TrimSpace(text))
	}
	return answer.Header, text, nil
}

// create creates a job from the body of the call.
func (a *api) create(ctx context.Context, body []byte) error {
	header, _, err := a.call(ctx, http.MethodPost, "/api/jobs", body)
	if err == nil && a.keep {
		a.remember([]string{header.Get("Location")})
	}
	return err
}

// remember keeps the paths of jobs in mind.
func (a *api) remember(paths []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, paths...)
}

// createBatch creates jobs from lines that each have the body of a create.
func (a *api) createBatch(ctx context.Context, lines []byte) error {
	_, text, err := a.send(ctx, http.MethodPost, "/api/jobs/batch", "application/x-ndjson", lines)
	if err != nil || !a.keep {
		return err
	}
	var created struct {
		Data []struct {
			Job int64 `json:"job_id"`
		}
	}
	if err := json.Unmarshal(text, &created); err != nil {
		return fmt.Errorf("the service's answer to a batch can't be read: %w", err)
	}
	for _, j := range created.Data {
		a.remember([]string{"/api/jobs/" + strconv.FormatInt(j.Job, 10)})
	}
	return nil
}

// mark returns how much is kept in mind, for forget to go back to.
func (a *api) mark() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pending)
}

// forget takes out of mind what was created since a mark: it has run.
func (a *api) forget(mark int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = a.pending[:mark]
}

// cancelAll cancels what is kept in mind.
func (a *api) cancelAll(ctx context.Context, clients int) error {
	paths := a.pending
	a.pending = nil
	next := make(chan string)
	failed := make(chan error, clients)
	for range clients {
		go func() {
			var err error
			for path := range next {
				if err == nil {
					_, _, err = a.call(ctx, http.MethodPost, path+"/cancel", nil)
				}
			}
			failed <- err
		}()
	}
	for _, path := range paths {
		next <- path
	}
	close(next)
	var first error
	for range clients {
		if err := <-failed; first == nil {
			first = err
		}
	}
	return first
}

var nextLink = regexp.MustCompile(`<([^>]*)>;\s*rel="?next"?`)

// list reads a page of jobs; next is the path of the one after it, "" when
// there is none. took is how long the call took.
func (a *api) list(ctx context.Context, path string) (next string, took time.Duration, err error) {
	began := time.Now()
	header, _, err := a.call(ctx, http.MethodGet, path, nil)
	took = time.Since(began)
	if err != nil {
		return "", 0, err
	}
	if match := nextLink.FindStringSubmatch(header.Get("Link")); match != nil {
		// Links may be absolute or begin with a slash.
		next = match[1]
		if i := strings.Index(next, "/api/"); i > 0 {
			next = next[i:]
		}
	}
	return next, took, nil
}

// executing returns how many of the account's jobs are executing, on all nodes; of many
// only that there are some.
func (a *api) executing(ctx context.Context) (int, error) {
	_, text, err := a.call(ctx, http.MethodGet, "/api/jobs/counts?state=executing", nil)
	if err != nil {
		return 0, err
	}
	var counts struct{ Data struct{ Executing int } }
	if err := json.Unmarshal(text, &counts); err != nil {
		return 0, fmt.Errorf("the service's counts can't be read: %w", err)
	}
	return counts.Data.Executing, nil
}

// ready reports whether the service fires jobs.
func (a *api) ready(ctx context.Context) bool {
	_, _, err := a.call(ctx, http.MethodGet, "/readyz", nil)
	return err == nil
}

// vitals are what a service says of its process and its work so far.
type vitals struct {
	cpu       time.Duration
	resident  float64 // bytes
	completed float64 // jobs
	relayed   float64 // rows of an outbox that became jobs
	active    bool    // whether it is the active relay
	stored    buckets // how long rows of an outbox took until they were stored
}

func (a *api) vitals(ctx context.Context) (vitals, error) {
	_, text, err := a.call(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return vitals{}, err
	}
	return readVitals(text), nil
}

// readVitals reads them from metrics in Prometheus' text format.
func readVitals(text []byte) (v vitals) {
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			continue
		}
		if v.stored.read(name, n) {
			continue
		}
		switch name {
		case "process_cpu_seconds_total":
			v.cpu = time.Duration(n * float64(time.Second))
		case "process_resident_memory_bytes":
			v.resident = n
		case `punctual_jobs_finished_total{outcome="completed"}`:
			v.completed = n
		case `punctual_outbox_rows_total{outcome="created"}`:
			v.relayed = n
		case "punctual_outbox_active":
			v.active = n > 0
		}
	}
	return v
}
