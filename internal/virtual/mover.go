package virtual

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// MaxAdvance is how far one call moves the time.
	MaxAdvance = 400 * 24 * time.Hour
	// within is how long a call takes at most by the machine's clock.
	within = 20 * time.Second
	// The clock is moved to shortly before something is due, so that it is claimed in
	// time; and never further than stride at once, because what else the service looks for
	// now and then is not asked for.
	shortly = 10 * time.Millisecond
	stride  = time.Hour
	// What is due within soon may be claimed already: the engine claims ahead.
	soon = 150 * time.Millisecond
	// look is the pause between two looks at whether the service has done what is due.
	look = time.Millisecond
)

// Queue is what a Mover asks the store.
type Queue interface {
	QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error)
	LimitWakes(ctx context.Context, until time.Time, limit int) ([]store.LimitWake, error)
	CompletionsOverdue(ctx context.Context, limit int) ([]job.TokenHash, error)
	CompletionDeadline(ctx context.Context) (time.Time, error)
}

// Engine is what claims and fires queue items.
type Engine interface {
	// Busy reports whether anything is claimed or under way, or its outcome not stored.
	Busy() bool
	// TimeMoved is called after the time has been moved.
	TimeMoved()
}

// Mover moves the time of a service.
type Mover struct {
	Clock  *Clock
	Queue  Queue
	Engine Engine

	moving sync.Mutex
}

// Advance moves the time ahead by up to MaxAdvance. It stops at each time at which
// something is due, until the service has done it. So everything happens in order and at
// its time, and takes as long as the requests do. It returns the time at the end, and
// until when it was asked to move it: after a while it ends early. There is a Conflict
// fault if another call moves the time.
func (m *Mover) Advance(ctx context.Context, by time.Duration) (now, until time.Time, err error) {
	if !m.moving.TryLock() {
		return now, until, fault.New(fault.Conflict, "another call is moving the time; wait until it has ended")
	}
	defer m.moving.Unlock()
	until = m.Clock.Now().Add(by)
	for end := time.Now().Add(within); time.Now().Before(end); {
		next, err := m.next(ctx)
		if err != nil {
			return now, until, fmt.Errorf("finding what is due next: %w", err)
		}
		now = m.Clock.Now()
		switch {
		case next.IsZero():
			if !pause.For(ctx, look) {
				return now, until, ctx.Err()
			}
		case !now.Before(until):
			return now, until, nil
		default:
			m.Clock.moveTo(earliest(next.Add(-shortly), now.Add(stride), until))
			m.Engine.TimeMoved()
		}
	}
	return m.Clock.Now(), until, nil
}

// next returns when something is due next, far ahead if nothing is; the zero time while
// the service has something to do now. The store is asked before the engine and after it:
// an attempt that ended between the two may have stored a retry, which the first answer
// lacks. None began meanwhile, since nothing was due.
func (m *Mover) next(ctx context.Context) (next time.Time, err error) {
	for range 2 {
		if next, err = m.due(ctx); err != nil || next.Sub(m.Clock.Now()) <= soon || m.Engine.Busy() {
			return time.Time{}, err
		}
	}
	return next, nil
}

// due returns when something is due next by the store. The order matters: an overdue
// completion may become a job that waits for a limit, and that one a queue item. What moves
// on between two reads is then found by the later one.
func (m *Mover) due(ctx context.Context) (next time.Time, err error) {
	now := m.Clock.Now()
	next = now.Add(2 * MaxAdvance)
	overdue, err := m.Queue.CompletionsOverdue(ctx, 1)
	if err != nil || len(overdue) > 0 {
		return now, err
	}
	deadline, err := m.Queue.CompletionDeadline(ctx)
	if err != nil {
		return now, err
	}
	if !deadline.IsZero() {
		next = earliest(next, deadline)
	}
	wakes, err := m.Queue.LimitWakes(ctx, next, 1)
	if err != nil {
		return now, err
	}
	refs, err := m.Queue.QueuePeek(ctx, store.QueueKey{}, time.Time{}, 1)
	if len(wakes) > 0 {
		next = earliest(next, wakes[0].At)
	}
	if len(refs) > 0 {
		next = earliest(next, refs[0].Due)
	}
	return next, err
}

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.Before(first) {
			first = t
		}
	}
	return first
}
