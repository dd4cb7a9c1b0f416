package auth

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// maxWaiting is how many callers may wait for a hash; maxWaitingOfOne is how
	// many of one network may.
	maxWaiting      = 256
	maxWaitingOfOne = 8
)

// queue limits how many computations run at once. Each network has its own line
// of waiting callers, and the lines take turns, so that a client that sends many
// sign-ins delays only its own network.
type queue struct {
	mu      sync.Mutex
	free    int // computations that may start
	waiting int
	lines   []*line // the non-empty lines, in the order of their turns
}

// line is the waiting callers of one network.
type line struct {
	network string
	waiters []*waiter
}

// waiter is a waiting caller.
type waiter struct {
	called  chan struct{} // closed when it is the waiter's turn, or when it is refused
	refused bool          // set before called is closed
}

// newQueue returns a queue for computations that use a processor each. It leaves
// half of the processors to jobs.
func newQueue() *queue { return &queue{free: max(1, runtime.GOMAXPROCS(0)/2)} }

// do waits for the network's turn and runs a computation. It returns a TooMany
// fault if too many callers wait.
func (q *queue) do(ctx context.Context, network string, compute func()) error {
	w, err := q.enter(network)
	if err != nil {
		return err
	}
	if w != nil {
		select {
		case <-w.called:
		case <-ctx.Done():
			if q.give(network, w) {
				return fault.Unreachable(ctx.Err())
			}
		}
		if w.refused {
			return crowded()
		}
	}
	defer q.leave()
	compute()
	return nil
}

func crowded() error {
	return &fault.Error{Code: fault.TooMany, Message: "too many people are signing in at once; try again in a moment", RetryAfter: tryAgain}
}

// enter takes a free slot and returns nil, or returns a waiter in the network's
// line.
func (q *queue) enter(network string) (w *waiter, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free > 0 {
		q.free--
		return nil, nil
	}
	own := q.line(network)
	length := 0
	if own != nil {
		length = len(own.waiters)
	}
	if length >= maxWaitingOfOne {
		return nil, crowded()
	}
	if q.waiting >= maxWaiting {
		longest := slices.MaxFunc(q.lines, func(a, b *line) int { return len(a.waiters) - len(b.waiters) })
		if len(longest.waiters) <= length+1 {
			return nil, crowded()
		}
		q.turnAway(longest)
	}
	if own == nil {
		own = &line{network: network}
		q.lines = append(q.lines, own)
	}
	w = &waiter{called: make(chan struct{})}
	own.waiters = append(own.waiters, w)
	q.waiting++
	return w, nil
}

// line returns a network's line, or nil if it has none. Called with mu held.
func (q *queue) line(network string) *line {
	i := slices.IndexFunc(q.lines, func(l *line) bool { return l.network == network })
	if i < 0 {
		return nil
	}
	return q.lines[i]
}

// turnAway refuses the last waiter of a line with more than one. Called with mu held.
func (q *queue) turnAway(l *line) {
	last := len(l.waiters) - 1
	w := l.waiters[last]
	l.waiters = slices.Delete(l.waiters, last, last+1)
	q.waiting--
	w.refused = true
	close(w.called)
}

// leave frees the slot of a finished computation and starts the first waiter of
// the next line.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines) == 0 {
		q.free++
		return
	}
	l := q.lines[0]
	w := l.waiters[0]
	l.waiters = slices.Delete(l.waiters, 0, 1)
	q.lines = slices.Delete(q.lines, 0, 1)
	if len(l.waiters) > 0 {
		q.lines = append(q.lines, l)
	}
	q.waiting--
	close(w.called)
}

// give removes a waiter from its line. It returns false if it is already the
// waiter's turn.
func (q *queue) give(network string, w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.line(network)
	if l == nil {
		return w.refused
	}
	i := slices.Index(l.waiters, w)
	if i < 0 {
		return w.refused
	}
	q.waiting--
	if l.waiters = slices.Delete(l.waiters, i, i+1); len(l.waiters) == 0 {
		q.lines = slices.DeleteFunc(q.lines, func(other *line) bool { return other == l })
	}
	return true
}
