package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobsAhead implements store.Summaries. It reads the queue, where items that limits
// hold are at a distance from the others: each step has two ranges.
func (s *Store) JobsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, limit, look, pending int) ([]job.DueStep, error) {
	edges := column(bounds, func(t *time.Time) int64 { return t.UnixMicro() })
	var steps []job.DueStep
	err := s.readAs(ctx, pages, dueSteps(`SELECT e.step, q.mine, q.looked >= $3, q.numbers, q.dues
		FROM generate_series(1, cardinality($2::bigint[]) - 1) AS e (step) CROSS JOIN (VALUES (0::bigint), ($5::bigint)) AS h (held)
		CROSS JOIN LATERAL (SELECT count(*) AS looked, count(*) FILTER (WHERE n.mine) AS mine,
				coalesce((array_agg(n.number ORDER BY n.due, n.number) FILTER (WHERE n.mine))[:$4], '{}') AS numbers,
				coalesce((array_agg(n.due - h.held ORDER BY n.due, n.number) FILTER (WHERE n.mine))[:$4], '{}') AS dues
			FROM (SELECT r.number, r.due, r.account = (SELECT $1::bigint) AND r.kind = 0 AS mine FROM runs r
				WHERE r.due >= ($2::bigint[])[e.step] + h.held AND r.due < ($2::bigint[])[e.step + 1] + h.held ORDER BY r.due LIMIT $3) n) q`,
		&steps, len(edges)-1, limit, owner.Number, edges, look, limit, heldMicros))
	if err != nil {
		return nil, err
	}
	if job.AnyPartly(steps) {
		if steps, err = s.pendingAhead(ctx, owner, edges, limit, pending, steps); err != nil {
			return nil, err
		}
	}
	return steps, s.describeDue(ctx, owner, steps)
}

// dueSteps returns a query for parts of steps: the step from 1 on, how many jobs,
// whether there may be more, and the numbers and due times of the first.
func dueSteps(sql string, steps *[]job.DueStep, n, limit int, args ...any) query {
	return query{sql: sql, args: args, start: func() { *steps = make([]job.DueStep, n) }, row: func(rows pgx.Rows) error {
		var step, count int
		var partly bool
		var numbers, dues []int64
		if err := rows.Scan(&step, &count, &partly, &numbers, &dues); err != nil {
			return err
		}
		first := make([]job.DueJob, len(numbers))
		for i, number := range numbers {
			first[i] = job.DueJob{Number: number, DueAt: time.UnixMicro(dues[i]).UTC()}
		}
		(*steps)[step-1].Add(count, partly, first, limit)
		return nil
	}}
}

// pendingAhead reads the owner's pending jobs in place of the queue. If there are too
// many, it returns known.
func (s *Store) pendingAhead(ctx context.Context, owner job.Owner, edges []int64, limit, pending int,
	known []job.DueStep) ([]job.DueStep, error) {
	var steps []job.DueStep
	looked := 0
	const of = `(SELECT j.number, j.due_at % $4 AS due FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.state = `
	err := s.readAs(ctx, pages, query{
		sql:  `SELECT count(*) FROM ((SELECT FROM jobs WHERE account = (SELECT $1::bigint) AND state = 1 LIMIT $2) UNION ALL (SELECT FROM jobs WHERE account = (SELECT $1::bigint) AND state = 2 LIMIT $2)) n`,
		args: []any{owner.Number, pending}, row: func(rows pgx.Rows) error { return rows.Scan(&looked) },
	})
	if err != nil || looked >= pending {
		return known, err
	}
	err = s.readAs(ctx, pages, dueSteps(`SELECT b.step, count(*), false, (array_agg(b.number ORDER BY b.due, b.number))[:$5], (array_agg(b.due ORDER BY b.due, b.number))[:$5]
		FROM (SELECT p.number, p.due, width_bucket(p.due, $2::bigint[]) AS step FROM (
			`+of+`1 LIMIT $3) UNION ALL `+of+`2 LIMIT $3)) p) b
		WHERE b.step BETWEEN 1 AND cardinality($2::bigint[]) - 1 GROUP BY b.step`, &steps, len(edges)-1, limit, owner.Number, edges,
		pending, heldMicros, limit))
	return steps, err
}

// describeDue reads the fields of the jobs in steps.
func (s *Store) describeDue(ctx context.Context, owner job.Owner, steps []job.DueStep) error {
	var found map[int64]job.DueJob
	err := s.readAs(ctx, pages, query{
		sql: `SELECT n.number, j.name, j.schedule_id, coalesce(j.host, '') FROM unnest($2::bigint[]) AS n (number)
			CROSS JOIN LATERAL (SELECT name, schedule_id, host FROM jobs WHERE account = (SELECT $1::bigint) AND number = n.number OFFSET 0) j`,
		args: []any{owner.Number, job.DueNumbers(steps)}, start: func() { found = map[int64]job.DueJob{} },
		row: func(rows pgx.Rows) error {
			var d job.DueJob
			err := rows.Scan(&d.Number, &d.Name, idOf{&d.ScheduleID}, &d.Host)
			found[d.Number] = d
			return err
		},
	})
	job.DescribeDue(steps, found)
	return err
}
