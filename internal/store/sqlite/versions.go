package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// selectVersions selects the columns that scanVersion reads. SQLite knows the length
// of args without reading them.
const selectVersions = `SELECT j.number, j.id, j.account, j.state, j.inserted_at, j.scheduled_at, j.due_at, j.attempted_at, ` + jobArgsSize +
	`,
	coalesce(r.node, 0), r.begin_at` + fromJobs

func (t *tx) scanVersion(stmt *sqlite.Stmt) (m store.JobVersion, account int64) {
	c := &columns{stmt: stmt}
	m.Number, m.ID = c.int64(), c.uuid()
	account = c.int64()
	m.State = job.State(c.int())
	m.InsertedAt, m.ScheduledAt, m.DueAt, m.AttemptedAt, m.Size = c.time(), c.time(), c.time(), c.time(), c.int()
	if node, begin := c.int64(), c.time(); node > 0 && !begin.After(t.now) {
		m.State, m.AttemptedAt = job.Executing, begin
	}
	return m, account
}

// versions returns the versions of the owner's jobs with the given numbers.
func (t *tx) versions(owner job.Owner, numbers []int64) (versions []store.JobVersion, err error) {
	err = eachRow(t, selectVersions+`WHERE j.number = ?`, numbers, 0, func(stmt *sqlite.Stmt) (int, error) {
		if m, account := t.scanVersion(stmt); account == owner.Number {
			versions = append(versions, m)
		}
		return 0, nil
	})
	return versions, err
}

// JobVersions implements store.Versions.
func (s *Store) JobVersions(ctx context.Context, owner job.Owner, limit int) (versions []store.JobVersion, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		query, args := t.newestNumbers(owner, job.Query{ListQuery: job.ListQuery{Limit: limit}})
		numbers, err := t.numbers(query, args...)
		if err == nil {
			versions, err = t.versions(owner, numbers)
		}
		return err
	})
	return versions, err
}

// JobVersionsOf implements store.Versions.
func (s *Store) JobVersionsOf(ctx context.Context, owner job.Owner, ids []job.Ref) (versions []store.JobVersion, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		versions = nil
		for _, id := range ids {
			where, arg := jobIs(id)
			err := t.query(selectVersions+`WHERE `+where, func(stmt *sqlite.Stmt) error {
				if m, account := t.scanVersion(stmt); account == owner.Number {
					versions = append(versions, m)
				}
				return nil
			}, arg)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return versions, err
}

// JobVersionsEnded implements store.Versions.
func (s *Store) JobVersionsEnded(ctx context.Context, owner job.Owner, since time.Time, limit int,
) (versions []store.JobVersion, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		numbers, err := t.numbers(`SELECT number FROM (SELECT number, account FROM jobs INDEXED BY jobs_final
				WHERE coalesce(completed_at, cancelled_at, discarded_at) >= ? AND state >= 4
				ORDER BY coalesce(completed_at, cancelled_at, discarded_at) DESC LIMIT ?)
			WHERE account = ? LIMIT ?`, since, store.EndedLook, owner.Number, limit)
		if err == nil {
			versions, err = t.versions(owner, numbers)
		}
		return err
	})
	return versions, err
}

// LogGetMany implements store.Versions.
func (s *Store) LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) (logs []*job.Log, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		logs = nil
		for _, id := range ids {
			found, err := t.logsWhere(`l.account = ? AND l.id = ? AND l.inserted_at <= ?`, owner.Number, id, t.now)
			if err != nil {
				return err
			}
			logs = append(logs, found...)
		}
		return nil
	})
	return logs, err
}
