package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const scheduleColumns = `s.id, s.account, s.key, s.name, s.description, s.inserted_at, s.disabled_at, s.first_due, s.epoch, s.hops, s.revision, s.runs, s.ended, s.since, s.failures, s.failing_since, s.failure, s.document, s.args, s.state, s.previous`

func scheduleTargets(s *job.Schedule) []any {
	return []any{
		idOf{&s.ID}, &s.Owner.Number, &s.Key, &s.Name, &s.Description, timeOf{&s.InsertedAt}, timeOf{&s.DisabledAt},
		timeOf{&s.FirstDue}, &s.Epoch, &s.Hops, &s.Revision, &s.Runs, (*string)(&s.Ended), timeOf{&s.Since}, &s.Failures,
		timeOf{&s.FailingSince}, &s.Failure, &s.Document, definitionOf{s}, jsonOf{&s.State}, previousOf{s},
	}
}

// schedulesOf returns a query for an owner's schedules.
func schedulesOf(owner job.Owner, sql string, args []any, take func(*job.Schedule)) query {
	return query{sql: sql, args: args, row: func(rows pgx.Rows) error {
		found := &job.Schedule{}
		if err := rows.Scan(scheduleTargets(found)...); err != nil {
			return err
		}
		found.Owner = owner
		take(found)
		return nil
	}}
}

// lockSchedules returns a query that reads schedules and locks them.
func lockSchedules(where string, args []any, row func(pgx.Rows) error) query {
	return query{sql: `SELECT ` + scheduleColumns + ` FROM schedules s WHERE ` + where + ` ORDER BY s.account, s.id FOR NO KEY UPDATE`,
		args: args, row: row}
}

// ScheduleGet implements store.Schedules.
func (s *Store) ScheduleGet(ctx context.Context, owner job.Owner, which uuid.UUID) (*job.Schedule, error) {
	var found *job.Schedule
	err := s.readAs(ctx, pages, schedulesOf(owner,
		`SELECT `+scheduleColumns+` FROM schedules s WHERE s.account = (SELECT $1::bigint) AND s.id = $2`,
		[]any{owner.Number, which}, func(read *job.Schedule) { found = read }))
	if err == nil && found == nil {
		return nil, fault.NoSuch("schedule")
	}
	return found, err
}

// ScheduleChange implements store.Schedules.
func (s *Store) ScheduleChange(ctx context.Context, owner job.Owner, which uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	// A schedule's unfinished job is always its newest.
	const newest = `(SELECT max(k.number) FROM jobs k WHERE k.account = (SELECT $1::bigint) AND k.schedule_id = $2)`
	args := []any{owner.Number, which}
	var result *job.Schedule
	err := s.write(ctx, func(t *tx) error {
		m := &store.Snapshot{}
		c := &change{snapshot: m, owner: owner}
		err := t.run(
			lockSchedules(`s.account = (SELECT $1::bigint) AND s.id = $2`, args, c.readSchedule),
			c.lockItem(`SELECT j.due_at, j.number FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.number = `+newest, args),
			c.lockJob(`j.account = (SELECT $1::bigint) AND j.number = `+newest, args),
		)
		switch {
		case err != nil:
			return err
		case m.Schedule == nil:
			return fault.NoSuch("schedule")
		case m.Job != nil && m.Job.State.Final():
			m.Job = nil
		case c.moved():
			return errRetry
		}
		result = nil
		return c.execute(t, decide, schedulesOf(owner,
			`SELECT `+scheduleColumns+` FROM schedules s WHERE s.account = (SELECT $1::bigint) AND s.id = $2`,
			args, func(read *job.Schedule) { result = read }))
	})
	return result, err
}

// updateSchedules returns the queries that store the new values of schedules. Rows that
// would stay the same are not written: while an old transaction is open, all versions of
// a row stay, and each read of it looks at them.
func updateSchedules(schedules []*job.Schedule) []query {
	if len(schedules) == 0 {
		return nil
	}
	type row = *job.Schedule
	return []query{{
		sql: `UPDATE schedules s SET disabled_at = u.disabled_at, epoch = u.epoch, state = u.state, previous = u.previous,
				runs = u.runs, ended = u.ended, since = u.since, failures = u.failures, failing_since = u.failing_since, failure = u.failure
			FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[])
				AS u (account, id, disabled_at, epoch, state, previous, runs, ended, since, failures, failing_since, failure)
			WHERE s.account = u.account AND s.id = u.id
				AND (s.disabled_at, s.epoch, s.state, s.previous, s.runs, s.ended, s.since, s.failures, s.failing_since, s.failure)
				IS DISTINCT FROM (u.disabled_at, u.epoch, u.state, u.previous, u.runs, u.ended, u.since, u.failures, u.failing_since, u.failure)`,
		args: []any{
			column(schedules, func(s *row) int64 { return (*s).Owner.Number }),
			column(schedules, func(s *row) uuid.UUID { return (*s).ID }),
			column(schedules, func(s *row) *int64 { return micros((*s).DisabledAt) }),
			column(schedules, func(s *row) int64 { return (*s).Epoch }),
			column(schedules, func(s *row) *string { return jsonText((*s).State) }),
			column(schedules, func(s *row) *string { return jsonText(job.JoinPrevious(*s)) }),
			column(schedules, func(s *row) int64 { return (*s).Runs }),
			column(schedules, func(s *row) string { return string((*s).Ended) }),
			column(schedules, func(s *row) *int64 { return micros((*s).Since) }),
			column(schedules, func(s *row) int64 { return (*s).Failures }),
			column(schedules, func(s *row) *int64 { return micros((*s).FailingSince) }),
			column(schedules, func(s *row) string { return (*s).Failure }),
		},
	}}
}

func dropSchedules(schedules []*job.Schedule) []query {
	if len(schedules) == 0 {
		return nil
	}
	return []query{{
		sql: `WITH u AS (SELECT * FROM unnest($1::bigint[], $2::uuid[]) AS u (account, id)),
			history AS (DELETE FROM revisions r USING u WHERE r.account = u.account AND r.record = u.id),
			counted AS (DELETE FROM schedule_months m USING u WHERE m.account = u.account AND m.schedule = u.id)
			DELETE FROM schedules s USING u WHERE s.account = u.account AND s.id = u.id`,
		args: []any{
			column(schedules, func(s **job.Schedule) int64 { return (*s).Owner.Number }),
			column(schedules, func(s **job.Schedule) pgtype.UUID { return id((*s).ID) }),
		},
	}}
}
