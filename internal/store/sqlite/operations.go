package sqlite

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// OperationApply implements store.Operations.
func (s *Store) OperationApply(ctx context.Context, step store.OperationStep) (*job.Operation, error) {
	var saved []*job.Operation
	err := s.write(ctx, func(t *tx) error {
		step.Begin()
		var held []*job.Operation
		saved = nil
		if err := t.Run(records.HoldOperation(step.Operation, step.Lease, &held)...); err != nil || len(held) == 0 {
			return err
		}
		o := held[0]
		for i, number := range step.Numbers {
			if number <= o.Position {
				continue
			}
			reason, err := t.applyOne(o.Owner, number, func(m *store.Snapshot) (*store.Changes, job.Skip) { return step.Decide(i, m) })
			if err != nil {
				return err
			}
			o.Position = number
			if reason == "" {
				o.Done++
			} else {
				o.Skip(reason)
			}
		}
		if err := t.exec(`DELETE FROM operation_jobs WHERE operation = ? AND last <= ?`, o.ID, o.Position); err != nil {
			return fmt.Errorf("deleting the jobs of an operation: %w", err)
		}
		return t.Run(records.SaveOperation(o, t.now, &saved)...)
	})
	return records.SavedOperation(saved, err)
}

// applyOne changes one job of an operation. Its errors are not faults, because they
// undo the step.
func (t *tx) applyOne(owner job.Owner, number int64, decide func(*store.Snapshot) (*store.Changes, job.Skip)) (job.Skip, error) {
	m, err := t.snapshot(`j.number = ?`, number)
	switch {
	case err != nil:
		return "", err
	case m.Job == nil || m.Job.Owner.Number != owner.Number:
		return job.SkipRemoved, nil
	case m.Job.ScheduleID != uuid.Nil:
		if m.Schedule, err = t.schedule(m.Job.ScheduleID); err != nil {
			return "", err
		}
	}
	changes, reason := decide(m)
	if reason != "" || changes == nil {
		return reason, nil
	}
	if next := changes.Next; changes.Job == nil && next != nil {
		reason, err := t.mayCreate(*next)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	return "", t.applyTo(m, changes)
}

// mayCreate returns why an operation may not create a job; "" if it may.
func (t *tx) mayCreate(n store.NewJob) (reason job.Skip, err error) {
	if of := n.Job.RerunOf; of != 0 {
		err = t.query(`SELECT 1 FROM jobs WHERE rerun_of = ? AND account = ? LIMIT 1`, func(*sqlite.Stmt) error {
			reason = job.SkipHasRerun
			return nil
		}, of, n.Job.Owner.Number)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	over, err := t.over(n)
	if err != nil || over != store.QuotaNone {
		return job.SkipOverLimit, err
	}
	gone, err := t.gone(n.Job.Owner.Number, n.Names)
	if gone {
		reason = job.SkipInvalid
	}
	return reason, err
}

// JobNumbers implements store.JobSearch.
func (s *Store) JobNumbers(ctx context.Context, owner job.Owner, q job.Query, look int) (numbers []int64, next int64, err error) {
	if err := q.Unordered(); err != nil {
		return nil, 0, err
	}
	err = s.readAs(ctx, heavy, func(t *tx) (err error) {
		numbers, next, err = t.walk(owner, q, look)
		return err
	})
	return numbers, next, err
}

// JobErrorKinds implements store.JobSearch. It reads the log of each job's latest
// ended attempt by the index of a job's logs.
func (s *Store) JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (kinds map[int64]string, err error) {
	kinds = map[int64]string{}
	err = s.readAs(ctx, heavy, func(t *tx) error {
		for _, number := range numbers {
			err := t.query(`SELECT l.event, `+cutText(`l`, `?3`, ``)+` FROM jobs j JOIN logs l INDEXED BY logs_job ON l.job = j.number
				WHERE j.number = ?1 AND j.account = ?2 AND j.state <> 4 AND l.event IN (2, 3) ORDER BY l.id DESC LIMIT 1`,
				func(stmt *sqlite.Stmt) error {
					c := &columns{stmt: stmt}
					event := events[c.int()]
					head, _ := c.cut(job.FailurePrefix, 0)
					kinds[number] = job.FailureKind(event, []byte(head))
					return nil
				}, number, owner.Number, job.FailurePrefix)
			if err != nil {
				return fmt.Errorf("reading the latest failure of a job: %w", err)
			}
		}
		return nil
	})
	return kinds, err
}
