package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// lockDocument returns a query that lets calls which apply documents of one owner
// take turns.
func lockDocument(owner job.Owner, document string) query {
	return query{sql: `SELECT pg_advisory_xact_lock(hashtextextended($2, ~$1::bigint))`, args: []any{owner.Number, text(document)}}
}

// documentEntries returns a query for the schedules of an owner of documents.
func documentEntries(owner job.Owner, document string, entries *[]job.DocumentEntry) query {
	*entries = nil
	return query{
		sql: `SELECT s.id, s.key, s.revision FROM schedules s
			WHERE s.account = (SELECT $1::bigint) AND s.document = $2 AND s.document <> '' AND s.key IS NOT NULL ORDER BY s.key COLLATE "C"`,
		args: []any{owner.Number, text(document)},
		row: func(rows pgx.Rows) error {
			var e job.DocumentEntry
			err := rows.Scan(idOf{&e.ID}, &e.Key, &e.Revision)
			*entries = append(*entries, e)
			return err
		},
	}
}

// DocumentEntries implements store.Definitions.
func (s *Store) DocumentEntries(ctx context.Context, owner job.Owner, document string) ([]job.DocumentEntry, error) {
	var entries []job.DocumentEntry
	err := s.readAs(ctx, pages, documentEntries(owner, document, &entries))
	return entries, err
}

// ScheduleKeyed implements store.Definitions.
func (s *Store) ScheduleKeyed(ctx context.Context, owner job.Owner, document *string, after string, limit int) ([]*job.Schedule, error) {
	where, args := `s.key IS NOT NULL`, []any{owner.Number, text(after), limit}
	if document != nil {
		where, args = `s.key IS NOT NULL AND s.document = $4 AND s.document <> ''`, append(args, text(*document))
	}
	var found []*job.Schedule
	size := 0
	err := s.readAs(ctx, pages, schedulesOf(owner, `SELECT `+scheduleColumns+` FROM schedules s
		WHERE s.account = (SELECT $1::bigint) AND s.key COLLATE "C" > $2 AND `+where+` ORDER BY s.key COLLATE "C" LIMIT $3`, args,
		func(one *job.Schedule) {
			if size <= job.PageBytes {
				found, size = append(found, one), size+job.ScheduleSize(one)
			}
		}))
	return found, err
}
