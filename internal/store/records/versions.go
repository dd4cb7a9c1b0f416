package records

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// LogVersions implements store.Versions.
func (r *Records) LogVersions(ctx context.Context, owner job.Owner, limit int) (versions []store.LogVersion, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL:  `SELECT l.id, l.job, ` + payloadSize + ` FROM logs l WHERE l.account = $1 AND l.id < $2 ORDER BY l.id DESC LIMIT $3`,
		Args: []any{owner.Number, job.IDBound(r.engine.Now().Add(1000)), limit}, Start: func() { versions = nil },
		Row: func(row Row) error {
			var m store.LogVersion
			err := row.Scan(&m.ID, &m.Job, &m.Size)
			versions = append(versions, m)
			return err
		},
	})
	return versions, err
}
