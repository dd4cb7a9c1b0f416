package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// The states of operations as stored. See the migration.
const (
	operationRunning = iota
	operationFinished
	operationStopped
	operationStopping
)

const operationColumns = `id, account, state, action, matched, done, inserted_at, finished_at, hops, scan_after, position, actor, skipped, filter, changes`

func (t *tx) scanOperation(stmt *sqlite.Stmt) (*job.Operation, error) {
	c := &columns{stmt: stmt}
	o := &job.Operation{ID: c.uuid()}
	account := c.int64()
	o.State = [...]job.OperationState{job.OperationRunning, job.OperationFinished, job.OperationStopped, job.OperationStopped}[c.int()]
	o.Action, o.Matched, o.Done, o.InsertedAt, o.FinishedAt = job.Action(c.text()), c.int64(), c.int64(), c.time(), c.time()
	o.Hops, o.ScanAfter, o.Position, o.By = c.int(), c.int64(), c.int64(), job.ReadActor(c.json())
	o.Skipped, o.Filter, o.Set = job.ReadSkipped(c.json()), c.json(), c.json()
	var err error
	o.Owner, err = t.owner(account)
	return o, err
}

func (t *tx) operationsWhere(where string, args ...any) (all []*job.Operation, err error) {
	err = t.query(`SELECT `+operationColumns+` FROM operations WHERE `+where, func(stmt *sqlite.Stmt) error {
		o, err := t.scanOperation(stmt)
		all = append(all, o)
		return err
	}, args...)
	return all, err
}

// operation returns one of the owner's operations, or a NotFound fault.
func (t *tx) operation(owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	found, err := t.operationsWhere(`id = ?`, id)
	if err != nil {
		return nil, fmt.Errorf("reading an operation: %w", err)
	}
	if len(found) == 0 || found[0].Owner.Number != owner.Number {
		return nil, fault.NoSuch("operation")
	}
	return found[0], nil
}

// OperationInsert implements store.Operations.
func (s *Store) OperationInsert(ctx context.Context, o *job.Operation, found []int64) error {
	return s.writeSized(ctx, len(o.Filter)+len(o.Set), func(t *tx) error {
		running, err := t.operationsWhere(`account = ? AND state = 0`, o.Owner.Number)
		if err != nil {
			return fmt.Errorf("looking for a running operation: %w", err)
		}
		if len(running) > 0 {
			return store.OperationConflict(running[0].ID)
		}
		o.State, o.FinishedAt = job.OperationRunning, time.Time{}
		state := operationRunning
		if len(found) == 0 && o.ScanAfter == 0 {
			o.State, o.FinishedAt, state = job.OperationFinished, t.now, operationFinished
		}
		err = t.exec(`INSERT INTO operations (`+operationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			o.ID, o.Owner.Number, state, string(o.Action), o.Matched, o.Done, o.InsertedAt, o.FinishedAt, o.Hops, o.ScanAfter, o.Position,
			string(job.AppendActor(nil, o.By)), string(job.AppendSkipped(nil, o.Skipped)), o.Filter, o.Set)
		if err != nil {
			return fmt.Errorf("inserting an operation: %w", err)
		}
		if err := t.insertChunk(o.ID, found); err != nil {
			return err
		}
		// Those with jobs left are deleted later.
		err = t.exec(`DELETE FROM operations WHERE account = ?1 AND state IN (1, 2) AND id <= (
			SELECT id FROM operations INDEXED BY operations_list WHERE account = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, o.Owner.Number, store.MaxOperations)
		if err != nil {
			return fmt.Errorf("deleting surplus operations: %w", err)
		}
		return nil
	})
}

// insertChunk stores jobs that an operation has found, in descending order.
func (t *tx) insertChunk(operation uuid.UUID, found []int64) error {
	if len(found) == 0 {
		return nil
	}
	last, packed := store.OperationNumbers(found)
	if err := t.exec(`INSERT INTO operation_jobs (operation, last, numbers) VALUES (?, ?, ?)`, operation, last, packed); err != nil {
		return fmt.Errorf("storing the jobs of an operation: %w", err)
	}
	return nil
}

// deleteChunks deletes up to limit chunks of an operation. It reports whether there
// may be more.
func (t *tx) deleteChunks(operation uuid.UUID, limit int) (more bool, err error) {
	err = t.exec(`DELETE FROM operation_jobs WHERE rowid IN (SELECT rowid FROM operation_jobs WHERE operation = ? LIMIT ?)`, operation, limit)
	if err != nil {
		return false, fmt.Errorf("deleting the jobs of an operation: %w", err)
	}
	return t.changed() == limit, nil
}

// OperationGet implements store.Operations.
func (s *Store) OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	return one(ctx, s, func(t *tx) (*job.Operation, error) { return t.operation(owner, id) })
}

// OperationList implements store.Operations.
func (s *Store) OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) (found []*job.Operation, err error) {
	where, args := `account = ?`, []any{owner.Number}
	if q.AfterID != uuid.Nil {
		where, args = where+` AND id < ?`, append(args, q.AfterID)
	}
	err = s.readAs(ctx, pages, func(t *tx) error {
		size := 0
		found = nil
		return t.query(`SELECT `+operationColumns+` FROM operations INDEXED BY operations_list WHERE `+where+` ORDER BY id DESC LIMIT ?`, func(stmt *sqlite.Stmt) error {
			o, err := t.scanOperation(stmt)
			if err != nil {
				return err
			}
			found = append(found, o)
			if size += job.OperationSize(o); size > q.Budget() {
				return errStop
			}
			return nil
		}, append(args, q.Limit)...)
	})
	return found, err
}

// OperationStop implements store.Operations.
func (s *Store) OperationStop(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		stopped = false
		if o, err = t.operation(owner, id); err != nil || o.State != job.OperationRunning {
			return err
		}
		rest, err := t.deleteChunks(id, store.StopChunks)
		if err != nil {
			return err
		}
		state := operationStopped
		if rest {
			state = operationStopping
		}
		err = t.exec(`UPDATE operations SET state = ?, finished_at = ?, holder = NULL WHERE id = ?`, state, t.now, id)
		if err != nil {
			return fmt.Errorf("stopping an operation: %w", err)
		}
		stopped = true
		o, err = t.operation(owner, id)
		return err
	})
	return o, stopped, err
}

// OperationsRunning implements store.Operations.
func (s *Store) OperationsRunning(ctx context.Context, limit int) (n int, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT count(*) FROM (SELECT 1 FROM operations INDEXED BY operations_running WHERE state = 0 LIMIT ?)`, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt(0)
			return nil
		}, limit)
	})
	return n, err
}

