package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// createOnce is create, unless the request was answered before. It remembers it then.
func (t *tx) createOnce(n store.NewJob, args *storedArgs, changed *replacements) (store.Inserted, error) {
	r := n.Request
	if r == nil {
		return t.create(n, args, changed)
	}
	selected := selectJobs
	if n.Brief {
		selected = selectBrief
	}
	known, err := t.requested(selected, n.Job.Owner, r.ID)
	if err != nil || known.Repeated {
		if known.Job != nil {
			changed.read += job.Size(known.Job)
		}
		return known, err
	}
	created, err := t.create(n, args, changed)
	if err != nil || !r.Answers(&created) {
		return created, err
	}
	err = t.exec(`INSERT INTO requests (account, id, digest, job, expires_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (account, id) DO UPDATE SET digest = excluded.digest, job = excluded.job, expires_at = excluded.expires_at`,
		n.Job.Owner.Number, r.ID, r.Digest, created.Job.ID, r.Until)
	if err != nil {
		err = fmt.Errorf("remembering a request: %w", err)
	}
	return created, err
}

// requested returns what is remembered of a request; zero if there is nothing. See
// snapshotOf for selected.
func (t *tx) requested(selected string, owner job.Owner, id uuid.UUID) (store.Inserted, error) {
	var known store.Inserted
	var answer uuid.UUID
	err := t.query(`SELECT digest, job FROM requests WHERE account = ? AND id = ? AND expires_at > ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		known = store.Inserted{Conflict: true, Repeated: true, Digest: c.blob()}
		answer = c.uuid()
		return nil
	}, owner.Number, id, t.now)
	if err != nil || !known.Repeated {
		return known, err
	}
	m, err := t.snapshotOf(selected, `j.id = ?`, answer[:])
	if err == nil && m.Job != nil && m.Job.Owner.Number == owner.Number {
		known.Job = t.shown(m.Job, m.Claim)
	}
	return known, err
}

// JobRequested implements store.Requests.
func (s *Store) JobRequested(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]store.Inserted, error) {
	var known []store.Inserted
	err := s.readAs(ctx, single, func(t *tx) (err error) {
		known = make([]store.Inserted, len(ids))
		for i := range ids {
			if known[i], err = t.requested(selectBrief, owner, ids[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

func (t *tx) copyRequests(r *store.Records) error {
	for _, q := range r.Requests {
		err := t.exec(`INSERT INTO requests (account, id, digest, job, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (account, id) DO NOTHING`,
			q.Account, q.ID[:], q.Digest, q.Job[:], q.ExpiresAt)
		if err != nil {
			return err
		}
	}
	return nil
}
