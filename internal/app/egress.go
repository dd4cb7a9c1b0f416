package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
)

// newClient creates the HTTP client and reads which targets operators have
// blocked.
func (n *Node) newClient(ctx context.Context, roots *x509.CertPool) error {
	c := n.config
	n.targets = execute.NewTargets(execute.TargetsConfig{
		AllowPrivate: c.AllowPrivateTargets, Deny: c.DenyTargets, Allow: c.AllowTargets, Ports: c.TargetPorts,
		AllowHTTP: c.AllowHTTPTargets,
	})
	available := descriptors() // Go has raised the limit as far as the system permits
	if available < 2*uint64(c.Concurrency) {
		c.Log.Warn("the limit of open files is under twice --concurrency: raise it (ulimit -n, LimitNOFILE=), or lower --concurrency",
			"limit", available, "concurrency", c.Concurrency)
	}
	n.client = execute.New(execute.Config{
		Version: c.Version, Targets: n.targets, RootCAs: roots, MaxConnsIdle: c.Concurrency,
		MaxConnsIdleAll: connsIdleAll(c.Concurrency, available), PreferHTTP2: c.PreferHTTP2,
	})
	if err := n.readBlocks(ctx); err != nil {
		return err
	}
	n.metrics.Gauge("punctual_target_connections", "Open connections to targets and receivers, idle ones included.", nil,
		func() float64 { return float64(n.client.Connections()) })
	return nil
}

// connsIdleAll is how many idle connections may be kept, so that most of the
// descriptors are left to what is under way.
func connsIdleAll(concurrency int, descriptors uint64) int {
	most := 4 * concurrency
	if quarter := descriptors / 4; quarter < uint64(most) {
		most = max(int(quarter), 1)
	}
	return most
}

// blocksEvery is how often the blocked targets are read.
const blocksEvery = time.Second

// followBlocks keeps the client to the targets that operators block, until ctx
// ends. While the store can't be read, the rules read before stay.
func (n *Node) followBlocks(ctx context.Context) {
	n.every(store.Routine(ctx), blocksEvery, nil, "reading the blocked targets failed; those read before stay", n.readBlocks)
}

// readBlocks passes the blocked targets to the client if they have changed.
func (n *Node) readBlocks(ctx context.Context) error {
	blocked, err := n.store.TargetBlocks(ctx)
	if err != nil {
		return fmt.Errorf("reading the blocked targets: %w", err)
	}
	if !slices.Equal(blocked, n.blocked) {
		n.client.Block(n.rules(blocked))
		n.blocked = blocked
	}
	return nil
}

func (n *Node) rules(blocked []operator.TargetBlock) []execute.Rule {
	rules := make([]execute.Rule, 0, len(blocked))
	for _, b := range blocked {
		rule, err := execute.ParseRule(b.Target)
		if err != nil {
			n.config.Log.Error("a blocked target can't be read; block it again", "target", b.Target, "error", err)
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}
