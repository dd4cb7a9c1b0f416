package hostile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

const (
	// memoryGoal is what the program is told (GOMEMLIMIT), memoryLimit what it
	// must stay under, addressSpace what the kernel grants it: Go and SQLite
	// reserve far more addresses than they use.
	memoryGoal   = "384MiB"
	memoryLimit  = 512 << 20
	addressSpace = 8 << 30
	// attackers is how many accounts attack.
	attackers = 8
)

// arena is one service with a victim and attackers.
type arena struct {
	t       *testing.T
	service *harness.Service
	victim  *victim
	machine *pace.Watch
	// stopVictim ends the creating of jobs and waits for its calls.
	stopVictim func()
	keys       []string // of the attackers
	emails     []string

	statuses sync.Map // of responses that must not be, as text
	calls    atomic.Int64
	clients  sync.Map  // by local address
	filled   sync.Once // see large
}

// newArena starts a service and its victim.
func newArena(t *testing.T, options ...harness.Option) *arena {
	t.Helper()
	options = append([]harness.Option{
		harness.Env("GOMEMLIMIT=" + memoryGoal), harness.Flag("log-level", "error"), harness.Flag("signup", "open"),
	}, options...)
	a := &arena{t: t, service: harness.Start(t, options...), machine: pace.Start()}
	t.Cleanup(a.machine.Stop)
	limit := &unix.Rlimit{Cur: addressSpace, Max: addressSpace}
	if err := unix.Prlimit(a.service.PID(), unix.RLIMIT_AS, limit, nil); err != nil {
		t.Fatalf("limiting the address space of the program: %v", err)
	}
	a.victim = &victim{arena: a, jobs: map[string]*victimJob{}, client: a.from("127.0.0.1")}
	a.victim.key = a.service.Account(t).Key
	for range attackers {
		account := a.service.Account(t)
		a.keys, a.emails = append(a.keys, account.Key), append(a.emails, account.Email)
	}
	target := harness.BareTarget(t, a.victim)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.victim.run(ctx, target) })
	a.stopVictim = func() {
		stop()
		running.Wait()
	}
	t.Cleanup(a.stopVictim)
	return a
}

// from returns a client that calls from an address of this machine.
func (a *arena) from(address string) *http.Client {
	if client, ok := a.clients.Load(address); ok {
		return client.(*http.Client)
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 5 * time.Second}
	client, _ := a.clients.LoadOrStore(address, &http.Client{
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64, DisableCompression: true},
		Timeout:       pace.Guard(30 * time.Second),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	return client.(*http.Client)
}

// send makes a call and returns its status and the beginning of its body; 0 when
// there was no response.
func (a *arena) send(client *http.Client, method, path, key string, body []byte, headers ...string) (int, string) {
	return a.sendTo(context.Background(), a.service.URL(), client, method, path, key, body, headers...)
}

// sendTo is send to one of the service's addresses. The client goes away when the context
// ends.
func (a *arena) sendTo(
	ctx context.Context, base string, client *http.Client, method, path, key string, body []byte, headers ...string,
) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	a.calls.Add(1)
	text, _ := io.ReadAll(io.LimitReader(response.Body, 400))
	_, _ = io.Copy(io.Discard, response.Body) // the service may cut what it sends
	if response.StatusCode >= 500 && response.StatusCode != http.StatusServiceUnavailable {
		a.statuses.Store(fmt.Sprintf("%s %.80s: %d %s", method, path, response.StatusCode, text), true)
	}
	switch outcome := response.Header.Get("Grpc-Status") + response.Trailer.Get("Grpc-Status"); outcome {
	case "2", "13": // UNKNOWN, INTERNAL
		a.statuses.Store(fmt.Sprintf("%s %.80s: gRPC status %s", method, path, outcome), true)
	}
	return response.StatusCode, string(text)
}

// badStatuses returns and forgets the responses that must not be.
func (a *arena) badStatuses() (found []string) {
	a.statuses.Range(func(key, _ any) bool {
		found = append(found, key.(string))
		a.statuses.Delete(key)
		return true
	})
	return found
}

// resetPeak has the kernel measure the process's peak memory anew.
func (a *arena) resetPeak() {
	path := fmt.Sprintf("/proc/%d/clear_refs", a.service.PID())
	if err := os.WriteFile(path, []byte("5"), 0); err != nil {
		a.t.Fatalf("resetting the peak of memory: %v", err)
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory the process has used since resetPeak, in bytes.
func (a *arena) peak() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.service.PID()))
	if err != nil {
		return -1 // it is gone
	}
	found := peakLine.FindSubmatch(text)
	if found == nil {
		return -1
	}
	kilobytes, _ := strconv.ParseInt(string(found[1]), 10, 64) // only digits match
	return kilobytes << 10
}

// dial opens a connection from an attacker's address.
func (a *arena) dial(ctx context.Context, address string) (net.Conn, error) {
	return dialTo(ctx, a.host(), address)
}

func dialTo(ctx context.Context, host, address string) (net.Conn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 2 * time.Second}
	return dialer.DialContext(ctx, "tcp", host)
}

// host is the service's address.
func (a *arena) host() string { return a.service.URL()[len("http://"):] }
