package postgres

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func scanRef(rows pgx.Rows) (r store.QueueKey, err error) {
	err = rows.Scan(timeOf{&r.Due}, &r.Kind, &r.Number, &r.Account, &r.Lane, &r.Revision)
	return r, err
}

// QueuePeek implements store.Queue.
func (s *Store) QueuePeek(ctx context.Context, after store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	last := int64(math.MaxInt64)
	if !until.IsZero() {
		last = until.UnixMicro()
	}
	var refs []store.QueueKey
	err := s.read(ctx, query{
		sql: `(SELECT due, kind, number, account, lane, revision FROM runs WHERE (due, kind, number) > ($1::bigint, $2::smallint, $3::bigint)
				AND due <= $4::bigint AND node = 0 ORDER BY due, kind, number LIMIT $5)
			UNION ALL
			(SELECT due, kind, number, account, lane, revision FROM runs WHERE (due, kind, number) > ($1::bigint, $2::smallint, $3::bigint)
				AND due > $4::bigint AND node = 0 ORDER BY due, kind, number LIMIT 1)
			ORDER BY due, kind, number LIMIT $5`,
		args:  []any{after.Due.UnixMicro(), int16(after.Kind), after.Number, last, limit},
		start: func() { refs = nil },
		row: func(rows pgx.Rows) error {
			ref, err := scanRef(rows)
			refs = append(refs, ref)
			return err
		},
	})
	return refs, err
}

// QueueLoad implements store.Queue.
func (s *Store) QueueLoad(ctx context.Context, refs []store.QueueKey) ([]*store.QueueItem, error) {
	items := make([]*store.QueueItem, len(refs))
	if err := s.learnOwners(ctx, column(refs, func(r *store.QueueKey) int64 { return r.Account })); err != nil {
		return nil, err
	}
	l := loading{store: s, refs: refs, items: items}
	var queries []query
	if q, any := l.jobs(); any {
		queries = append(queries, q)
	}
	if q, any := l.deliveries(); any {
		queries = append(queries, q)
	}
	if len(queries) == 0 {
		return items, nil
	}
	if err := s.read(ctx, queries...); err != nil {
		return nil, err
	}
	return items, nil
}

// loading reads queue items for firing.
type loading struct {
	store *Store
	refs  []store.QueueKey
	items []*store.QueueItem
}

// of returns the positions and the keys of one kind.
func (l *loading) of(kind store.Kind) (places []int64, refs []store.QueueKey) {
	for i, ref := range l.refs {
		if ref.Kind == kind {
			places, refs = append(places, int64(i)), append(refs, ref)
		}
	}
	return places, refs
}

const refTable = `unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (due, kind, number, account, i)`

