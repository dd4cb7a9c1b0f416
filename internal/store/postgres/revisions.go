package postgres

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// insertRevisions adds edits to the histories of records and deletes the oldest
// beyond job.MaxRevisions.
func insertRevisions(revisions []*job.Revision) []query {
	if len(revisions) == 0 {
		return nil
	}
	type row = *job.Revision
	accounts, records := column(revisions, func(r *row) int64 { return (*r).Owner.Number }),
		column(revisions, func(r *row) uuid.UUID { return (*r).Record })
	numbers := column(revisions, func(r *row) int64 { return (*r).Number })
	return []query{{
		sql: `INSERT INTO revisions (account, record, revision, changed_at, actor, changes)
			SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])`,
		args: []any{
			accounts, records, numbers, column(revisions, func(r *row) int64 { return (*r).At.UnixMicro() }),
			column(revisions, func(r *row) *string { return jsonText((*r).By) }),
			column(revisions, func(r *row) *string { return jsonText((*r).Changes) }),
		},
	}, {
		sql: `DELETE FROM revisions r USING unnest($1::bigint[], $2::uuid[], $3::bigint[]) AS u (account, record, revision)
			WHERE r.account = u.account AND r.record = u.record AND r.revision <= u.revision - $4`,
		args: []any{accounts, records, numbers, job.MaxRevisions},
	}}
}
