package clienttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// Unreliable is a proxy before the service that spoils the first tries of each call with
// a body. The first element of a path names the faults in turn, as in
// /late,lose/api/jobs; calls with the same path and body are tries of one call.
//
//   - lose: the service answers, its jobs run to their end, and no answer arrives
//   - cut: half of the answer arrives
//   - delay: the answer is held until the client hangs up
//   - late: the connection is lost, and the request reaches the service after the
//     next try was answered and its jobs have ended
type Unreliable struct {
	// URL is the proxy's address. GET /hits/NAME on it returns the hits of a name.
	URL string
	// Target receives the jobs: what is sent to Target/NAME/… is counted.
	Target string

	service string

	mu    sync.Mutex
	tries map[string]int           // by path and body
	late  map[string]*http.Request // requests that are under way
	hits  map[string]map[string]int
}

// NewUnreliable starts a proxy before a service, and a target.
func NewUnreliable(t testing.TB, service *harness.Service) *Unreliable {
	t.Helper()
	u := &Unreliable{service: service.URL(), tries: map[string]int{}, late: map[string]*http.Request{}, hits: map[string]map[string]int{}}
	u.Target = harness.BareTarget(t, http.HandlerFunc(u.count))
	proxy := httptest.NewServer(u)
	u.URL = proxy.URL
	t.Cleanup(proxy.Close)
	return u
}

// count is the target.
func (u *Unreliable) count(_ http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hits[name] == nil {
		u.hits[name] = map[string]int{}
	}
	u.hits[name][rest]++
}

// Hits returns how often each path below a name of the target was requested.
func (u *Unreliable) Hits(name string) map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	hits := map[string]int{}
	for path, n := range u.hits[name] {
		hits[path] = n
	}
	return hits
}

// ServeHTTP passes a try on, or spoils it.
func (u *Unreliable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	faults, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if faults == "hits" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(u.Hits(path)) // fails if the test has hung up
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request, err := http.NewRequest(r.Method, u.service+"/"+path+"?"+r.URL.RawQuery, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header = r.Header.Clone()
	fault := ""
	call := faults + " " + path + " " + string(body)
	u.mu.Lock()
	if list := strings.Split(faults, ","); len(body) > 0 && u.tries[call] < len(list) {
		fault = list[u.tries[call]]
		u.tries[call]++
	}
	late := u.late[call]
	delete(u.late, call)
	if fault == "late" {
		u.late[call] = request
	}
	u.mu.Unlock()
	if fault == "late" {
		panic(http.ErrAbortHandler)
	}
	response, answer, err := exchange(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if late != nil {
		u.awaitEnd(r, answer)
		_, _, _ = exchange(late) // nobody waits for its answer
	}
	u.pass(w, r, fault, response, answer)
}

// pass passes an answer on as far as the fault permits.
func (u *Unreliable) pass(w http.ResponseWriter, r *http.Request, fault string, response *http.Response, answer []byte) {
	switch fault {
	case "lose":
		u.awaitEnd(r, answer)
		panic(http.ErrAbortHandler)
	case "delay":
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(response.StatusCode)
	if fault != "cut" {
		_, _ = w.Write(answer) // fails if the client has hung up
		return
	}
	_, _ = w.Write(answer[:len(answer)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func exchange(request *http.Request) (*http.Response, []byte, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, nil, fmt.Errorf("passing the request on: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response, answer, err
}

// awaitEnd waits until the jobs of an answer are final: what they hold is free again.
func (u *Unreliable) awaitEnd(r *http.Request, answer []byte) {
	data := harness.JSON(answer).Get("data")
	records := data.Items()
	if len(records) == 0 {
		records = []harness.JSON{data}
	}
	for _, record := range records {
		if !record.Get("job_id").Exists() {
			continue // a refusal
		}
		for r.Context().Err() == nil && !u.final(r, record.Get("job_id").Int()) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (u *Unreliable) final(r *http.Request, id int64) bool {
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/api/jobs/%d", u.service, id), nil)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", r.Header.Get("Authorization"))
	_, answer, err := exchange(request)
	if err != nil {
		return false
	}
	switch harness.JSON(answer).Get("data.job.state").Str() {
	case "completed", "discarded", "cancelled":
		return true
	}
	return false
}
