package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// The states of operations as stored. See the migration.
const (
	operationRunning = iota
	operationFinished
	operationStopped
	operationStopping
)

const operationColumns = `account, id, state, action, matched, done, inserted_at, finished_at, hops, scan_after, position, actor, skipped, filter, changes`

// readOperation reads a row of operationColumns. The owner's UUID is not set.
func readOperation(rows pgx.Rows) (*job.Operation, error) {
	o := &job.Operation{}
	var state int
	var action string
	var actor, skipped rawjson.Value
	err := rows.Scan(&o.Owner.Number, idOf{&o.ID}, &state, &action, &o.Matched, &o.Done, timeOf{&o.InsertedAt}, timeOf{&o.FinishedAt}, &o.Hops,
		&o.ScanAfter, &o.Position, jsonOf{&actor}, jsonOf{&skipped}, jsonOf{&o.Filter}, jsonOf{&o.Set})
	if err != nil {
		return nil, err
	}
	o.State = [...]job.OperationState{job.OperationRunning, job.OperationFinished, job.OperationStopped, job.OperationStopped}[state]
	o.Action, o.By, o.Skipped = job.Action(action), job.ReadActor(actor), job.ReadSkipped(skipped)
	return o, nil
}

// oneOperation returns a query for at most one of the owner's operations.
func oneOperation(owner job.Owner, found **job.Operation, sql string, args ...any) query {
	return query{sql: sql, args: args, start: func() { *found = nil }, row: func(rows pgx.Rows) (err error) {
		if *found, err = readOperation(rows); err == nil {
			(*found).Owner = owner
		}
		return err
	}}
}

// OperationInsert implements store.Operations.
func (s *Store) OperationInsert(ctx context.Context, o *job.Operation, found []int64) error {
	return s.write(ctx, func(t *tx) error {
		inserted := false
		var running *job.Operation
		err := t.run(query{
			sql: `INSERT INTO operations (` + operationColumns + `) VALUES ($1, $2, 0, $3, $4, $5, $6, NULL, $7, $8, $9, $10, $11, $12, $13)
				ON CONFLICT (account) WHERE state = 0 DO NOTHING RETURNING 1`,
			args: []any{o.Owner.Number, o.ID, string(o.Action), o.Matched, o.Done, o.InsertedAt.UnixMicro(), int16(o.Hops), o.ScanAfter, o.Position,
				jsonText(job.AppendActor(nil, o.By)), string(job.AppendSkipped(nil, o.Skipped)), jsonText(o.Filter), jsonText(o.Set)},
			row: func(pgx.Rows) error { inserted = true; return nil },
		}, oneOperation(o.Owner, &running, `SELECT `+operationColumns+` FROM operations WHERE account = (SELECT $1::bigint) AND state = 0 AND id <> $2`, o.Owner.Number, o.ID))
		switch {
		case err != nil:
			return err
		case !inserted && running == nil:
			return errRetry
		case !inserted:
			return store.OperationConflict(running.ID)
		}
		o.State, o.FinishedAt = job.OperationRunning, time.Time{}
		queries := insertChunk(o.ID, found)
		if len(found) == 0 && o.ScanAfter == 0 {
			o.State, o.FinishedAt = job.OperationFinished, t.now
			queries = append(queries, query{
				sql: `UPDATE operations SET state = 1, finished_at = $3 WHERE account = (SELECT $1::bigint) AND id = $2`, args: []any{o.Owner.Number, o.ID, t.now.UnixMicro()},
			})
		}
		// Those with jobs left are deleted later.
		return t.commit(append(queries, query{
			sql: `DELETE FROM operations WHERE account = (SELECT $1::bigint) AND state IN (1, 2) AND id <= (
				SELECT id FROM operations WHERE account = (SELECT $1::bigint) ORDER BY id DESC LIMIT 1 OFFSET $2)`,
			args: []any{o.Owner.Number, store.MaxOperations},
		})...)
	})
}

// insertChunk stores jobs that an operation has found, in descending order.
func insertChunk(operation uuid.UUID, found []int64) []query {
	if len(found) == 0 {
		return nil
	}
	last, packed := store.OperationNumbers(found)
	return []query{{sql: `INSERT INTO operation_jobs (operation, last, numbers) VALUES ($1, $2, $3)`, args: []any{operation, last, packed}}}
}

// OperationGet implements store.Operations.
func (s *Store) OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	var found *job.Operation
	err := s.readAs(ctx, pages, oneOperation(owner, &found, `SELECT `+operationColumns+` FROM operations WHERE account = (SELECT $1::bigint) AND id = $2`, owner.Number, id))
	if err == nil && found == nil {
		return nil, fault.NoSuch("operation")
	}
	return found, err
}

