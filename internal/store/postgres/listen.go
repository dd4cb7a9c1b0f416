package postgres

import (
	"context"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// echoPause is the interval at which a node sends a notice to itself, and
	// echoWithin how long it may take to arrive. It shows whether notices arrive.
	echoPause  = 2 * time.Second
	echoWithin = 3 * time.Second
	// pollPause is the polling interval while notices don't arrive.
	pollPause = 100 * time.Millisecond
	// pollBack is how long before now items may be due that others stored since the last
	// poll. A periodic scan finds older ones.
	pollBack = 5 * time.Second
	// listenAgain is the pause between attempts to listen, listenRarely the pause
	// behind a pooler that blocks notices.
	listenAgain  = 500 * time.Millisecond
	listenRarely = time.Minute
)

// listen maintains a connection that receives notices, until ctx ends.
func (s *Store) listen(ctx context.Context) {
	for {
		heard, _ := s.listenOnce(ctx) // retried after any error
		s.setHearing(false)
		s.disconnected(ctx)
		rest := listenAgain
		switch {
		case heard:
			rest = 0
		case s.pooled:
			rest = listenRarely
		}
		if !pause.For(ctx, rest) {
			return
		}
	}
}

// listenOnce listens until the connection fails or goes silent, and reports
// whether it received any notice.
func (s *Store) listenOnce(ctx context.Context) (heard bool, err error) {
	opening, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	config := s.pools[engine].Config().ConnConfig
	if err := s.hosts.order(opening, config); err != nil {
		return false, err
	}
	conn, err := pgx.ConnectConfig(opening, config)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(opening)) }() // fails if the connection is broken
	if _, err := conn.Exec(opening, `LISTEN `+channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	ctx, stop := context.WithCancel(ctx)
	var echoing sync.WaitGroup
	echoing.Go(func() { s.echo(ctx) })
	defer echoing.Wait()
	defer stop()
	last := time.Now()
	for {
		wait, cancel := context.WithDeadline(ctx, last.Add(echoWithin))
		n, err := conn.WaitForNotification(wait)
		cancel()
		if err != nil {
			return heard, err
		}
		other, ok := parseNotice(n.Payload)
		switch {
		case !ok:
		case other.from == s.id:
			last, heard = time.Now(), true
			s.setHearing(true)
			if err := s.declare(ctx, conn); err != nil {
				return heard, err
			}
		default:
			s.hear(other)
		}
	}
}

// echo sends a notice to this process.
func (s *Store) echo(ctx context.Context) {
	payload := notice{from: s.id, due: math.MaxInt64}.payloads()
	for {
		_ = s.runControl(ctx, query{sql: `SELECT pg_notify('` + channel + `', p) FROM unnest($1::text[]) p`, args: []any{payload}})
		if !pause.For(ctx, echoPause) {
			return
		}
	}
}

// hear handles a notice of another process.
func (s *Store) hear(n notice) {
	if n.due != math.MaxInt64 {
		s.publish(store.Notice{EarliestElsewhere: time.UnixMicro(n.due).UTC()})
	}
	if n.cancels[alertsNode] {
		s.publish(store.Notice{Alerts: true})
	}
	for node := range n.cancels {
		if s.isOwn(node) {
			s.wakeCancels()
			return
		}
	}
}

// setHearing records whether notices arrive. When they start to arrive, it looks
// once for earlier changes.
func (s *Store) setHearing(hearing bool) {
	s.mu.Lock()
	news := hearing != s.hearing
	s.hearing = hearing
	s.mu.Unlock()
	if news {
		s.wakeCancels()
	}
}

func (s *Store) wakeCancels() {
	select {
	case s.mailbox <- struct{}{}:
	default:
	}
}

// readCancels reads the cancels for this process's nodes: after a notice of some,
// and periodically in case one was lost. While notices don't arrive, it polls and
// also makes the engine scan the queue.
func (s *Store) readCancels(ctx context.Context) {
	var passed []store.Cancelled
	for {
		s.mu.Lock()
		hearing := s.hearing
		s.mu.Unlock()
		rest := s.cancelsEvery
		if !hearing {
			rest = pollPause
		}
		noticed := pause.Woken(ctx, rest, s.mailbox)
		switch {
		case ctx.Err() != nil:
			return
		case !noticed && hearing && len(passed) == 0 && s.free(store.Routine(ctx), dutyCancels):
			continue
		}
		// The watcher detects failures, and the next round follows soon.
		if cancelled, err := s.takeCancels(ctx, passed); err == nil {
			if passed = cancelled; len(passed) > 0 {
				s.publish(store.Notice{Cancelled: passed})
			}
		}
		if !hearing {
			s.publish(store.Notice{EarliestElsewhere: s.Now().Add(-pollBack)})
		}
	}
}

// takeCancels reads the cancels for this process's nodes and deletes those that
// were passed to the engine. It does not delete the ones it reads, because the
// response to the commit may be lost.
func (s *Store) takeCancels(ctx context.Context, passed []store.Cancelled) ([]store.Cancelled, error) {
	s.mu.Lock()
	nodes := slices.Collect(maps.Keys(s.leases))
	s.mu.Unlock()
	if len(nodes) == 0 {
		return nil, nil
	}
	var cancelled []store.Cancelled
	queries := []query{{
		sql: `SELECT number, revision FROM cancels WHERE node = ANY($1) ORDER BY node, number`, args: []any{nodes},
		start: func() { cancelled = nil },
		row: func(rows pgx.Rows) error {
			var c store.Cancelled
			err := rows.Scan(&c.Number, &c.Revision)
			cancelled = append(cancelled, c)
			return err
		},
	}}
	if len(passed) > 0 {
		queries = append([]query{{sql: `DELETE FROM cancels c USING unnest($2::bigint[], $3::bigint[]) AS u (number, revision)
			WHERE c.node = ANY($1) AND c.number = u.number AND c.revision = u.revision`, args: []any{
			nodes, column(passed, func(c *store.Cancelled) int64 { return c.Number }),
			column(passed, func(c *store.Cancelled) int64 { return c.Revision }),
		}}}, queries...)
	}
	err := s.runControl(ctx, queries...)
	return cancelled, err
}
