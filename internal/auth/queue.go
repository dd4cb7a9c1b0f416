package auth

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// maxWaiting is how many callers may wait for a hash to be computed, and
	// maxWaitingOfOne how many of one network.
	maxWaiting      = 256
	maxWaitingOfOne = 8
)

// queue lets few computations run at once. Who waits does so in a line of their
// network, and the lines take turns: a stranger who sends many sign-ins waits for
// the own ones, not everybody for the stranger's.
type queue struct {
	mu      sync.Mutex
	free    int // computations that may begin
	waiting int
	lines   []*line // with somebody in them, in the order of their turns
}

// line is who waits of one network.
type line struct {
	network string
	waiters []*waiter
}

// waiter is one caller that waits.
type waiter struct {
	called  chan struct{} // closed when it is its turn, or never will be
	refused bool          // set before called is closed
}

// newQueue makes a queue for computations that take a processor each: half of
// the processors are left to what has to be on time.
func newQueue() *queue { return &queue{free: max(1, runtime.GOMAXPROCS(0)/2)} }

// do runs a computation for a network when it is its turn; a TooMany fault when
// too many wait.
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

// enter takes a computation that may begin, or a place in the network's line; w
// is nil for the former.
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

// line returns a network's line; nil when nobody of it waits. Called with mu held.
func (q *queue) line(network string) *line {
	i := slices.IndexFunc(q.lines, func(l *line) bool { return l.network == network })
	if i < 0 {
		return nil
	}
	return q.lines[i]
}

// turnAway refuses the last of a line that has more than one. Called with mu held.
func (q *queue) turnAway(l *line) {
	last := len(l.waiters) - 1
	w := l.waiters[last]
	l.waiters = slices.Delete(l.waiters, last, last+1)
	q.waiting--
	w.refused = true
	close(w.called)
}

// leave ends a computation: the first of the line whose turn it is begins.
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

// give gives a place in a line up; false when it is the waiter's turn already.
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