func (l *loading) jobs() (query, bool) {
	places, refs := l.of(store.KindJob)
	return query{
		sql: `SELECT u.i, s.id IS NOT NULL, ` + jobColumns + `, ` + runColumns + `,
				s.key, s.name, s.description, coalesce(s.inserted_at, 0), s.disabled_at, coalesce(s.first_due, 0), coalesce(s.epoch, 0), coalesce(s.hops, 0), coalesce(s.revision, 0), coalesce(s.runs, 0), coalesce(s.ended, ''), s.since, coalesce(s.failures, 0), s.failing_since, coalesce(s.failure, ''), coalesce(s.document, ''), s.args, s.state, s.previous,
				r.start_by, r.held_due, h.key, EXISTS (SELECT FROM limit_items i WHERE i.account = j.account AND i.number = j.number AND i.key = h.key OFFSET 0)
			FROM ` + refTable + ` JOIN jobs j ON j.account = u.account AND j.number = u.number AND j.due_at = u.due AND j.state <= 2 ` +
			joinItem + `
			LEFT JOIN schedules s ON s.account = j.account AND s.id = j.schedule_id
			LEFT JOIN limits h ON h.account = j.account AND h.key = 'host:' || j.host AND NOT h.deleted`,
		args: append(refColumns(refs), places),
		row: func(rows pgx.Rows) error {
			var i int64
			var recurs bool
			var r jobRow
			sched := &job.Schedule{}
			var startBy, ownDue time.Time
			var hostKey *string
			var covered bool
			targets := append(append([]any{&i, &recurs}, r.targets()...), scheduleTargets(sched)[2:]...)
			targets = append(targets, timeOf{&startBy}, timeOf{&ownDue}, &hostKey, &covered)
			if err := rows.Scan(targets...); err != nil {
				return err
			}
			item := &store.QueueItem{QueueKey: l.refs[i], Job: r.job, Claim: r.claim()}
			item.Attempt, item.StartBy, item.OwnDue = r.job.Attempt, startBy, ownDue
			if hostKey == nil {
				hostKey = new(string)
			}
			item.Needs(*hostKey, covered)
			r.job.Owner, _ = l.store.owners.get(item.Account)
			if recurs {
				sched.ID, sched.Owner = r.job.ScheduleID, r.job.Owner
				item.Schedule = sched
			}
			l.items[i] = item
			return nil
		},
	}, len(refs) > 0
}

func (l *loading) deliveries() (query, bool) {
	places, refs := l.of(store.KindDelivery)
	return query{
		sql: `SELECT u.i, d.message, d.job, d.job_attempt, d.channel, d.url, d.event, d.attempt, d.due, d.body, d.parts,
				coalesce(j.hops, 0), j.trace, r.attempt, r.node, r.begin_at
			FROM ` + refTable + ` JOIN deliveries d ON d.account = u.account AND d.number = u.number AND d.due = u.due
			JOIN runs r ON r.due = d.due AND r.kind = 1 AND r.number = d.number AND r.account = d.account
			LEFT JOIN jobs j ON j.account = d.account AND j.number = d.job`,
		args: append(refColumns(refs), places),
		row: func(rows pgx.Rows) error {
			var i int64
			var held store.ClaimInfo
			d := &job.Delivery{}
			err := rows.Scan(&i, &d.MessageID, &d.Job, &d.JobAttempt, &d.Channel, &d.URL, &d.Event, &d.Attempt, timeOf{&d.DueAt},
				jsonOf{&d.Body}, keptParts{&d.Parts}, &d.Hops, &d.Trace,
				&held.Attempt, &held.Node, timeOf{&held.StartAt})
			if err != nil {
				return err
			}
			item := &store.QueueItem{QueueKey: l.refs[i], Delivery: d, Attempt: held.Attempt}
			d.Number = item.Number
			d.Owner, _ = l.store.owners.get(item.Account)
			if held.Node > 0 {
				item.Claim = &held
			}
			l.items[i] = item
			return nil
		},
	}, len(refs) > 0
}

// QueueHeld implements store.Queue.
func (s *Store) QueueHeld(ctx context.Context, node int64, claims []store.Claim) ([]store.ClaimStatus, error) {
	holdings := make([]store.ClaimStatus, len(claims))
	if len(claims) == 0 {
		return holdings, nil
	}
	held, current := make([]bool, len(claims)), make([]bool, len(claims))
	queries := []query{{
		sql: `SELECT c.i FROM ` + claimTable + ` JOIN runs r ON r.due = c.due AND r.kind = c.kind AND r.number = c.number AND r.account = c.account
			WHERE r.node = (SELECT $6::bigint) AND r.attempt = c.attempt`,
		args: append(claimColumns(claims), node),
		row:  marks(held),
	}}
	if slices.ContainsFunc(claims, ofSchedule) {
		queries = append(queries, unchangedSchedules(claims, current))
	}
	if err := s.read(ctx, queries...); err != nil {
		return nil, err
	}
	for i, c := range claims {
		switch {
		case !held[i]:
		case ofSchedule(c) && !current[i]:
			holdings[i] = store.HeldOutdated
		default:
			holdings[i] = store.Held
		}
	}
	return holdings, nil
}

