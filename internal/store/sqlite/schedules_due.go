package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// heldMicros is the distance between an item's own due time and that of an item that
// limits hold, in microseconds. It is later than every own due time, so that due_at
// modulo heldMicros is the own one.
var heldMicros = store.HeldDue(time.UnixMicro(0)).UnixMicro()

// SchedulesDue implements store.Summaries.
func (s *Store) SchedulesDue(ctx context.Context, owner job.Owner, limit, look int) (*job.DueSchedules, error) {
	due := &job.DueSchedules{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		looked := 0
		err := t.query(`SELECT count(*) FROM (SELECT 1 FROM schedules INDEXED BY schedules_list WHERE account = ? LIMIT ?)`,
			func(stmt *sqlite.Stmt) error {
				looked = stmt.ColumnInt(0)
				return nil
			}, owner.Number, look+1)
		if err != nil {
			return err
		}
		found, err := t.dueSchedules(`SELECT n.id, n.name, j.due_at % ?
			FROM (SELECT id, name, disabled_at FROM schedules INDEXED BY schedules_list WHERE account = ? ORDER BY id LIMIT ?) n
			JOIN jobs j ON j.number = (SELECT k.number FROM jobs k INDEXED BY jobs_schedule WHERE k.schedule_id = n.id ORDER BY k.number DESC LIMIT 1)
			WHERE n.disabled_at IS NULL AND j.state <= 2 ORDER BY 3, n.id LIMIT ?`, heldMicros, owner.Number, look, limit)
		if err != nil {
			return err
		}
		due.Add(found, limit)
		if due.Partly = looked > look; !due.Partly {
			return nil
		}
		found, err = t.dueSchedules(`SELECT n.id, n.name, j.due_at
			FROM (SELECT number, account, kind FROM runs WHERE due < ? ORDER BY due LIMIT ?) r
			CROSS JOIN jobs j ON j.number = r.number CROSS JOIN schedules n ON n.id = j.schedule_id
			WHERE r.account = ? AND r.kind = 0 AND n.disabled_at IS NULL ORDER BY j.due_at, n.id LIMIT ?`, heldMicros, look, owner.Number,
			limit)
		due.Add(found, limit)
		return err
	})
	return due, err
}

// dueSchedules runs a query for ids, names and due times.
func (t *tx) dueSchedules(sql string, args ...any) (found []job.DueSchedule, err error) {
	err = t.query(sql, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		found = append(found, job.DueSchedule{ID: c.uuid(), Name: c.optional(), DueAt: c.time()})
		return nil
	}, args...)
	return found, err
}
