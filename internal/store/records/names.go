package records

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// SchedulesNamed implements store.Summaries.
func (r *Records) SchedulesNamed(ctx context.Context, owner job.Owner, name string, limit int) (found []uuid.UUID, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL:   `SELECT id FROM schedules WHERE account = $1 AND name = $2 ORDER BY id DESC LIMIT $3`,
		Args:  []any{owner.Number, name, limit},
		Start: func() { found = nil },
		Row: func(row Row) error {
			var id uuid.UUID
			err := row.Scan(&id)
			found = append(found, id)
			return err
		},
	})
	return found, err
}

// ScheduleNames implements store.Summaries. Each schedule is a lookup of its own: for a
// list of keys PostgreSQL may read all schedules of the account.
func (r *Records) ScheduleNames(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	each, queries := make([]*named, len(ids)), make([]Query, len(ids))
	for i, id := range ids {
		queries[i] = Query{
			SQL:  `SELECT name FROM schedules WHERE account = $1 AND id = $2`,
			Args: []any{owner.Number, id}, Start: func() { each[i] = nil },
			Row: func(row Row) error {
				each[i] = &named{}
				return row.Scan(&each[i].name)
			},
		}
	}
	err := r.engine.Read(ctx, Pages, queries...)
	names := make(map[uuid.UUID]*string, len(ids))
	for i, found := range each {
		if found != nil {
			names[ids[i]] = found.name
		}
	}
	return names, err
}

// named is a schedule that exists.
type named struct{ name *string }
