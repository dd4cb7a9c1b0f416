package records

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Revisions implements store.Definitions. The transactions that change records store
// them.
func (r *Records) Revisions(ctx context.Context, owner job.Owner, record uuid.UUID) (found []*job.Revision, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL:  `SELECT revision, changed_at, actor, changes FROM revisions WHERE account = $1 AND record = $2 ORDER BY revision DESC LIMIT $3`,
		Args: []any{owner.Number, record, job.MaxRevisions}, Start: func() { found = nil },
		Row: func(row Row) error {
			v := &job.Revision{Record: record, Owner: owner}
			found = append(found, v)
			return scan(row, &v.Number, &v.At, &v.By, &v.Changes)
		},
	})
	return found, err
}
