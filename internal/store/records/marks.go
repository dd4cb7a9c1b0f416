package records

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// LogMarks implements store.Marks.
func (r *Records) LogMarks(ctx context.Context, owner job.Owner, limit int) (marks []store.LogMark, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL:  `SELECT l.id, l.job, ` + payloadSize + ` FROM logs l WHERE l.account = $1 AND l.id < $2 ORDER BY l.id DESC LIMIT $3`,
		Args: []any{owner.Number, job.IDBound(r.engine.Now().Add(1000)), limit}, Start: func() { marks = nil },
		Row: func(row Row) error {
			var m store.LogMark
			err := row.Scan(&m.ID, &m.Job, &m.Size)
			marks = append(marks, m)
			return err
		},
	})
	return marks, err
}