// OperationList implements store.Operations.
func (s *Store) OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) ([]*job.Operation, error) {
	var found []*job.Operation
	err := s.readAs(ctx, pages, query{
		sql: `SELECT ` + operationColumns + ` FROM (
				SELECT *, sum(octet_length(filter) + coalesce(octet_length(changes), 0)) OVER (ORDER BY id DESC) - octet_length(filter) - coalesce(octet_length(changes), 0) AS before
				FROM operations WHERE account = (SELECT $1::bigint) AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3) o
			WHERE before <= $4 ORDER BY id DESC`,
		args: []any{owner.Number, id(q.AfterID), q.Limit, q.Budget()}, start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			o, err := readOperation(rows)
			if err == nil {
				o.Owner = owner
				found = append(found, o)
			}
			return err
		},
	})
	return found, err
}

// OperationStop implements store.Operations.
func (s *Store) OperationStop(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		stopped = false
		err := t.run(oneOperation(owner, &o, `SELECT `+operationColumns+` FROM operations WHERE account = (SELECT $1::bigint) AND id = $2 FOR UPDATE`, owner.Number, id))
		switch {
		case err != nil:
			return err
		case o == nil:
			return fault.NoSuch("operation")
		case o.State != job.OperationRunning:
			return t.commit()
		}
		deleted := 0
		if err := t.run(deleteChunks(id, store.StopChunks, &deleted)); err != nil {
			return err
		}
		state := operationStopped
		if deleted == store.StopChunks {
			state = operationStopping
		}
		stopped = true
		return t.commit(oneOperation(owner, &o, `UPDATE operations SET state = $3, finished_at = $4, holder = NULL WHERE account = (SELECT $1::bigint) AND id = $2
			RETURNING `+operationColumns, owner.Number, id, int16(state), s.Now().UnixMicro()))
	})
	return o, stopped, err
}

// deleteChunks returns the query that deletes up to limit chunks of an operation
// and counts them.
func deleteChunks(operation uuid.UUID, limit int, deleted *int) query {
	return query{
		sql:  `DELETE FROM operation_jobs WHERE operation = $1 AND last IN (SELECT last FROM operation_jobs WHERE operation = $1 ORDER BY last LIMIT $2) RETURNING 1`,
		args: []any{operation, limit}, start: func() { *deleted = 0 }, row: func(pgx.Rows) error { *deleted++; return nil },
	}
}

// OperationsRunning implements store.Operations.
func (s *Store) OperationsRunning(ctx context.Context, limit int) (n int, err error) {
	err = s.read(ctx, query{
		sql: `SELECT count(*) FROM (SELECT FROM operations WHERE state = 0 LIMIT $1) o`, args: []any{limit},
		row: func(rows pgx.Rows) error { return rows.Scan(&n) },
	})
	return n, err
}

// OperationClaim implements store.Operations. It skips rows that other nodes are
// claiming at the moment.
func (s *Store) OperationClaim(ctx context.Context, lease store.OperationLease, limit int) (claimed []*job.Operation, err error) {
	if n, err := s.OperationsRunning(ctx, 1); err != nil || n == 0 {
		return nil, err
	}
	err = s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `WITH open AS MATERIALIZED (
					SELECT o.account, o.id FROM operations o JOIN accounts a ON a.number = o.account
					WHERE o.state = 0 AND (o.holder IS NULL OR o.holder = $1 OR o.held_until <= $3) AND a.deleted_at IS NULL AND a.suspended_at IS NULL
					ORDER BY o.held_until, o.id LIMIT $4 FOR UPDATE OF o SKIP LOCKED)
				UPDATE operations o SET holder = $1, held_until = $2 FROM open WHERE o.account = open.account AND o.id = open.id
				RETURNING o.account, o.id, o.state, o.action, o.matched, o.done, o.inserted_at, o.finished_at, o.hops, o.scan_after, o.position, o.actor, o.skipped, o.filter, o.changes`,
			args: []any{lease.Holder, lease.Until.UnixMicro(), t.now.UnixMicro(), limit}, start: func() { claimed = nil },
			row: func(rows pgx.Rows) error {
				o, err := readOperation(rows)
				claimed = append(claimed, o)
				return err
			},
		})
	})
	if err != nil {
		return nil, err
	}
	return claimed, s.ownersOf(ctx, claimed)
}