// OperationClaim implements store.Operations. It looks beside the writer whether
// there are any.
func (s *Store) OperationClaim(ctx context.Context, lease store.OperationLease, limit int) (claimed []*job.Operation, err error) {
	if n, err := s.OperationsRunning(ctx, 1); err != nil || n == 0 {
		return nil, err
	}
	err = s.write(ctx, func(t *tx) error {
		claimed = nil
		var ids []uuid.UUID
		err := t.query(`SELECT o.id FROM operations o INDEXED BY operations_running JOIN accounts a ON a.number = o.account
			WHERE o.state = 0 AND (o.holder IS NULL OR o.holder = ? OR o.held_until <= ?) AND a.deleted_at IS NULL AND a.suspended_at IS NULL
			ORDER BY o.held_until, o.id LIMIT ?`, func(stmt *sqlite.Stmt) error {
			ids = append(ids, (&columns{stmt: stmt}).uuid())
			return nil
		}, lease.Holder, t.now, limit)
		if err != nil {
			return fmt.Errorf("looking for operations: %w", err)
		}
		for _, id := range ids {
			if err := t.exec(`UPDATE operations SET holder = ?, held_until = ? WHERE id = ?`, lease.Holder, lease.Until, id); err != nil {
				return fmt.Errorf("claiming an operation: %w", err)
			}
			found, err := t.operationsWhere(`id = ?`, id)
			if err != nil {
				return fmt.Errorf("reading a claimed operation: %w", err)
			}
			claimed = append(claimed, found...)
		}
		return nil
	})
	return claimed, err
}

// OperationRelease implements store.Operations.
func (s *Store) OperationRelease(ctx context.Context, holder uuid.UUID) error {
	return s.write(ctx, func(t *tx) error {
		err := t.exec(`UPDATE operations INDEXED BY operations_running SET holder = NULL, held_until = ? WHERE state = 0 AND holder = ?`, t.now, holder)
		if err != nil {
			return fmt.Errorf("releasing operations: %w", err)
		}
		return nil
	})
}

// holds extends the lease of a running operation and returns it, or ErrNotHeld.
func (t *tx) holds(o *job.Operation, lease store.OperationLease) (*job.Operation, error) {
	err := t.exec(`UPDATE operations SET held_until = ? WHERE id = ? AND state = 0 AND holder = ?`, lease.Until, o.ID, lease.Holder)
	if err != nil {
		return nil, fmt.Errorf("extending the lease of an operation: %w", err)
	}
	if t.changed() == 0 {
		return nil, nil
	}
	return t.operation(o.Owner, o.ID)
}

