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
