package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// insertRevision adds an edit to the history of a record and deletes the oldest
// beyond job.MaxRevisions.
func (t *tx) insertRevision(r *job.Revision) error {
	err := t.exec(`INSERT INTO revisions (account, record, revision, changed_at, actor, changes) VALUES (?, ?, ?, ?, ?, ?)`,
		r.Owner.Number, r.Record, r.Number, r.At, r.By, r.Changes)
	if err == nil {
		err = t.exec(`DELETE FROM revisions WHERE account = ? AND record = ? AND revision <= ?`, r.Owner.Number, r.Record, r.Number-job.MaxRevisions)
	}
	if err != nil {
		return fmt.Errorf("storing a revision: %w", err)
	}
	return nil
}

// deleteRevisions deletes the history of a record that was deleted.
func (t *tx) deleteRevisions(account int64, record uuid.UUID) error {
	if err := t.exec(`DELETE FROM revisions WHERE account = ? AND record = ?`, account, record); err != nil {
		return fmt.Errorf("deleting revisions: %w", err)
	}
	return nil
}

// editedJob returns the account and the id of a job that was edited; uuid.Nil if
// it was not.
func (t *tx) editedJob(number int64) (account int64, id uuid.UUID, err error) {
	err = t.query(`SELECT account, id FROM jobs WHERE number = ? AND revision > 1`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		account, id = c.int64(), c.uuid()
		return nil
	}, number)
	return account, id, err
}

// Revisions implements store.Definitions.
func (s *Store) Revisions(ctx context.Context, owner job.Owner, record uuid.UUID) ([]*job.Revision, error) {
	var found []*job.Revision
	err := s.readAs(ctx, single, func(t *tx) error {
		found = nil
		return t.query(`SELECT revision, changed_at, actor, changes FROM revisions WHERE account = ? AND record = ? ORDER BY revision DESC LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				r := &job.Revision{Record: record, Owner: owner, Number: c.int64(), At: c.time()}
				r.By, r.Changes = c.json(), c.json()
				found = append(found, r)
				return nil
			}, owner.Number, record, job.MaxRevisions)
	})
	return found, err
}