// saveOperation stores how far an operation is. It finishes one without further
// jobs.
func (t *tx) saveOperation(o *job.Operation) error {
	state := operationRunning
	if o.ScanAfter == 0 {
		left := false
		err := t.query(`SELECT 1 FROM operation_jobs WHERE operation = ? LIMIT 1`, func(*sqlite.Stmt) error {
			left = true
			return nil
		}, o.ID)
		if err != nil {
			return err
		}
		if !left {
			state, o.State, o.FinishedAt = operationFinished, job.OperationFinished, t.now
		}
	}
	err := t.exec(`UPDATE operations SET state = ?, matched = ?, done = ?, skipped = ?, scan_after = ?, position = ?, finished_at = ? WHERE id = ?`,
		state, o.Matched, o.Done, string(job.AppendSkipped(nil, o.Skipped)), o.ScanAfter, o.Position, o.FinishedAt, o.ID)
	if err != nil {
		return fmt.Errorf("storing how far an operation is: %w", err)
	}
	return nil
}

// OperationMatch implements store.Operations.
func (s *Store) OperationMatch(ctx context.Context, of *job.Operation, lease store.OperationLease, found []int64, scanAfter int64) (o *job.Operation, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		if o, err = t.holds(of, lease); err != nil || o == nil {
			return err
		}
		if err := t.insertChunk(o.ID, found); err != nil {
			return err
		}
		o.Matched += int64(len(found))
		o.ScanAfter = scanAfter
		return t.saveOperation(o)
	})
	if err == nil && o == nil {
		err = store.ErrNotHeld
	}
	return o, err
}

// OperationNext implements store.Operations.
func (s *Store) OperationNext(ctx context.Context, o *job.Operation, limit int) (numbers []int64, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		numbers = nil
		return t.query(`SELECT numbers FROM operation_jobs WHERE operation = ? ORDER BY last LIMIT 1`, func(stmt *sqlite.Stmt) error {
			numbers = store.NumbersAfter((&columns{stmt: stmt}).blob(), o.Position, limit)
			return nil
		}, o.ID)
	})
	return numbers, err
}

// OperationApply implements store.Operations.
func (s *Store) OperationApply(ctx context.Context, step store.OperationStep) (o *job.Operation, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		step.Begin()
		if o, err = t.holds(step.Operation, step.Lease); err != nil || o == nil {
			return err
		}
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
		return t.saveOperation(o)
	})
	if err == nil && o == nil {
		err = store.ErrNotHeld
	}
	return o, err
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
	if over != store.QuotaNone {
		reason = job.SkipOverLimit
	}
	return reason, err
}

// OperationPrune implements store.Operations.
func (s *Store) OperationPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	found := false
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT 1 WHERE EXISTS (SELECT 1 FROM operations INDEXED BY operations_rest WHERE state = 3)
			OR EXISTS (SELECT 1 FROM operations INDEXED BY operations_ended WHERE state > 0 AND finished_at < ?)`, func(*sqlite.Stmt) error {
			found = true
			return nil
		}, before.UnixMicro())
	})
	if err != nil || !found {
		return 0, err
	}
	err = s.write(ctx, func(t *tx) error {
		n = 0
		rest, err := t.operationsWhere(`state = 3 ORDER BY id LIMIT 1`)
		if err != nil {
			return fmt.Errorf("looking for stopped operations: %w", err)
		}
		for _, o := range rest {
			more, err := t.deleteChunks(o.ID, limit)
			if err != nil {
				return err
			}
			n = t.changed()
			if more {
				continue
			}
			if err := t.exec(`UPDATE operations SET state = ? WHERE id = ?`, operationStopped, o.ID); err != nil {
				return fmt.Errorf("marking a stopped operation: %w", err)
			}
			n++
		}
		err = t.exec(`DELETE FROM operations WHERE id IN (SELECT id FROM operations INDEXED BY operations_ended WHERE state > 0 AND state < 3 AND finished_at < ? LIMIT ?)`,
			before.UnixMicro(), limit)
		if err != nil {
			return fmt.Errorf("deleting old operations: %w", err)
		}
		n += t.changed()
		return nil
	})
	return n, err
}

// JobNumbers implements store.Operations.
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

// JobErrorKinds implements store.Operations. It reads the log of each job's latest
// ended attempt by the index of a job's logs.
func (s *Store) JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (kinds map[int64]string, err error) {
	kinds = map[int64]string{}
	err = s.readAs(ctx, heavy, func(t *tx) error {
		for _, number := range numbers {
			err := t.query(`SELECT l.event, `+cutText(`l`, `?3`, ``)+` FROM jobs j JOIN logs l INDEXED BY logs_job ON l.job = j.number
				WHERE j.number = ?1 AND j.account = ?2 AND j.state <> 4 AND l.event IN (2, 3) ORDER BY l.id DESC LIMIT 1`, func(stmt *sqlite.Stmt) error {
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
