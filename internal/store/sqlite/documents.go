package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// DocumentEntries implements store.Definitions.
func (s *Store) DocumentEntries(ctx context.Context, owner job.Owner, document string) ([]job.DocumentEntry, error) {
	var entries []job.DocumentEntry
	err := s.readAs(ctx, single, func(t *tx) (err error) {
		entries, err = t.documentEntries(owner.Number, document)
		return err
	})
	return entries, err
}

func (t *tx) documentEntries(account int64, document string) ([]job.DocumentEntry, error) {
	var entries []job.DocumentEntry
	err := t.query(`SELECT id, key, revision FROM schedules INDEXED BY schedules_document
		WHERE account = ? AND document = ? AND document <> '' AND key IS NOT NULL ORDER BY key`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		entries = append(entries, job.DocumentEntry{ID: c.uuid(), Key: c.text(), Revision: c.int64()})
		return nil
	}, account, document)
	if err != nil {
		return nil, fmt.Errorf("reading the schedules of a document: %w", err)
	}
	return entries, nil
}

// ScheduleKeyed implements store.Definitions.
func (s *Store) ScheduleKeyed(ctx context.Context, owner job.Owner, document *string, after string, limit int) ([]*job.Schedule, error) {
	where, args := `s.key IS NOT NULL`, []any{owner.Number, after}
	if document != nil {
		where, args = `s.key IS NOT NULL AND s.document = ? AND s.document <> ''`, append(args, *document)
	}
	var found []*job.Schedule
	err := s.readAs(ctx, single, func(t *tx) error {
		found = nil
		size := 0
		return t.query(`SELECT `+scheduleColumns+` FROM schedules s WHERE s.account = ? AND s.key > ? AND `+where+` ORDER BY s.key LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				one, err := t.scanSchedule(stmt)
				if err != nil || size > job.PageBytes {
					return err
				}
				size += job.ScheduleSize(one)
				found = append(found, one)
				return nil
			}, append(args, limit)...)
	})
	return found, err
}
