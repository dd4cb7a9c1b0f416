package postgres

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// echoPause is how often a node tells itself something, and echoWithin how
	// long that may take to arrive: it says whether notices get through.
	echoPause  = 2 * time.Second
	echoWithin = 3 * time.Second
	// pollPause is how often a node looks for itself while they don't.
	pollPause = 100 * time.Millisecond
	// listenAgain lies between two tries to listen, listenRarely where a pooler
	// keeps notices from coming.
	listenAgain  = 500 * time.Millisecond
	listenRarely = time.Minute
)

// listen keeps a connection that hears what others tell, until ctx ends.
func (s *Store) listen(ctx context.Context) {
	for {
		heard, _ := s.listenOnce(ctx) // why it ended does not matter: it begins again
		s.setHearing(false)
		pause := listenAgain
		if s.pooled && !heard {
			pause = listenRarely
		}
		if !rest(ctx, pause) {
			return
		}
	}
}

// listenOnce listens until the connection fails or falls silent; it reports
// whether anything was heard.
func (s *Store) listenOnce(ctx context.Context) (heard bool, err error) {
	opening, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(opening, s.pools[engine].Config().ConnConfig)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(opening)) }() // a broken one can't be closed properly
	if _, err := conn.Exec(opening, `LISTEN `+channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		return false, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.echo(ctx)
	last := time.Now()
	for {
		wait, cancel := context.WithDeadline(ctx, last.Add(echoWithin))
		n, err := conn.WaitForNotification(wait)
		cancel()
		if err != nil {
			return heard, err
		}
		told, ok := parseNotice(n.Payload)
		switch {
		case !ok:
		case told.from == s.id:
			last, heard = time.Now(), true
			s.setHearing(true)
		default:
			s.hear(told)
		}
	}
}

// echo tells this process something every now and then.
func (s *Store) echo(ctx context.Context) {
	payload := notice{from: s.id, due: math.MaxInt64}.payloads()
	for {
		_ = s.brief(ctx, query{sql: `SELECT pg_notify('` + channel + `', p) FROM unnest($1::text[]) p`, args: []any{payload}})
		if !rest(ctx, echoPause) {
			return
		}
	}
}

// hear takes in what another process told.
func (s *Store) hear(n notice) {
	if n.due != math.MaxInt64 {
		s.tell(store.Notice{EarliestElsewhere: time.UnixMicro(n.due).UTC()})
	}
	for node := range n.cancels {
		if s.isOwn(node) {
			s.checkMail()
			return
		}
	}
}

// setHearing notes whether notices arrive. What was told before they did is
// looked for once.
func (s *Store) setHearing(hearing bool) {
	s.mu.Lock()
	news := hearing != s.hearing
	s.hearing = hearing
	s.mu.Unlock()
	if news {
		s.checkMail()
	}
}

func (s *Store) checkMail() {
	select {
	case s.mailbox <- struct{}{}:
	default:
	}
}

// readMail reads the cancels for this process's nodes: when it was told of
// some, now and then in case that was lost, and all the time while nothing is
// told, when it also has the queue read anew.
func (s *Store) readMail(ctx context.Context) {
	var told []int64
	for {
		pause := store.HeartbeatInterval
		s.mu.Lock()
		if !s.hearing {
			pause = pollPause
		}
		s.mu.Unlock()
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.mailbox:
		case <-timer.C:
		}
		timer.Stop()
		// A failure is found out by the watcher; the next round comes soon.
		if cancelled, err := s.takeCancels(ctx, told); err == nil {
			if told = cancelled; len(told) > 0 {
				s.tell(store.Notice{Cancelled: told})
			}
		}
		if pause == pollPause {
			s.tell(store.Notice{EarliestElsewhere: s.Now()})
		}
	}
}

// takeCancels reads the cancels for this process's nodes and deletes those that
// have been told: not before, since a commit may come through unanswered.
func (s *Store) takeCancels(ctx context.Context, told []int64) ([]int64, error) {
	s.mu.Lock()
	nodes := slices.Collect(maps.Keys(s.leases))
	s.mu.Unlock()
	if len(nodes) == 0 {
		return nil, nil
	}
	var cancelled []int64
	queries := []query{{
		sql: `SELECT number FROM cancels WHERE node = ANY($1) ORDER BY node, number`, args: []any{nodes},
		start: func() { cancelled = nil },
		row: func(rows pgx.Rows) error {
			var number int64
			err := rows.Scan(&number)
			cancelled = append(cancelled, number)
			return err
		},
	}}
	if len(told) > 0 {
		queries = append([]query{{sql: `DELETE FROM cancels WHERE node = ANY($1) AND number = ANY($2)`, args: []any{nodes, told}}}, queries...)
	}
	err := s.brief(ctx, queries...)
	return cancelled, err
}
