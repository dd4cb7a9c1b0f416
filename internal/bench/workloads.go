package bench

import (
	"context"
	"slices"
)

// workload is one way of using the service.
type workload struct {
	name  string
	about string
	run   func(ctx context.Context, t *trial) error
	// own: it needs a service of the bench's own, to fill its store or to kill it.
	own bool
	// addresses: it needs many loopback addresses.
	addresses bool
}

// workloads are all there are, in the order they are run: what others are held
// against comes first.
var workloads []workload

// The table names the functions and they name the table, which Go allows only
// like this.
func init() {
	workloads = []workload{
		{name: "ceiling", about: "the same requests from a bare client, and the same creates at a bare handler, without a store",
			run: ceiling},
		{name: "ingest", about: "jobs created one a request, each answered after its commit", run: ingest},
		{name: "bulk", about: "jobs created a thousand a request, alone and beside steady jobs", run: bulk},
		{name: "herd", about: "jobs that are due at one instant", run: herd},
		{name: "steady", about: "jobs that are due at any time", run: steady},
		{name: "webhooks", about: "steady, each job with a callback and a webhook", run: webhooks},
		{name: "outbox", about: "jobs committed with an application's data, one a transaction, then many that wait for the relay", run: outbox,
			own: true},
		{name: "crowd", about: "one account with very many jobs due at once, another with few", run: crowd, own: true},
		{name: "slow", about: "steady, with nine of ten targets that do not answer; the service makes as many requests at once as it does by default", run: slow, addresses: true},
		{name: "hosts", about: "a herd for many different hosts, twice", run: hosts, addresses: true},
		{name: "large", about: "jobs with the largest responses, and with the largest requests, at once", run: large, own: true},
		{name: "backlog", about: "herd and steady in a store with very many jobs that wait", run: backlog, own: true},
		{name: "crash", about: "the service is killed with requests under way, and started again", run: crash, own: true},
		{name: "cost", about: "what a job takes, from the herd", run: cost},
	}
}

// Names returns the names of all workloads.
func Names() (names []string) {
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

// chosen returns the workloads that were asked for. The cost is taken from a herd.
func (b *bench) chosen() (chosen []workload) {
	for _, w := range workloads {
		if len(b.Workloads) == 0 || slices.Contains(b.Workloads, w.name) ||
			w.name == "herd" && slices.Contains(b.Workloads, "cost") {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// skips says why a workload can't be run; "" when it can.
func (b *bench) skips(w workload) string {
	switch {
	case w.own && b.BaseURL != "":
		return "needs a service of the bench's own"
	case w.addresses && !b.several:
		return "needs many loopback addresses, which this system does not have"
	}
	return ""
}