// ownersOf sets the UUIDs of the owners of operations.
func (s *Store) ownersOf(ctx context.Context, operations []*job.Operation) error {
	err := s.learnOwners(ctx, column(operations, func(o **job.Operation) int64 { return (*o).Owner.Number }))
	for _, o := range operations {
		if owner, known := s.owners.get(o.Owner.Number); known {
			o.Owner = owner
		} else if err == nil {
			err = fmt.Errorf("account %d does not exist", o.Owner.Number)
		}
	}
	return err
}

// OperationRelease implements store.Operations.
func (s *Store) OperationRelease(ctx context.Context, holder uuid.UUID) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `UPDATE operations SET holder = NULL, held_until = $2 WHERE state = 0 AND holder = $1`, args: []any{holder, t.now.UnixMicro()},
		})
	})
}

// holds returns the query that extends the lease of a running operation, locks and
// reads it. It finds none if the lease is not held.
func holds(o *job.Operation, lease store.OperationLease, found **job.Operation) query {
	return oneOperation(o.Owner, found, `UPDATE operations SET held_until = $4 WHERE account = (SELECT $1::bigint) AND id = $2 AND state = 0 AND holder = $3 RETURNING `+operationColumns,
		o.Owner.Number, o.ID, lease.Holder, lease.Until.UnixMicro())
}

// saveOperation returns the query that stores how far an operation is, and reads
// it. It finishes one without further jobs.
func saveOperation(o *job.Operation, now time.Time, saved **job.Operation) query {
	const ended = `$6::bigint = 0 AND NOT EXISTS (SELECT FROM operation_jobs WHERE operation = $2)`
	return oneOperation(o.Owner, saved, `UPDATE operations SET matched = $3, done = $4, skipped = $5, scan_after = $6, position = $7,
			state = CASE WHEN `+ended+` THEN 1 ELSE 0 END, finished_at = CASE WHEN `+ended+` THEN $8::bigint END
		WHERE account = (SELECT $1::bigint) AND id = $2 RETURNING `+operationColumns,
		o.Owner.Number, o.ID, o.Matched, o.Done, string(job.AppendSkipped(nil, o.Skipped)), o.ScanAfter, o.Position, now.UnixMicro())
}

// OperationMatch implements store.Operations.
func (s *Store) OperationMatch(ctx context.Context, of *job.Operation, lease store.OperationLease, found []int64, scanAfter int64) (*job.Operation, error) {
	var saved *job.Operation
	err := s.write(ctx, func(t *tx) error {
		var o *job.Operation
		saved = nil
		if err := t.run(holds(of, lease, &o)); err != nil {
			return err
		}
		if o == nil {
			return t.commit()
		}
		o.Matched += int64(len(found))
		o.ScanAfter = scanAfter
		return t.commit(append(insertChunk(o.ID, found), saveOperation(o, t.now, &saved))...)
	})
	if err == nil && saved == nil {
		err = store.ErrNotHeld
	}
	return saved, err
}

// OperationNext implements store.Operations.
func (s *Store) OperationNext(ctx context.Context, o *job.Operation, limit int) ([]int64, error) {
	var packed []byte
	err := s.readAs(ctx, pages, query{
		sql: `SELECT numbers FROM operation_jobs WHERE operation = $1 ORDER BY last LIMIT 1`, args: []any{o.ID}, start: func() { packed = nil },
		row: func(rows pgx.Rows) error { return rows.Scan(&packed) },
	})
	return store.NumbersAfter(packed, o.Position, limit), err
}

// OperationPrune implements store.Operations.
func (s *Store) OperationPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	var rest *job.Operation
	err = s.read(ctx, oneOperation(job.Owner{}, &rest, `SELECT `+operationColumns+` FROM operations WHERE state = 3 ORDER BY id LIMIT 1`))
	if err != nil {
		return 0, err
	}
	if rest != nil {
		err = s.write(ctx, func(t *tx) error {
			if err := t.run(deleteChunks(rest.ID, limit, &n)); err != nil {
				return err
			}
			if n == limit {
				return t.commit()
			}
			n++
			return t.commit(query{sql: `UPDATE operations SET state = 2 WHERE id = $1 AND state = 3`, args: []any{rest.ID}})
		})
		if err != nil {
			return 0, fmt.Errorf("deleting the jobs of stopped operations: %w", err)
		}
	}
	ended, err := s.prune(ctx, `DELETE FROM operations d USING (SELECT account, id FROM operations
		WHERE state > 0 AND state < 3 AND finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`, before.UnixMicro(), limit)
	return n + ended, err
}
