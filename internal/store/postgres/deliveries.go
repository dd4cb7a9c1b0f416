package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// insertDeliveries stores deliveries. An event waits, without a queue item,
// until the one before it has been attempted. The job's unattempted events are
// locked first, so that the previous event can't end unnoticed meanwhile.
func insertDeliveries(t *tx, deliveries []*job.Delivery) []query {
	if len(deliveries) == 0 {
		return nil
	}
	type row = *job.Delivery
	type jobKey struct{ account, number int64 }
	var accounts, jobs []int64 // of webhooks
	seen := map[jobKey]bool{}
	later := make([]bool, len(deliveries)) // follows another event of the same job in this call
	for i, d := range deliveries {
		if d.Channel != job.Webhook {
			continue
		}
		k := jobKey{d.Owner.Number, d.Job}
		if later[i] = seen[k]; !later[i] {
			accounts, jobs = append(accounts, k.account), append(jobs, k.number)
		}
		seen[k] = true
	}
	var queries []query
	if len(jobs) > 0 {
		queries = append(queries, query{
			sql: `SELECT FROM deliveries d JOIN unnest($1::bigint[], $2::bigint[]) AS u (account, job) ON d.account = u.account AND d.job = u.job
				WHERE d.channel = 2 AND d.attempt = 0 ORDER BY d.account, d.number FOR UPDATE OF d`,
			args: []any{accounts, jobs},
		})
	}
	return append(queries, query{
		sql: `WITH n AS (
			SELECT nextval('delivery_numbers') AS number, u.*, CASE WHEN u.channel = 2 AND (u.later OR EXISTS (
					SELECT FROM deliveries d WHERE d.account = u.account AND d.job = u.job AND d.channel = 2 AND d.attempt = 0 OFFSET 0))
				THEN NULL ELSE u.begin_at END AS due
			FROM (SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::integer[], $5::smallint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[], $12::boolean[])
				WITH ORDINALITY AS u (account, message, job, job_attempt, channel, lane, url, event, begin_at, body, parts, later, i) ORDER BY i) u),
		stored AS (
			INSERT INTO deliveries (account, number, message, job, job_attempt, channel, lane, url, event, attempt, due, begin_at, body, parts)
			SELECT account, number, message, job, job_attempt, channel, lane, url, event, 0, due, begin_at, body, parts FROM n),
		queued AS (
			INSERT INTO runs (due, kind, number, account, lane, attempt)
			SELECT due, 1, number, account, lane, 0 FROM n WHERE due IS NOT NULL)
		SELECT i, number, lane, due IS NOT NULL FROM n ORDER BY i`,
		args: []any{
			column(deliveries, func(d *row) int64 { return (*d).Owner.Number }),
			column(deliveries, func(d *row) string { return text((*d).MessageID) }),
			column(deliveries, func(d *row) int64 { return (*d).Job }), column(deliveries, func(d *row) int { return (*d).JobAttempt }),
			column(deliveries, func(d *row) int16 { return int16((*d).Channel) }),
			column(deliveries, func(d *row) int64 { return int64(job.Lane((*d).URL)) }),
			column(deliveries, func(d *row) string { return text((*d).URL) }),
			column(deliveries, func(d *row) string { return text((*d).Event) }),
			column(deliveries, func(d *row) int64 { return (*d).DueAt.UnixMicro() }),
			column(deliveries, func(d *row) *string { return jsonText((*d).Body) }),
			column(deliveries, func(d *row) *string { return orNull(job.FormatParts((*d).Parts)) }), later,
		},
		row: func(rows pgx.Rows) error {
			var i, number int64
			var lane uint32
			var ready bool
			if err := rows.Scan(&i, &number, &lane, &ready); err != nil {
				return err
			}
			d := deliveries[i-1]
			d.Number = number
			if ready {
				t.refs = append(t.refs, store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: number}, Due: d.DueAt,
					Account: d.Owner.Number, Lane: lane})
			}
			return nil
		},
	})
}

// deliveryEnd is the outcome of an attempt at a delivery, with the stored fields.
type deliveryEnd struct {
	store.QueueKey
	store.DeliveryEnd
	job     int64
	channel job.Channel
	tried   int // attempts before this one
}

// endDeliveries stores the outcomes of attempts. After the first attempt at an
// event it releases the job's next event.
func endDeliveries(t *tx, ends []deliveryEnd) []query {
	if len(ends) == 0 {
		return nil
	}
	var again []queued
	var done, released []deliveryEnd
	for _, e := range ends {
		if e.Again.IsZero() {
			done = append(done, e)
		} else {
			ref := e.QueueKey
			ref.Due = e.Again
			again = append(again, queued{ref, e.DeliveryEnd.Attempt})
		}
		if e.ReleasesNext(e.channel, e.tried) {
			released = append(released, e)
		}
	}
	var queries []query
	if len(done) > 0 {
		queries = append(queries, query{
			sql: `DELETE FROM deliveries d USING unnest($1::bigint[], $2::bigint[]) AS u (account, number) WHERE d.account = u.account AND d.number = u.number`,
			args: []any{
				column(done, func(e *deliveryEnd) int64 { return e.Account }), column(done, func(e *deliveryEnd) int64 { return e.Number }),
			},
		})
	}
	if len(again) > 0 {
		queries = append(queries, query{
			sql: `UPDATE deliveries d SET attempt = u.attempt, due = u.due FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[]) AS u (account, number, attempt, due)
				WHERE d.account = u.account AND d.number = u.number`,
			args: []any{
				column(again, func(q *queued) int64 { return q.Account }), column(again, func(q *queued) int64 { return q.Number }),
				column(again, func(q *queued) int { return q.attempt }), column(again, func(q *queued) int64 { return q.Due.UnixMicro() }),
			},
		})
		queries = append(queries, insertItems(t, again)...)
	}
	return append(queries, releaseNext(t, released)...)
}

// releaseNext creates the queue items of the earliest waiting events of jobs.
func releaseNext(t *tx, released []deliveryEnd) []query {
	if len(released) == 0 {
		return nil
	}
	return []query{{
		sql: `WITH n AS (
			SELECT x.* FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[]) AS u (account, job)) u CROSS JOIN LATERAL (
				SELECT d.account, d.number, d.lane, greatest(d.begin_at, $3) AS due FROM deliveries d
				WHERE d.account = u.account AND d.job = u.job AND d.channel = 2 AND d.attempt = 0 AND d.due IS NULL ORDER BY d.number LIMIT 1) x),
		turned AS (UPDATE deliveries d SET due = n.due FROM n WHERE d.account = n.account AND d.number = n.number),
		queued AS (INSERT INTO runs (due, kind, number, account, lane, attempt) SELECT due, 1, number, account, lane, 0 FROM n)
		SELECT due, number, account, lane FROM n`,
		args: []any{
			column(released, func(e *deliveryEnd) int64 { return e.Account }),
			column(released, func(e *deliveryEnd) int64 { return e.job }),
			t.now.UnixMicro(),
		},
		row: func(rows pgx.Rows) error {
			ref := store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery}}
			err := rows.Scan(timeOf{&ref.Due}, &ref.Number, &ref.Account, &ref.Lane)
			t.refs = append(t.refs, ref)
			return err
		},
	}}
}
