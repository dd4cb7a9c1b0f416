package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
	"github.com/punctual-dev/punctual/test/ports"
)

// TestTopology_LosesNoCallWhenANodeGoes runs what compose.yaml describes without
// containers: PostgreSQL, two nodes and a proxy with its configuration. Clients call
// while one node is drained and started again, and while the other one is killed.
func TestTopology_LosesNoCallWhenANodeGoes(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		p, database := newProxy(t), pgtest.URL(t)
		var nodes []*harness.Service
		var addresses []string
		for range 2 {
			address := ports.Free(t)
			nodes = append(nodes, harness.Start(t, harness.Database(database), harness.Flag("listen", address),
				harness.Flag("public-url", p.url("")), harness.Flag("drain", "4s")))
			addresses = append(addresses, address)
		}
		start(p, addresses...)
		target := harness.SharedTarget(t).Route(t)
		key := nodes[0].Account(t).Key
		for _, n := range nodes {
			awaitReady(t, n)
		}
		c := &callers{proxy: p, key: key, target: target.URL, ids: map[string]string{}}
		stop := c.start(t, 4)

		c.await(t, 100)
		if code := nodes[0].Stop(); code != 0 {
			t.Errorf("the drained node ended with status %d", code)
		}
		c.await(t, 100)
		if failed := c.failures(); len(failed) > 0 {
			t.Errorf("%d calls failed while a node was drained: %v", len(failed), failed[0])
		}
		nodes[0].Restart(t)
		awaitCalls(t, nodes[0])
		if err := nodes[1].Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		c.await(t, 200)
		stop()
		c.judgeKill(t, strings.Contains(t.Name(), "caddy"))

		// Every create that succeeded is one job, and its request arrives.
		if c.created() == 0 {
			t.Fatal("nothing was created")
		}
		harness.Eventually(t, 90*time.Second, "every job's request", func() bool { return len(target.Hits()) >= c.created() })
	})
}

func awaitReady(t testing.TB, s *harness.Service) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, "a node to be ready", func() bool {
		response, err := http.Get(s.URL() + "/readyz")
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

var jobsCalled = regexp.MustCompile(`(?m)^punctual_http_requests_total\{.*route="/api/jobs".* [1-9]`)

// awaitCalls waits until the proxy passes calls to a node that was started again: it
// remembers for some seconds that the node could not be reached.
func awaitCalls(t testing.TB, s *harness.Service) {
	t.Helper()
	harness.Eventually(t, 60*time.Second, "calls at the node that was started again", func() bool {
		response, err := http.Get(s.URL() + "/metrics")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return err == nil && jobsCalled.Match(text)
	})
}

// callers call through the proxy all the time: they create jobs with an idempotency key
// each, and read.
type callers struct {
	proxy       *proxy
	key, target string

	mu     sync.Mutex
	done   int
	failed []failure
	ids    map[string]string // of jobs, by idempotency key
}

// failure is a call that did not get the status it should.
type failure struct{ method, problem string }

func (c *callers) start(t testing.TB, n int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				c.create(fmt.Sprintf("k-%d-%d", i, k))
				c.call(http.MethodGet, "/api/jobs?limit=1", "", "", http.StatusOK)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// create creates a job; a client that got no answer asks again with the same key.
func (c *callers) create(key string) {
	body := fmt.Sprintf(`{"url":%q,"schedule_in":1}`, c.target)
	for range 3 {
		text, ok := c.call(http.MethodPost, "/api/jobs", key, body, http.StatusCreated, http.StatusOK)
		if !ok {
			continue
		}
		var answer struct{ Data struct{ ID string } }
		err := json.Unmarshal(text, &answer)
		c.mu.Lock()
		if c.ids[key] = answer.Data.ID; err != nil || answer.Data.ID == "" {
			c.failed = append(c.failed, failure{"answer", string(text)})
		}
		c.mu.Unlock()
		return
	}
}

func (c *callers) call(method, path, key, body string, want ...int) ([]byte, bool) {
	request, err := http.NewRequest(method, c.proxy.url(path), strings.NewReader(body))
	if err != nil {
		return nil, false
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
		request.Header.Set("Content-Type", "application/json")
	}
	problem := ""
	var text []byte
	response, err := c.proxy.client.Do(request)
	if err == nil {
		text, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	switch {
	case err != nil:
		problem = err.Error()
	case !slices.Contains(want, response.StatusCode):
		problem = fmt.Sprintf("status %d: %.300s", response.StatusCode, text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done++; problem != "" {
		c.failed = append(c.failed, failure{method, problem})
	}
	return text, problem == ""
}

// await waits for n more calls.
func (c *callers) await(t testing.TB, n int) {
	t.Helper()
	count := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.done
	}
	until := count() + n
	harness.Eventually(t, 60*time.Second, fmt.Sprintf("%d calls", n), func() bool { return count() >= until })
}

func (c *callers) failures() []failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.failed)
}

func (c *callers) created() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ids)
}

// judgeKill checks what failed when a node was killed. nginx repeats a create with a
// key, so nothing may fail. Caddy repeats only reads: of each of four callers one
// create may be cut off, which the caller then repeats with success.
func (c *callers) judgeKill(t testing.TB, caddy bool) {
	failed := c.failures()
	for _, f := range failed {
		if !caddy || f.method != http.MethodPost {
			t.Errorf("a call failed when a node was killed: %+v", f)
		}
	}
	if len(failed) > 4 {
		t.Errorf("%d creates were cut off by four callers", len(failed))
	}
}
