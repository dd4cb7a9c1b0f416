package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// watchPause is the pause between two probes of the server, answerWithin the
	// usual timeout of a probe. Its retry has half of that.
	watchPause   = 250 * time.Millisecond
	answerWithin = time.Second
	// patienceStep is the step in which the time for a response is measured.
	patienceStep = 50 * time.Millisecond
)

var (
	errDown    = errors.New("the database does not respond")
	errStandby = errors.New("the database has become a standby")
	// errReplaced is of a server that has not noticed that another one was promoted.
	errReplaced   = errors.New("another server has become the primary")
	errClosed     = errors.New("its connections were closed")
	errUnanswered = fmt.Errorf("no response in time: %w", context.DeadlineExceeded)
)

// contact records whether the server responds.
type contact struct {
	mu    sync.Mutex
	up    bool
	since time.Time // when it last came up, or was found overloaded
	cause error     // why it is down
	lost  context.Context
	lose  context.CancelCauseFunc
	heard atomic.Int64 // when a call had its last response, by awake
}

func newContact() *contact {
	c := &contact{}
	c.found()
	return c
}

func (c *contact) found() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up {
		return
	}
	c.up, c.since = true, time.Now()
	c.lost, c.lose = context.WithCancelCause(context.Background())
}

// gone cancels all calls under way and reports whether the state has changed.
func (c *contact) gone(cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = cause
	if !c.up {
		return false
	}
	c.up = false
	c.lose(errors.Join(errDown, cause))
	return true
}

func (c *contact) down() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.up
}

// steady reports whether the server has responded for a while.
func (c *contact) steady(while time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up && time.Since(c.since) >= while
}

// bound returns a context that also ends after a time and when the server stops
// responding. It returns an Unavailable fault if the server is down now.
func (c *contact) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up {
		return nil, nil, fault.Unreachable(errors.Join(errDown, c.cause))
	}
	if ctx.Err() != nil {
		return nil, nil, fault.Unreachable(ctx.Err())
	}
	ctx, lose := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeout(ctx, limit)
	lost := c.lost // found replaces it
	stop := context.AfterFunc(lost, func() { lose(context.Cause(lost)) })
	return ctx, func() { stop(); cancel(); lose(nil) }, nil
}

// responded records that the server has responded to a call.
func (c *contact) responded() { c.heard.Store(int64(awake())) }

// overloaded reports whether a server that did not answer a probe is up, as it has responded
// to a call since a time of awake. It may not take other nodes' heartbeats in time, so it
// is not steady for a while.
func (c *contact) overloaded(since time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up || time.Duration(c.heard.Load()) <= since {
		return false
	}
	c.since = time.Now()
	return true
}

// patient returns a context that ends with errUnanswered when a server has had within to
// respond. Time is measured in steps, and a step that takes longer counts as one: this
// process did not run meanwhile, and nor may a server on the same machine. After is
// time.After.
func patient(ctx context.Context, within time.Duration, after func(time.Duration) <-chan time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	step := after(min(within, patienceStep))
	go func() {
		for left := within; left > 0; {
			select {
			case <-ctx.Done():
				return
			case <-step:
			}
			if left -= patienceStep; left > 0 {
				step = after(min(left, patienceStep))
			}
		}
		cancel(errUnanswered)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// watch probes the server until ctx ends, and at once when this process has registered
// a node: it may find that the one before it is gone.
func (s *Store) watch(ctx context.Context) {
	for {
		timer := time.NewTimer(s.nextProbe())
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.joined:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		s.look(ctx)
	}
}

// look reads the server's time, with one retry, and records whether it responds. A
// server that responds to other calls during the retry is overloaded, not down. While
// it does not respond, or does not commit, look first finds out which host is the
// primary.
func (s *Store) look(ctx context.Context) {
	within := s.answerWithin
	if down := s.contact.down(); down || s.hosts.doubted() {
		connecting := within
		if down {
			// The probe goes over a new connection. A server that is slow because it is
			// overloaded must not stay down.
			connecting, within = s.control.Config().ConnConfig.ConnectTimeout, connectTimeout+within
		}
		found, moved := s.findPrimary(ctx, connecting)
		if !found && down {
			return
		}
		if moved && s.contact.gone(errReplaced) {
			s.eachPool((*pgxpool.Pool).Reset)
		}
	}
	free, err := s.ask(ctx, within)
	retried := awake()
	if err != nil && ctx.Err() == nil {
		s.control.Reset() // the other idle connections are probably broken too
		free, err = s.ask(ctx, s.answerWithin/2)
	}
	if ended := s.judge(free); len(ended) > 0 {
		_ = s.expireVacant(ctx, ended) // they are still vacant at the next probe
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		s.contact.found()
	case errors.Is(err, errUnanswered) && s.contact.overloaded(retried):
	case s.contact.gone(err):
		s.eachPool((*pgxpool.Pool).Reset)
	}
}

// findPrimary asks all hosts of the URL which is the primary.
func (s *Store) findPrimary(ctx context.Context, within time.Duration) (found, moved bool) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.hosts.find(ctx, s.control.Config().ConnConfig)
}

// ask reads the server's time, and if this process has a node, which other nodes'
// locks are free. A server that accepts no writes counts as down.
func (s *Store) ask(ctx context.Context, within time.Duration) (free []int64, err error) {
	node := s.current()
	ctx, cancel := patient(ctx, within, s.after)
	defer cancel()
	defer func() {
		if err != nil && context.Cause(ctx) == errUnanswered {
			err = errUnanswered // err says only that the call was cancelled
		}
	}()
	conn, err := s.control.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	var now int64
	var standby, replicated bool
	sent := s.clock.elapsed()
	probe, args, into := `SELECT `+serverNow+`, pg_is_in_recovery(), current_setting('synchronous_standby_names') <> ''`, []any(nil),
		[]any{&now, &standby, &replicated}
	var found []bool
	if node != 0 {
		probe, into = probe+`, `+readDuties, append(into, &found)
	}
	if node != 0 && !s.pooled {
		probe, args, into = probe+`, ARRAY(`+vacantNodes+`)`, []any{[]int64{node}}, append(into, &free)
	}
	if err := conn.QueryRow(ctx, probe, args...).Scan(into...); err != nil {
		return nil, err
	}
	received := s.clock.elapsed()
	if standby {
		_ = conn.Conn().Close(ctx) // the connection leads to the wrong server
		return nil, errStandby
	}
	s.replicated.Store(replicated)
	if found != nil {
		s.dutyRead.Store(&dutyRead{sent, found})
	}
	s.clock.learn(sent, received, now)
	return free, nil
}

// serverNow is the server's time in microseconds.
const serverNow = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
