package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// claimWithin is how long after its creation a claim may take effect. A caller
// that times out later can be sure that it won't take effect any more.
const claimWithin = writeWithin - 500*time.Millisecond

// waitForLock bounds how long a claim waits for rows that are locked. Locks are waited
// for in the order of the queue, as elsewhere.
var waitForLock = query{sql: `SELECT set_config('lock_timeout', '50ms', true)`}

// QueueClaim implements store.Queue. It passes over rows that others have locked at
// the moment, unless a claim waits for them. A node whose lease has expired claims nothing, because other
// nodes would take the claims for its abandoned attempts.
func (s *Store) QueueClaim(ctx context.Context, node int64, claims []store.Claim) ([]bool, error) {
	var got []bool
	if len(claims) == 0 {
		return got, nil
	}
	deadline := s.Now().Add(claimWithin)
	err := s.write(ctx, func(t *tx) error {
		got = make([]bool, len(claims))
		q := []query{s.claimItems(node, claims, deadline, got)}
		if waits(claims) {
			q = []query{waitForLock, q[0]}
		}
		if !anyMore(claims) {
			return unlessLocked(t.commit(q...))
		}
		if err := t.run(q...); err != nil {
			return unlessLocked(err)
		}
		var deliveries []*job.Delivery
		var completions []*job.Completion
		for i := range claims {
			if got[i] && claims[i].Completion != nil {
				completions = append(completions, claims[i].Completion)
			}
			for k := range claims[i].Deliveries {
				if got[i] {
					deliveries = append(deliveries, &claims[i].Deliveries[k])
				}
			}
		}
		return t.commit(append(insertDeliveries(t, deliveries), insertCompletions(completions)...)...)
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

// waits reports whether one of the claims waits for locks.
func waits(claims []store.Claim) bool {
	return slices.ContainsFunc(claims, func(c store.Claim) bool { return c.Wait })
}

// unlessLocked returns nil for the error of waiting too long for a lock: the claims had
// no effect, and are made again later.
func unlessLocked(err error) error {
	if code(err) == "55P03" {
		return nil
	}
	return err
}

// anyMore reports whether claims store more than logs.
func anyMore(claims []store.Claim) bool {
	for i := range claims {
		if len(claims[i].Deliveries) > 0 || claims[i].Completion != nil {
			return true
		}
	}
	return false
}

// claimItems claims queue items and stores their request logs.
func (s *Store) claimItems(node int64, claims []store.Claim, deadline time.Time, got []bool) query {
	var none job.Log
	log := func(c *store.Claim) *job.Log {
		if c.Log == nil {
			return &none
		}
		return c.Log
	}
	type row = store.Claim
	lock := `FOR UPDATE OF r SKIP LOCKED`
	if waits(claims) {
		lock = `ORDER BY r.due, r.kind, r.number FOR UPDATE OF r`
	}
	payloads := packTexts(s, claims, func(c *row) rawjson.Value { return log(c).Payload })
	return query{
		sql: `WITH c AS (
			SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::integer[],
				$6::bigint[], $7::uuid[], $8::bigint[], $9::smallint[], $10::bigint[], $11::text[], $14::bigint[], $15::bytea[], $16::smallint[])
			WITH ORDINALITY AS c (due, kind, number, account, attempt, begin_at, log, job, event, inserted_at, payload, revision, packed, size, i)),
		open AS (
			SELECT DISTINCT ON (due, kind, number, account) l.* FROM (
				SELECT c.* FROM c JOIN runs r ON r.due = c.due AND r.kind = c.kind AND r.number = c.number AND r.account = c.account
				WHERE r.node = 0 AND r.attempt = c.attempt - 1 AND (c.kind <> 0 OR r.revision = c.revision) AND ` + serverNow +
			` < $13 AND EXISTS (SELECT FROM nodes WHERE number = $12)
				` + lock + `) l
			ORDER BY due, kind, number, account, i),
		claimed AS (
			UPDATE runs r SET node = $12, attempt = o.attempt, begin_at = o.begin_at, log = o.log FROM open o
			WHERE r.due = o.due AND r.kind = o.kind AND r.number = o.number AND r.account = o.account
			RETURNING o.i, o.account, o.log, o.job, o.event, o.inserted_at, o.payload, o.packed, o.size),
		logged AS (
			INSERT INTO logs (account, id, job, event, inserted_at, payload, packed, size)
			SELECT account, log, job, event, inserted_at, payload, packed, size FROM claimed WHERE log IS NOT NULL)
		SELECT i FROM claimed`,
		args: append(claimColumns(claims),
			column(claims, func(c *row) int64 { return c.StartAt.UnixMicro() }),
			column(claims, func(c *row) pgtype.UUID { return id(log(c).ID) }),
			column(claims, func(c *row) int64 { return log(c).Job }),
			column(claims, func(c *row) int16 { return eventNumber(log(c).Event) }),
			column(claims, func(c *row) int64 { return log(c).InsertedAt.UnixMicro() }), payloads.plain,
			node, deadline.UnixMicro(), column(claims, func(c *row) int64 { return c.Revision }), payloads.packed, payloads.sizes),
		row: marks(got),
	}
}

// QueueRelease implements store.Queue.
func (s *Store) QueueRelease(ctx context.Context, node int64, claims []store.Claim) error {
	if len(claims) == 0 {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		var attempts []prepared
		err := t.run(query{
			sql: `WITH held AS (
				SELECT r.due, r.kind, r.number, r.account, r.lane, r.attempt, r.log, r.begin_at FROM ` + claimTable + ` JOIN runs r
					ON r.due = c.due AND r.kind = c.kind AND r.number = c.number AND r.account = c.account
				WHERE r.node = (SELECT $6::bigint) AND r.attempt = c.attempt ORDER BY r.due, r.kind, r.number FOR UPDATE OF r),
			released AS (
				UPDATE runs r SET node = 0, attempt = h.attempt - 1, begin_at = NULL, log = NULL FROM held h
				WHERE r.due = h.due AND r.kind = h.kind AND r.number = h.number AND r.account = h.account)
			SELECT due, kind, number, account, lane, attempt, log, begin_at FROM held`,
			args: append(claimColumns(claims), node),
			row: func(rows pgx.Rows) error {
				var ref store.QueueKey
				var p prepared
				err := rows.Scan(timeOf{&ref.Due}, &ref.Kind, &ref.Number, &ref.Account, &ref.Lane, &p.attempt, idOf{&p.log},
					timeOf{&p.startAt})
				t.foreign = append(t.foreign, ref)
				if ref.Kind == store.KindJob {
					p.account, p.number = ref.Account, ref.Number
					attempts = append(attempts, p)
				}
				return err
			},
		})
		if err != nil {
			return err
		}
		return t.commit(rollbackClaims(attempts)...)
	})
}