func ofSchedule(c store.Claim) bool { return c.Schedule.ID != uuid.Nil }

// unchangedSchedules sets for each claim whether its schedule is as it was.
func unchangedSchedules(claims []store.Claim, unchanged []bool) query {
	return query{
		sql: `SELECT c.i FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS c (account, id, revision, epoch, i)
			CROSS JOIN LATERAL (SELECT revision, epoch FROM schedules s WHERE s.account = c.account AND s.id = c.id OFFSET 0) s
			WHERE s.revision = c.revision AND s.epoch = c.epoch`,
		args: []any{
			column(claims, func(c *store.Claim) int64 { return c.Account }),
			column(claims, func(c *store.Claim) uuid.UUID { return c.Schedule.ID }),
			column(claims, func(c *store.Claim) int64 { return c.Schedule.Revision }),
			column(claims, func(c *store.Claim) int64 { return c.Schedule.Epoch }),
		},
		row: marks(unchanged),
	}
}

// marks returns a row function that reads positions and sets them.
func marks(set []bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var i int64
		err := rows.Scan(&i)
		if err == nil {
			set[i-1] = true
		}
		return err
	}
}

const claimTable = `unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::integer[]) WITH ORDINALITY AS c (due, kind, number, account, attempt, i)`

func claimColumns(claims []store.Claim) []any {
	refs := column(claims, func(c *store.Claim) store.QueueKey { return c.QueueKey })
	return append(refColumns(refs), column(claims, func(c *store.Claim) int { return c.Attempt }))
}

// QueueAbandoned implements store.Queue. A node expires others' leases only after
// it has been connected for a while, so that after an outage of the server all
// nodes have time to send a heartbeat.
func (s *Store) QueueAbandoned(ctx context.Context, limit int) ([]store.Abandoned, error) {
	if s.contact.steady(expireAfter) && !(s.free(ctx, dutySilent) && s.free(ctx, dutyCancels)) {
		if err := s.expireLeases(ctx); err != nil {
			return nil, err
		}
	}
	var found []store.Abandoned
	err := s.read(ctx, query{
		// The conditions on the node are those of the index runs_held; the highest number is
		// store.AwaitingNode. Only the gaps between live nodes are read: while an old
		// transaction is open, the index has an entry for each claim that they made since.
		// Without its order, the subquery would read the whole index for each gap.
		sql: `SELECT r.* FROM (
				SELECT coalesce(lag(number) OVER (ORDER BY number), 0) AS low, number AS high
				FROM (SELECT number FROM nodes UNION ALL SELECT 9223372036854775807) n) gap
			CROSS JOIN LATERAL (
				SELECT due, kind, number, account, lane, node, attempt FROM runs
				WHERE node > 0 AND node < 9223372036854775807 AND node > gap.low AND node < gap.high ORDER BY node LIMIT $1) r
			LIMIT $1`,
		args:  []any{limit},
		start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			var a store.Abandoned
			err := rows.Scan(timeOf{&a.Due}, &a.Kind, &a.Number, &a.Account, &a.Lane, &a.Node, &a.Attempt)
			found = append(found, a)
			return err
		},
	})
	return found, err
}

// QueueCounts implements store.Queue.
func (s *Store) QueueCounts(ctx context.Context) (map[store.Kind]int64, error) {
	counts := map[store.Kind]int64{}
	err := s.read(ctx, query{
		sql: `SELECT kind, count(*) FROM runs WHERE due <= $1 AND node = 0 GROUP BY kind`, args: []any{s.Now().UnixMicro()},
		row: func(rows pgx.Rows) error {
			var kind store.Kind
			var n int64
			err := rows.Scan(&kind, &n)
			counts[kind] = n
			return err
		},
	})
	return counts, err
}
