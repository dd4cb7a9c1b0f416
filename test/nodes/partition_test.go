package nodes

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// noticedWithin is how soon a node that is cut off must say so, answerWithin
// how long any of its answers may take meanwhile, beside how late the machine is.
const (
	noticedWithin = 8 * time.Second
	answerWithin  = 8 * time.Second
)

// TestPartition_NodeCutOffFromItsDatabaseFailsNoCall cuts one of two nodes off
// from the database in three ways while both are under load.
func TestPartition_NodeCutOffFromItsDatabaseFailsNoCall(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	proxy := startProxy(t, fmt.Sprintf("127.0.0.1:%d", server.Port))
	through := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", proxy.Port)
	c := startCluster(t, server.URL("postgres"), through)
	p := &partition{t: t, cluster: c, proxy: proxy, node: c.Nodes[1]}
	weather(t, c, rate(40), func(h *History) {
		pause(2 * time.Second)
		p.away(h, "cut", cut, 5*time.Second)
		p.away(h, "half-open", halfOpen, 18*time.Second)
		p.dragging(h)
	})
}

type partition struct {
	t       *testing.T
	cluster *Cluster
	proxy   *Proxy
	node    *Node
}

// away takes the database away from the node for a time. The node must report
// it, respond in time, and recover by itself.
func (p *partition) away(h *History, what string, m mode, lasts time.Duration) {
	h.fault(Cut, p.node.Name, func() {
		began := time.Now()
		p.proxy.set(m, 0)
		p.awaitReady(what, false, noticedWithin)
		if took := time.Since(began); took > harness.Allowed(noticedWithin, began) {
			p.t.Errorf("%s: the node noticed after %s", what, took)
		}
		p.t.Logf("%s: not ready after %s", what, time.Since(began).Round(time.Millisecond))
		p.wantRefusals(what)
		pause(lasts - time.Since(began))
		p.proxy.set(passing, 0)
	})
	back := time.Now()
	p.awaitReady(what, true, 20*time.Second)
	p.t.Logf("%s: ready again %s after the network was", what, time.Since(back).Round(time.Millisecond))
	harness.Eventually(p.t, 10*time.Second, "calls to be served again", func() bool {
		return p.ask(http.MethodGet, "/api/jobs?limit=1", "").status == http.StatusOK
	})
}

// dragging slows the network down so far that nothing is on time, but
// everything works.
func (p *partition) dragging(h *History) {
	h.fault(Cut, p.node.Name, func() {
		p.proxy.set(passing, 150*time.Millisecond)
		pause(6 * time.Second)
		p.proxy.set(passing, 0)
	})
	p.awaitReady("slow", true, 20*time.Second)
}

// ask asks the node itself; no answer within bounds fails the test.
func (p *partition) ask(method, path, body string) *answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pace.Guard(answerWithin))
	defer cancel()
	began := time.Now()
	a, err := p.cluster.call(ctx, p.node, method, path, body)
	if err != nil {
		p.t.Errorf("%s %s got no answer: %v", method, path, err)
		return &answer{header: http.Header{}}
	}
	if took := time.Since(began); took > harness.Allowed(answerWithin, began) {
		p.t.Errorf("%s %s was answered after %s", method, path, took)
	}
	return a
}

func (p *partition) awaitReady(what string, ready bool, within time.Duration) {
	p.t.Helper()
	if !harness.Within(within, func() bool {
		return (p.ask(http.MethodGet, "/readyz", "").status == http.StatusOK) == ready
	}) {
		p.t.Errorf("%s: waited %s for readiness to be %t", what, within, ready)
	}
}

// wantRefusals fails the test unless the node is alive and refuses every call
// with 503 in time.
func (p *partition) wantRefusals(what string) {
	p.t.Helper()
	if got := p.ask(http.MethodGet, "/healthz", "").status; got != http.StatusOK {
		p.t.Errorf("%s: /healthz answers %d", what, got)
	}
	for _, call := range [][3]string{
		{http.MethodGet, "/api/jobs", ""}, {http.MethodGet, "/api/jobs/1", ""}, {http.MethodPost, "/api/jobs/1/cancel", ""},
		{http.MethodPost, "/api/jobs", `{"url":"` + p.cluster.Target.URL + `","scheduled_at":"2031-05-06"}`},
	} {
		began := time.Now()
		a := p.ask(call[0], call[1], call[2])
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			p.t.Errorf("%s: %s %s answers %d with Retry-After %q, want 503: %s", what, call[0], call[1], a.status,
				a.header.Get("Retry-After"), a.body)
		}
		p.t.Logf("%s: %s %s refused after %s", what, call[0], call[1], time.Since(began).Round(time.Millisecond))
	}
}
