package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// selectMarks selects the columns that scanMark reads. SQLite knows the length
// of args without reading them.
const selectMarks = `SELECT j.number, j.id, j.account, j.state, j.inserted_at, j.scheduled_at, j.due_at, j.attempted_at, ` + jobArgsSize +
	`,
	coalesce(r.node, 0), r.begin_at` + fromJobs

func (t *tx) scanMark(stmt *sqlite.Stmt) (m store.JobMark, account int64) {
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

// marks returns the marks of the owner's jobs with the given numbers.
func (t *tx) marks(owner job.Owner, numbers []int64) (marks []store.JobMark, err error) {
	err = eachRow(t, selectMarks+`WHERE j.number = ?`, numbers, 0, func(stmt *sqlite.Stmt) (int, error) {
		if m, account := t.scanMark(stmt); account == owner.Number {
			marks = append(marks, m)
		}
		return 0, nil
	})
	return marks, err
}

// JobMarks implements store.Marks.
func (s *Store) JobMarks(ctx context.Context, owner job.Owner, limit int) (marks []store.JobMark, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		query, args := t.newestNumbers(owner, job.Query{ListQuery: job.ListQuery{Limit: limit}})
		numbers, err := t.numbers(query, args...)
		if err == nil {
			marks, err = t.marks(owner, numbers)
		}
		return err
	})
	return marks, err
}

// JobMarksOf implements store.Marks.
func (s *Store) JobMarksOf(ctx context.Context, owner job.Owner, ids []job.Ref) (marks []store.JobMark, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		marks = nil
		for _, id := range ids {
			where, arg := jobIs(id)
			err := t.query(selectMarks+`WHERE `+where, func(stmt *sqlite.Stmt) error {
				if m, account := t.scanMark(stmt); account == owner.Number {
					marks = append(marks, m)
				}
				return nil
			}, arg)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return marks, err
}

// JobMarksEnded implements store.Marks.
func (s *Store) JobMarksEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) (marks []store.JobMark, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		numbers, err := t.numbers(`SELECT number FROM (SELECT number, account FROM jobs INDEXED BY jobs_final
				WHERE coalesce(completed_at, cancelled_at, discarded_at) >= ? AND state >= 4
				ORDER BY coalesce(completed_at, cancelled_at, discarded_at) DESC LIMIT ?)
			WHERE account = ? LIMIT ?`, since, store.EndedLook, owner.Number, limit)
		if err == nil {
			marks, err = t.marks(owner, numbers)
		}
		return err
	})
	return marks, err
}

// LogGetMany implements store.Marks.
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
