package sqlite

import (
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
		err = t.exec(`DELETE FROM revisions WHERE account = ? AND record = ? AND revision <= ?`, r.Owner.Number, r.Record,
			r.Number-job.MaxRevisions)
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
