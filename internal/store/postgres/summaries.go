package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ScheduleRuns implements store.Summaries.
func (s *Store) ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID,
	limit int) (map[uuid.UUID][]job.RunSummary, error) {
	var runs map[uuid.UUID][]job.RunSummary
	now := s.Now()
	err := s.readAs(ctx, pages, query{
		sql: `SELECT n.id, g.* FROM unnest($2::uuid[]) AS n (id) CROSS JOIN LATERAL (
			SELECT j.number, j.state, j.scheduled_at, j.due_at, j.attempted_at, coalesce(j.completed_at, j.cancelled_at, j.discarded_at),
				(SELECT l.inserted_at FROM logs l WHERE l.account = (SELECT $1::bigint) AND l.job = j.number AND l.event = 1 AND l.inserted_at <= $4 ORDER BY l.id LIMIT 1),
				coalesce(r.node, 0), r.begin_at
			FROM (SELECT *` + latestRun + `$3) j ` + joinItem + `) g ORDER BY n.id, g.number DESC`,
		args: []any{owner.Number, schedules, limit, now.UnixMicro()}, start: func() { runs = map[uuid.UUID][]job.RunSummary{} },
		row: func(rows pgx.Rows) error {
			var schedule uuid.UUID
			var g job.RunSummary
			var node int64
			var begin time.Time
			err := rows.Scan(idOf{&schedule}, &g.Number, &g.State, timeOf{&g.ScheduledAt}, timeOf{&g.DueAt}, timeOf{&g.AttemptedAt},
				timeOf{&g.EndedAt},
				timeOf{&g.StartedAt}, &node, timeOf{&begin})
			g.DueAt, _ = store.OwnDue(g.DueAt)
			if node > 0 && !begin.After(now) {
				g.State, g.AttemptedAt = job.Executing, begin
			}
			runs[schedule] = append(runs[schedule], g)
			return err
		},
	})
	return runs, err
}

// JobsDue implements store.Summaries.
func (s *Store) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error) {
	var looked, pending, ofRuns, ofPending int
	var first, second []int64
	from, to := s.Now().UnixMicro(), before.UnixMicro()
	err := s.readAs(ctx, pages,
		query{
			sql: `SELECT count(*), count(*) FILTER (WHERE n.mine), coalesce((array_agg(n.number ORDER BY n.due, n.number) FILTER (WHERE n.mine))[:$5], '{}')
				FROM (SELECT r.number, r.due, r.account = (SELECT $1::bigint) AND r.kind = 0 AS mine FROM runs r WHERE r.due >= $2 AND r.due < $3 ORDER BY r.due LIMIT $4) n`,
			args: []any{owner.Number, from, to, look, limit},
			row:  func(rows pgx.Rows) error { return rows.Scan(&looked, &ofRuns, &first) },
		},
		query{
			sql: `SELECT count(*), count(*) FILTER (WHERE n.soon), coalesce((array_agg(n.number ORDER BY n.due_at, n.number) FILTER (WHERE n.soon))[:$5], '{}')
				FROM (SELECT p.number, p.due_at, p.due_at >= $2 AND p.due_at < $3 AS soon FROM (
					(SELECT j.number, j.due_at FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.state >= 1 AND j.state <= 1 ORDER BY j.state, j.number LIMIT $4)
					UNION ALL (SELECT j.number, j.due_at FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.state >= 2 AND j.state <= 2 ORDER BY j.state, j.number LIMIT $4)) p) n`,
			args: []any{owner.Number, from, to, look, limit},
			row:  func(rows pgx.Rows) error { return rows.Scan(&pending, &ofPending, &second) },
		})
	if err != nil {
		return nil, err
	}
	due := &job.DueJobs{Count: ofRuns, Partly: looked >= look}
	if due.Partly && pending < look {
		due.Count, due.Partly, first = ofPending, false, second
	}
	c := &condition{}
	inner := c.numbered(`SELECT u.number FROM unnest(?::bigint[]) AS u (number)`, first)
	err = s.readAs(ctx, pages, s.boundedJobs(c, owner, inner, job.PageBytes, &due.Jobs))
	return due, err
}
