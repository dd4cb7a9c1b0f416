package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/alert/watch"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/maintenance"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/operation"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/release"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/faulty"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// node is one process of the service, from its start to its end. A node that is
// started again is another one with the same name.
type node struct {
	world  *world
	name   string
	dead   bool // of the scheduler: crashed; none of its calls has an effect
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	service *service.Service        // nil until it has started
	self    func() int64            // the number that it is registered with
	edge    http.Handler            // its API; nil until it has started
	still   time.Time               // the process stands still until then
	reads   map[context.Context]int // when the message of an attempt was read, as the checker counts

	// Of the world's loop.
	crashed  bool
	crashIn  int // crashes after so many calls; 0: not
	cut      time.Time
	failing  time.Time // calls fail at random until then
	slow     time.Time
	stuck    time.Time
	deafTill time.Time
}

// completionURL is where targets report outcomes; a token follows.
const completionURL = "https://punctual.example.com/api/completions/"

// resultOf begins the name of a call's result that comes late.
const resultOf = "result of "

// serving returns a node's service; nil if it has not started.
func (n *node) serving() *service.Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.service
}

// api returns a node's API; nil if it has not started.
func (n *node) api() http.Handler {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.edge
}

// runReader notes when the message of an attempt is read.
type runReader struct {
	attempt.Runs
	node *node
}

// RunMessage implements attempt.Runs.
func (r runReader) RunMessage(ctx context.Context, account int64, of workflow.Key, bytes int64) (*store.RunMessage, error) {
	now := r.node.world.check.now()
	r.node.mu.Lock()
	r.node.reads[ctx] = now
	r.node.mu.Unlock()
	return r.Runs.RunMessage(ctx, account, of, bytes)
}

// readOf returns when the message of an attempt was read.
func (n *node) readOf(ctx context.Context) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reads[ctx]
}

// around carries out the node's calls to the store when they have their turn.
func (n *node) around(_ context.Context, method string, do func() error) error {
	fate, turn := n.world.sched.awaitBehind(n, n.name, method, 0)
	switch fate {
	case perish, refuse:
		return fault.Unreachable(fmt.Errorf("%s of %s: the database is away", method, n.name))
	case forget:
		_ = n.world.db.call(n.session(), do)
		return fault.Unreachable(fmt.Errorf("%s of %s: the connection was lost", method, n.name))
	case lag:
		err := n.world.db.call(n.session(), do)
		time.Sleep(max(time.Until(n.stuck), time.Until(n.goesOn())))
		if late, _ := n.world.sched.awaitBehind(n, n.name, resultOf+method, turn); late == perish {
			return fault.Unreachable(fmt.Errorf("%s of %s: the node has crashed", method, n.name))
		}
		return err
	}
	return n.world.db.call(n.session(), do)
}

// goesOn returns when a process that stands still goes on.
func (n *node) goesOn() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.still
}

func (n *node) standStill(until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.still = until
}

func (n *node) session() *session {
	for _, s := range n.world.db.sessions() {
		if s.node == n {
			return s
		}
	}
	return nil
}

// recordingStore is a store that records the outcomes of jobs for alerts: the
// Recorder's methods come before those of the store.
type recordingStore struct {
	*watch.Recorder
	others
}

type others struct{ store.Store }

// run is the life of a node, as internal/app builds it.
func (n *node) run(ctx context.Context) {
	defer close(n.done)
	w := n.world
	conn := w.db.connect(n)
	defer w.db.disconnect(conn)
	log := slog.New(slog.DiscardHandler)
	base := faulty.NewAround(conn, n.around)
	measured := metrics.New("sim")
	watcher := watch.New(watch.Config{Store: base, Log: log, HeldBack: func(item store.QueueKey) bool {
		_, held := store.OwnDue(item.Due)
		return held
	}})
	s := recordingStore{&watch.Recorder{Watcher: watcher, Store: base}, others{base}}
	number, err := s.NodeStart(ctx)
	if err != nil {
		return
	}
	var dispatcher *dispatch.Dispatcher
	runner := attempt.New(attempt.Config{
		Queue: s, Jobs: s, Client: (*targets)(n), Secrets: secrets{}, Logs: s, Groups: s, Runs: runReader{s, n}, Metrics: measured,
		Log: log, Random: w.chance,
		CompletionURL: completionURL, Completions: s,
		LimitStarted: func(account, job int64, keys []string, until, at time.Time) {
			dispatcher.LimitStarted(account, job, keys, until, at)
		},
		LimitsFreed: func(account int64, keys []string) { dispatcher.LimitsFreed(account, keys) },
	})
	defer runner.Close()
	dispatcher = dispatch.New(dispatch.Config{
		Queue: s, Node: number, Concurrency: w.plan.slots, Prepare: runner.Prepare, Deadline: lifecycle.Deadline, Log: log,
		ObserveClaims: measured.BatchSize("claim"), SetAside: runner.SetAside, Blocked: s, Budget: dispatch.Budget,
	})
	n.self = dispatcher.Self
	conn.Subscribe(dispatcher.Notice)
	if dispatcher.Suspect(ctx) != nil || watcher.Refresh(ctx) != nil {
		return
	}
	recovery := &attempt.Recovery{Store: s, Suspects: dispatcher, Runner: runner}
	if recovery.Run(ctx) != nil {
		return
	}
	var operating *operation.Worker
	svc := service.New(service.Config{
		Store: s, Operations: s, Engine: dispatcher, Metrics: measured, Random: w.chance, Operated: func() { operating.Wake() },
	})
	defer svc.Close()
	runner.TimedOut = svc.TimeOutWait
	api, err := n.serve(svc, measured, log)
	if err != nil {
		return
	}
	operating = operation.New(operation.Config{Steps: svc, Metrics: measured, Log: log})
	releasing := release.New(log)
	worker := &maintenance.Worker{Config: maintenance.Config{Store: s, Metrics: measured, Log: log, Retention: time.Hour}}
	n.mu.Lock()
	n.service, n.edge = svc, api
	n.mu.Unlock()
	var parts sync.WaitGroup
	parts.Go(func() { worker.Run(ctx) })
	parts.Go(func() { operating.Run(ctx) })
	parts.Go(func() { releasing.Run(ctx, svc) })
	parts.Go(func() { takeOver(ctx, recovery) })
	parts.Go(func() { runner.WatchCompletions(ctx) })
	parts.Go(func() { watcher.Run(ctx) })
	if w.plan.runsIn() {
		parts.Go(func() { n.tellInvokers(ctx, svc, s) })
	}
	_ = dispatcher.Run(ctx, 30*time.Second)
	n.mu.Lock()
	n.service, n.edge = nil, nil
	n.mu.Unlock()
	parts.Wait()
}

// tellInvokers tells runs of the ends of others, as internal/app does.
func (n *node) tellInvokers(ctx context.Context, svc *service.Service, s store.Store) {
	ownerOf := func(ctx context.Context, number int64) (job.Owner, error) {
		account, err := s.AccountOf(ctx, number)
		if err != nil {
			return job.Owner{}, err
		}
		return account.Owner, nil
	}
	for ctx.Err() == nil {
		_ = svc.TellInvokers(ctx, ownerOf)
		pause.For(ctx, time.Second)
	}
}

// takeOver ends the attempts of other nodes that went away, once a second.
func takeOver(ctx context.Context, r *attempt.Recovery) {
	for ctx.Err() == nil {
		pause.For(ctx, time.Second)
		if ctx.Err() == nil {
			_ = r.Run(ctx)
		}
	}
}
