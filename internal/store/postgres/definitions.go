package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// JobHolding implements store.Jobs.
func (s *Store) JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error) {
	var jobs []*job.Job
	err := s.readAs(ctx, pages, s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM jobs j `+joinItem+`
		WHERE j.account = (SELECT $1::bigint) AND j.number = (SELECT coalesce(
			(SELECT max(h.number) FROM jobs h WHERE h.account = (SELECT $1::bigint) AND h.key = $2 AND h.state <= 2),
			(SELECT l.number FROM (SELECT h.number, h.schedule_id FROM jobs h WHERE h.account = (SELECT $1::bigint) AND h.key = $2 ORDER BY h.number DESC LIMIT 1) l
				WHERE EXISTS (SELECT FROM schedules s WHERE s.account = (SELECT $1::bigint) AND s.id = l.schedule_id OFFSET 0)),
			(SELECT max(h.number) FROM jobs h WHERE h.account = (SELECT $1::bigint) AND h.key = $2 AND h.remembered_until > $3 AND h.held_until > $3)))`,
		[]any{owner.Number, text(key), s.Now().UnixMicro()}, &jobs))
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fault.NoSuch("job")
	}
	return jobs[0], nil
}

// ScheduleHolding implements store.Definitions.
func (s *Store) ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error) {
	var found *job.Schedule
	err := s.readAs(ctx, pages, schedulesOf(owner,
		`SELECT `+scheduleColumns+` FROM schedules s WHERE s.account = (SELECT $1::bigint) AND s.key = $2`,
		[]any{owner.Number, text(key)}, func(read *job.Schedule) { found = read }))
	if err == nil && found == nil {
		return nil, fault.NoSuch("schedule")
	}
	return found, err
}

// RunUnfinished implements store.Definitions.
func (s *Store) RunUnfinished(ctx context.Context, owner job.Owner, schedule uuid.UUID) (*job.Job, error) {
	var jobs []*job.Job
	err := s.readAs(ctx, pages, s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM jobs j `+joinItem+`
		WHERE j.account = (SELECT $1::bigint) AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.account = (SELECT $1::bigint) AND k.schedule_id = $2) AND j.state <= 2`,
		[]any{owner.Number, schedule}, &jobs))
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	return jobs[0], nil
}

// RunsEnded implements store.Definitions.
func (s *Store) RunsEnded(ctx context.Context, owner job.Owner, schedule uuid.UUID,
	look int) (latest *job.Job, states []job.State, err error) {
	var jobs []*job.Job
	err = s.readAs(ctx, pages, query{
		sql:  `SELECT j.state FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.schedule_id = $2 AND j.state >= 4 ORDER BY j.number DESC LIMIT $3`,
		args: []any{owner.Number, schedule, look}, start: func() { states = nil },
		row: func(rows pgx.Rows) error {
			var state job.State
			err := rows.Scan(&state)
			states = append(states, state)
			return err
		},
	}, s.jobsOf(owner, `SELECT `+jobColumns+`, `+noRun+` FROM jobs j
		WHERE j.account = (SELECT $1::bigint) AND j.schedule_id = $2 AND j.state >= 4 ORDER BY j.number DESC LIMIT 1`,
		[]any{owner.Number, schedule}, &jobs))
	if err == nil && len(jobs) > 0 {
		latest = jobs[0]
	}
	return latest, states, err
}

// JobTrail implements store.Jobs.
func (s *Store) JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error) {
	trail := &job.Trail{}
	count := func(sql string, to *int) query {
		return query{sql: sql, args: []any{owner.Number, number, job.MaxTrailCount},
			row: func(rows pgx.Rows) error { return rows.Scan(to) }}
	}
	err := s.readAs(ctx, pages, query{
		sql: `SELECT l.event, l.inserted_at, ` + cutText(`l`, `$4`, `$5`) + ` FROM (
				SELECT event, inserted_at, payload, packed, size, id FROM logs WHERE account = (SELECT $1::bigint) AND job = $2 AND inserted_at <= $6 AND event IN (1, 2, 3, 10) ORDER BY id DESC LIMIT $3) l
			ORDER BY l.id`,
		args:  []any{owner.Number, number, 3 * limit, job.AttemptHead, job.AttemptTail, s.Now().UnixMicro()},
		start: func() { trail.Logs = nil },
		row: func(rows pgx.Rows) error {
			var l job.AttemptLog
			var event int
			var text cutOf
			err := rows.Scan(append([]any{&event, timeOf{&l.At}}, text.targets()...)...)
			l.Event = events[event]
			l.Head, l.Tail = text.text(job.AttemptHead, job.AttemptTail)
			trail.Logs = append(trail.Logs, l)
			return err
		},
	}, count(`SELECT count(*) FROM (SELECT FROM deliveries WHERE account = (SELECT $1::bigint) AND job = $2 LIMIT $3) n`, &trail.Pending),
		count(`SELECT count(*) FROM (SELECT FROM logs WHERE account = (SELECT $1::bigint) AND job = $2 AND event IN (4, 5) LIMIT $3) n`,
			&trail.Failed),
		query{
			sql:  `SELECT number FROM jobs WHERE account = (SELECT $1::bigint) AND rerun_of = $2 ORDER BY number DESC LIMIT $3`,
			args: []any{owner.Number, number, limit}, start: func() { trail.Reruns = nil },
			row: func(rows pgx.Rows) error {
				var rerun int64
				err := rows.Scan(&rerun)
				trail.Reruns = append(trail.Reruns, rerun)
				return err
			},
		})
	if err != nil {
		return nil, err
	}
	return trail, nil
}
