package sim

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/alert/watch"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/maintenance"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/operation"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/faulty"
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
	service *service.Service // nil until it has started
	self    func() int64     // the number that it is registered with

	// Of the world's loop.
	crashed  bool
	crashIn  int // crashes after so many calls; 0: not
	cut      time.Time
	failing  time.Time // calls fail at random until then
	slow     time.Time
	deafTill time.Time
}

// completionURL is where targets report outcomes; a token follows.
const completionURL = "https://punctual.example.com/api/completions/"

// serving returns a node's service; nil if it has not started.
func (n *node) serving() *service.Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.service
}

// around carries out the node's calls to the store when they have their turn.
func (n *node) around(_ context.Context, method string, do func() error) error {
	switch n.world.sched.await(n, n.name, method) {
	case perish, refuse:
		return fault.Unreachable(fmt.Errorf("%s of %s: the database is away", method, n.name))
	case forget:
		_ = n.world.db.call(n.session(), do)
		return fault.Unreachable(fmt.Errorf("%s of %s: the connection was lost", method, n.name))
	}
	return n.world.db.call(n.session(), do)
}

func (n *node) session() *session {
	for _, s := range n.world.db.sessions() {
		if s.node == n {
			return s
		}
	}
	return nil
}

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
	s := watch.NewStore(base, watcher)
	number, err := s.NodeStart(ctx)
	if err != nil {
		return
	}
	var dispatcher *dispatch.Dispatcher
	runner := attempt.New(attempt.Config{
		Queue: s, Jobs: s, Client: (*targets)(n), Secrets: secrets{}, Logs: s, Metrics: measured, Log: log, Random: w.chance,
		CompletionURL: completionURL, Completions: s,
		LimitStarted: func(account int64, keys []string, until, at time.Time) {
			dispatcher.LimitStarted(account, keys, until, at)
		},
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
	operating = operation.New(operation.Config{Steps: svc, Metrics: measured, Log: log})
	keeper := &maintenance.Worker{Config: maintenance.Config{Store: s, Metrics: measured, Log: log, Retention: time.Hour}}
	n.mu.Lock()
	n.service = svc
	n.mu.Unlock()
	var parts sync.WaitGroup
	parts.Go(func() { keeper.Run(ctx) })
	parts.Go(func() { operating.Run(ctx) })
	parts.Go(func() { takeOver(ctx, recovery) })
	parts.Go(func() { runner.WatchCompletions(ctx) })
	parts.Go(func() { watcher.Run(ctx) })
	_ = dispatcher.Run(ctx, 30*time.Second)
	n.mu.Lock()
	n.service = nil
	n.mu.Unlock()
	parts.Wait()
}

// takeOver ends the attempts of other nodes that went away, once a second.
func takeOver(ctx context.Context, r *attempt.Recovery) {
	for ctx.Err() == nil {
		dispatch.Sleep(ctx, time.Second)
		if ctx.Err() == nil {
			_ = r.Run(ctx)
		}
	}
}

// secrets signs requests.
type secrets struct{}

func (secrets) SigningSecrets(context.Context, int64) ([]execute.Secret, error) {
	return []execute.Secret{execute.Secret("secret")}, nil
}

// targets answers a node's requests.
type targets node

// Prewarm implements attempt.Client. Targets need no connections.
func (t *targets) Prewarm(string, int) {}

// Do implements attempt.Client.
func (t *targets) Do(ctx context.Context, r execute.Request) job.Outcome {
	n, w, start := (*node)(t), t.world, time.Now()
	took := func(o job.Outcome) job.Outcome {
		o.Duration = time.Since(start)
		return o
	}
	h := newHit(&r)
	if w.sched.await(n, n.name, "request "+h.name) == perish {
		return took(stopped(execute.ErrInterrupted))
	}
	if err := context.Cause(ctx); err != nil {
		return took(stopped(err))
	}
	if r.Leave != nil && !r.Leave() {
		o := stopped(execute.ErrInterrupted)
		o.Failure.Unsent = true
		return took(o)
	}
	a := w.arrives(n, h)
	if r.Timeout > 0 && a.after > r.Timeout {
		pause(ctx, r.Timeout)
	} else {
		pause(ctx, a.after)
	}
	fate := w.sched.await(n, n.name, "response "+h.name)
	cause := context.Cause(ctx)
	switch {
	case fate == perish:
		cause = execute.ErrInterrupted
	case cause == nil && r.Timeout > 0 && a.after > r.Timeout:
		cause = context.DeadlineExceeded
	}
	w.leaves(h, cause)
	if cause != nil {
		return took(stopped(cause))
	}
	if a.status == 0 {
		return took(job.Outcome{Failure: &job.Failure{Kind: job.KindClosed, Message: "the target closed the connection"}})
	}
	return took(job.Outcome{Response: &job.Response{
		Status: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(a.body),
	}})
}

// stopped returns the outcome of an attempt that ended for a cause, as package
// execute does.
func stopped(cause error) job.Outcome {
	f := &job.Failure{Kind: job.KindInterrupted, Message: "the service stopped while the request was under way"}
	switch cause {
	case execute.ErrCancelled:
		f.Kind, f.Message = job.KindCancelled, "the job was cancelled while the request was under way"
	case context.DeadlineExceeded:
		f.Kind, f.Message = job.KindTimeout, "no response in the time allowed"
	}
	return job.Outcome{Failure: f}
}

// pause waits until ctx ends, at most for a time.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// newHit reads what a request says about itself.
func newHit(r *execute.Request) *hit {
	h := &hit{url: r.URL, message: r.MessageID, body: string(r.Body)}
	for _, f := range r.Own {
		switch f.Name {
		case "X-Punctual-Job-Id":
			h.job, _ = strconv.ParseInt(f.Value, 10, 64)
		case "X-Punctual-Attempt":
			h.attempt, _ = strconv.Atoi(f.Value)
		case "X-Punctual-Scheduled-At":
			h.scheduled, _ = time.Parse(time.RFC3339Nano, f.Value)
		case "X-Punctual-Complete":
			h.token = f.Value[len(completionURL):]
		}
	}
	h.action = actionOf(r.URL)
	h.name = fmt.Sprintf("%s #%d", r.URL, h.attempt)
	if h.job == 0 {
		h.name = r.URL + " " + eventOf(h.body)
	}
	return h
}
