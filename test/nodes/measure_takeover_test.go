package nodes

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// cutOff is a target that lets each job's first request hang, and answers those
// after it. It notes when the ones came whose first request was cut off.
type cutOff struct {
	mu     sync.Mutex
	hung   map[string]chan struct{} // by job: closed to let its first request end
	cut    map[string]bool
	again  map[string]time.Time
	opened int
}

func (o *cutOff) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	id := req.Header.Get("X-Punctual-Job-Id")
	o.mu.Lock()
	if _, repeated := o.hung[id]; repeated {
		o.again[id] = time.Now()
		o.mu.Unlock()
		return
	}
	end := make(chan struct{})
	o.hung[id] = end
	o.opened++
	o.mu.Unlock()
	select {
	case <-end:
	case <-req.Context().Done():
		o.mu.Lock()
		defer o.mu.Unlock()
		o.cut[id] = true
	}
}

// release lets the first requests end that still hang, and forgets all.
func (o *cutOff) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, end := range o.hung {
		close(end)
	}
	o.hung, o.cut, o.again, o.opened = map[string]chan struct{}{}, map[string]bool{}, map[string]time.Time{}, 0
}

func (o *cutOff) counts() (opened, cut, again int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opened, len(o.cut), len(o.again)
}

// TestMeasure_TakeOver kills a node fifty times while it has requests under way, and
// measures when these are made again: by another node after the kill, or by the same
// one after its start.
func TestMeasure_TakeOver(t *testing.T) {
	measuring(t)
	for _, m := range []struct {
		name     string
		database func() string
		nodes    int
	}{
		{"PostgreSQL, another node", func() string { return pgtest.Start(t, pgtest.Durable).URL("postgres") }, 2},
		{"PostgreSQL, the same node", func() string { return pgtest.Start(t, pgtest.Durable).URL("postgres") }, 1},
		{"SQLite, the same node", func() string { return "" }, 1},
	} {
		t.Run(m.name, func(t *testing.T) { measureTakeOver(t, startCluster(t, same(m.database(), m.nodes)...)) })
	}
}

func measureTakeOver(t *testing.T, c *Cluster) {
	const jobs, kills = 8, 50
	o := &cutOff{}
	o.release()
	target := harness.BareTarget(t, o)
	survives := len(c.Nodes) > 1
	var took, starts, listening []time.Duration
	for round := range kills {
		victim := c.Nodes[round%len(c.Nodes)]
		if survives {
			c.steady(t)
		}
		for i := range jobs {
			if a, err := c.call(t.Context(), c.Nodes[i%len(c.Nodes)], http.MethodPost, "/api/jobs",
				`{"url":"`+target+`","timeout":600}`); err != nil || a.status != http.StatusCreated {
				t.Fatalf("creating a job: %v %+v", err, a)
			}
		}
		harness.Eventually(t, 20*time.Second, "all requests to be under way",
			func() bool { opened, _, _ := o.counts(); return opened == jobs })
		from := time.Now()
		victim.Kill()
		if !survives {
			from = time.Now()
			victim.Restart(t)
			starts = append(starts, time.Since(from))
		}
		harness.Eventually(t, time.Minute, "the requests to be made again",
			func() bool { _, cut, again := o.counts(); return cut > 0 && cut == again })
		o.mu.Lock()
		for _, at := range o.again {
			took = append(took, at.Sub(from))
			if !survives {
				listening = append(listening, at.Sub(from)-starts[round])
			}
		}
		o.mu.Unlock()
		o.release()
		if survives {
			victim.Restart(t)
		}
	}
	for _, of := range [][]time.Duration{took, starts, listening} {
		slices.Sort(of)
	}
	t.Logf("requests made again after %d kills: %s; starts took %s; made again after the service listened: %s",
		kills, quantiles(took), quantiles(starts), quantiles(listening))
}
