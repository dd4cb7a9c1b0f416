package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const scheduleColumns = `s.id, s.account, s.key, s.name, s.description, s.inserted_at, s.disabled_at, s.first_due, s.epoch, s.hops, s.revision, s.runs, s.ended, s.since, s.failures, s.failing_since, s.failure, s.document, s.args, s.state, s.previous`

func (t *tx) scanSchedule(stmt *sqlite.Stmt) (*job.Schedule, error) {
	c := &columns{stmt: stmt}
	s := &job.Schedule{ID: c.uuid()}
	account := c.int64()
	s.Key, s.Name, s.Description = c.optional(), c.optional(), c.optional()
	s.InsertedAt, s.DisabledAt, s.FirstDue, s.Epoch, s.Hops, s.Revision = c.time(), c.time(), c.time(), c.int64(), c.int(), c.int64()
	s.Runs, s.Ended, s.Since = c.int64(), job.End(c.text()), c.time()
	s.Failures, s.FailingSince, s.Failure = c.int64(), c.time(), c.text()
	s.Document = c.text()
	s.Args, s.Hidden = job.SplitArgs(c.json())
	s.State = c.json()
	job.SplitPrevious(s, c.json())
	var err error
	s.Owner, err = t.owner(account)
	return s, err
}

// schedule returns a schedule; nil if there is none.
func (t *tx) schedule(id uuid.UUID) (*job.Schedule, error) {
	var s *job.Schedule
	err := t.query(`SELECT `+scheduleColumns+` FROM schedules s WHERE s.id = ?`, func(stmt *sqlite.Stmt) (err error) {
		s, err = t.scanSchedule(stmt)
		return err
	}, id)
	return s, err
}

func (t *tx) insertSchedule(s *job.Schedule) error {
	_, tags := labels(s.Args)
	err := t.exec(`INSERT INTO schedules (id, account, key, name, description, inserted_at, first_due, epoch, hops, document, args, tags)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.Owner.Number, s.Key, s.Name, s.Description, s.InsertedAt, instant(s.FirstDue), s.Epoch, s.Hops, s.Document,
		job.JoinArgs(s.Args, &s.Hidden), tags)
	if err != nil {
		return fmt.Errorf("inserting a schedule: %w", err)
	}
	if err := t.tag(scheduleTags, s.Owner.Number, s.ID, tags); err != nil {
		return err
	}
	s.Revision = 1
	t.count(s.Owner.Number, 0, 1)
	return nil
}

func (t *tx) updateSchedule(s *job.Schedule) error {
	err := t.exec(`UPDATE schedules SET disabled_at = ?, epoch = ?, runs = ?, ended = ?, since = ?, failures = ?, failing_since = ?, failure = ?,
		state = ?, previous = ? WHERE id = ?`,
		s.DisabledAt, s.Epoch, s.Runs, string(s.Ended), s.Since, s.Failures, s.FailingSince, s.Failure, s.State, job.JoinPrevious(s), s.ID)
	if err != nil {
		return fmt.Errorf("updating a schedule: %w", err)
	}
	return nil
}

// ScheduleGet implements store.Schedules.
func (s *Store) ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	found, err := one(ctx, s, func(t *tx) (*job.Schedule, error) { return t.schedule(id) })
	if err == nil && (found == nil || found.Owner.Number != owner.Number) {
		return nil, fault.NoSuch("schedule")
	}
	return found, err
}

// ScheduleChange implements store.Schedules.
func (s *Store) ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide store.Decide) (*job.Schedule, error) {
	var result *job.Schedule
	err := s.write(ctx, func(t *tx) error {
		found, err := t.schedule(id)
		if err != nil {
			return err
		}
		if found == nil || found.Owner.Number != owner.Number {
			return fault.NoSuch("schedule")
		}
		m, err := t.unfinished(found)
		if err != nil {
			return err
		}
		if err := t.decide(owner.Number, m, decide); err != nil {
			return err
		}
		result, err = t.schedule(id)
		return err
	})
	return result, err
}

// unfinished returns a Snapshot of a schedule with its unfinished job.
func (t *tx) unfinished(s *job.Schedule) (*store.Snapshot, error) {
	// A schedule's unfinished job is always its newest.
	m, err := t.snapshot(`j.schedule_id = ? ORDER BY j.number DESC LIMIT 1`, s.ID)
	if err != nil {
		return nil, err
	}
	if m.Job != nil && m.Job.State.Final() {
		m.Job = nil
	}
	m.Schedule = s
	return m, nil
}
