package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// latestRun selects the newest jobs of a schedule by the index of runs, whatever the
// statistics say: the inequalities make the order by schedule_id one that only this
// index has, while an equality would permit a scan of all of the account's jobs.
const latestRun = ` FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.schedule_id >= n.id AND j.schedule_id <= n.id ORDER BY j.schedule_id DESC, j.number DESC LIMIT `

// heldMicros is the distance between an item's own due time and that of an item that
// limits hold, in microseconds. It is later than every own due time, so that due_at
// modulo heldMicros is the own one.
var heldMicros = store.HeldDue(time.UnixMicro(0)).UnixMicro()

// SchedulesDue implements store.Summaries.
func (s *Store) SchedulesDue(ctx context.Context, owner job.Owner, limit, look int) (*job.DueSchedules, error) {
	due := &job.DueSchedules{}
	looked := 0
	var found, queued []job.DueSchedule
	err := s.readAs(ctx, pages, query{
		sql:  `SELECT count(*) FROM (SELECT FROM schedules WHERE account = (SELECT $1::bigint) LIMIT $2) n`,
		args: []any{owner.Number, look + 1},
		row:  func(rows pgx.Rows) error { return rows.Scan(&looked) },
	}, dueSchedules(`SELECT n.id, n.name, j.due_at % $4
			FROM (SELECT id, name, disabled_at FROM schedules WHERE account = (SELECT $1::bigint) ORDER BY id LIMIT $2) n
			CROSS JOIN LATERAL (SELECT j.due_at, j.state`+latestRun+`1) j
			WHERE n.disabled_at IS NULL AND j.state <= 2 ORDER BY 3, n.id LIMIT $3`, &found, owner.Number, look, limit, heldMicros))
	if err != nil {
		return nil, err
	}
	due.Add(found, limit)
	if due.Partly = looked > look; !due.Partly {
		return due, nil
	}
	err = s.readAs(ctx, pages, dueSchedules(`SELECT n.id, n.name, j.due_at
			FROM (SELECT number, account, kind FROM runs WHERE due < $4 ORDER BY due LIMIT $2) r
			CROSS JOIN LATERAL (SELECT due_at, schedule_id FROM jobs WHERE account = (SELECT $1::bigint) AND number = r.number OFFSET 0) j
			CROSS JOIN LATERAL (SELECT id, name FROM schedules WHERE account = (SELECT $1::bigint) AND id = j.schedule_id AND disabled_at IS NULL OFFSET 0) n
			WHERE r.account = (SELECT $1::bigint) AND r.kind = 0 ORDER BY j.due_at, n.id LIMIT $3`, &queued, owner.Number, look, limit,
		heldMicros))
	due.Add(queued, limit)
	return due, err
}

// dueSchedules returns a query for ids, names and due times.
func dueSchedules(sql string, found *[]job.DueSchedule, args ...any) query {
	return query{sql: sql, args: args, start: func() { *found = nil }, row: func(rows pgx.Rows) error {
		var d job.DueSchedule
		err := rows.Scan(idOf{&d.ID}, &d.Name, timeOf{&d.DueAt})
		*found = append(*found, d)
		return err
	}}
}
