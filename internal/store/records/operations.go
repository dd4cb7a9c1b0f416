package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// operations has no columns for the lease, which statements of their own change.
var operations = Table[job.Operation]{
	Name: "operations", Key: []string{"account", "id"},
	Columns: []Column[job.Operation]{
		{"account", func(o *job.Operation) any { return &o.Owner.Number }},
		{"id", func(o *job.Operation) any { return &o.ID }},
		{"state", func(o *job.Operation) any { return &operationState{to: &o.State} }},
		{"action", func(o *job.Operation) any { return (*string)(&o.Action) }},
		{"matched", func(o *job.Operation) any { return &o.Matched }},
		{"done", func(o *job.Operation) any { return &o.Done }},
		{"inserted_at", func(o *job.Operation) any { return &o.InsertedAt }},
		{"finished_at", func(o *job.Operation) any { return &o.FinishedAt }},
		{"hops", func(o *job.Operation) any { return &o.Hops }},
		{"scan_after", func(o *job.Operation) any { return &o.ScanAfter }},
		{"position", func(o *job.Operation) any { return &o.Position }},
		{"actor", func(o *job.Operation) any { return &actorOf{to: &o.By} }},
		{"skipped", func(o *job.Operation) any { return &skippedOf{to: &o.Skipped} }},
		{"filter", func(o *job.Operation) any { return &o.Filter }},
		{"changes", func(o *job.Operation) any { return &o.Set }},
	},
}

// operationStates has the states as stored. The last is a stopped operation some of
// whose jobs are still stored.
var operationStates = [...]job.OperationState{job.OperationRunning, job.OperationFinished, job.OperationStopped, job.OperationStopped}

const (
	operationStopped  = 2
	operationStopping = 3
)

type operationState struct {
	to *job.OperationState
	n  int
}

func (f *operationState) Target() any { return &f.n }
func (f *operationState) Load()       { *f.to = operationStates[f.n] }

func (f *operationState) Stored() any {
	for n, state := range operationStates {
		if state == *f.to {
			return n
		}
	}
	panic("records: an operation in no state")
}

type actorOf struct {
	to   *job.Actor
	text rawjson.Value
}

func (f *actorOf) Target() any { return &f.text }
func (f *actorOf) Load()       { *f.to = job.ReadActor(f.text) }
func (f *actorOf) Stored() any { return string(job.AppendActor(nil, *f.to)) }

type skippedOf struct {
	to   *map[job.Skip]int64
	text rawjson.Value
}

func (f *skippedOf) Target() any { return &f.text }
func (f *skippedOf) Load()       { *f.to = job.ReadSkipped(f.text) }
func (f *skippedOf) Stored() any { return string(job.AppendSkipped(nil, *f.to)) }

// ownedBy returns a function that sets the owner of operations.
func ownedBy(owner job.Owner) func(*job.Operation) {
	return func(o *job.Operation) { o.Owner = owner }
}

func readOperation(found *[]*job.Operation, owner job.Owner, id uuid.UUID, lock string) Query {
	return operations.Select(found, ownedBy(owner), `WHERE account = $1 AND id = $2`+lock, owner.Number, id)
}

// OperationInsert implements store.Operations.
func (r *Records) OperationInsert(ctx context.Context, o *job.Operation, found []int64) error {
	return r.engine.WriteSized(ctx, len(o.Filter)+len(o.Set), func(t Tx) ([]Query, error) {
		var running uuid.UUID
		err := t.Run(lockAccount(o.Owner.Number), Query{
			SQL: `SELECT id FROM operations WHERE account = $1 AND state = 0`, Args: []any{o.Owner.Number}, Row: into(&running),
		})
		switch {
		case err != nil:
			return nil, err
		case running != uuid.Nil:
			return nil, store.OperationConflict(running)
		}
		o.State, o.FinishedAt = job.OperationRunning, time.Time{}
		if len(found) == 0 && o.ScanAfter == 0 {
			o.State, o.FinishedAt = job.OperationFinished, t.Now()
		}
		last := append([]Query{operations.Insert(o)}, insertChunk(o.ID, found)...)
		// Those with jobs left are deleted later.
		return append(last, Query{
			SQL: `DELETE FROM operations WHERE account = $1 AND state IN (1, 2) AND id <= (
				SELECT id FROM operations INDEXED BY operations_list WHERE account = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)`,
			Args: []any{o.Owner.Number, store.MaxOperations},
		}), nil
	})
}

// insertChunk stores jobs that an operation has found, in descending order.
func insertChunk(operation uuid.UUID, found []int64) []Query {
	if len(found) == 0 {
		return nil
	}
	last, packed := store.OperationNumbers(found)
	return []Query{{SQL: `INSERT INTO operation_jobs (operation, last, numbers) VALUES ($1, $2, $3)`, Args: []any{operation, last, packed}}}
}

// deleteChunks deletes up to limit chunks of an operation and counts them.
func deleteChunks(operation uuid.UUID, limit int, deleted *int) Query {
	return Query{
		SQL: `DELETE FROM operation_jobs WHERE operation = $1 AND last IN (
			SELECT last FROM operation_jobs WHERE operation = $1 ORDER BY last LIMIT $2)`,
		Args: []any{operation, limit}, Changed: deleted,
	}
}

// OperationGet implements store.Operations.
func (r *Records) OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	var found []*job.Operation
	err := r.engine.Read(ctx, Pages, readOperation(&found, owner, id, ``))
	return first(found, err, "operation")
}

// OperationList implements store.Operations.
func (r *Records) OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) (found []*job.Operation, err error) {
	where, args := ``, []any{owner.Number, q.Limit, q.Budget()}
	if q.AfterID != uuid.Nil {
		where, args = ` AND id < $4`, append(args, q.AfterID)
	}
	page := operations.Select(&found, ownedBy(owner), ``, args...)
	page.SQL = `SELECT ` + operations.names() + ` FROM (
			SELECT *, sum(octet_length(filter) + coalesce(octet_length(changes), 0)) OVER (ORDER BY id DESC)
				- octet_length(filter) - coalesce(octet_length(changes), 0) AS preceding
			FROM operations INDEXED BY operations_list WHERE account = $1` + where + ` ORDER BY id DESC LIMIT $2) o
		WHERE preceding <= $3 ORDER BY id DESC`
	err = r.engine.Read(ctx, Pages, page)
	return found, err
}

// OperationStop implements store.Operations.
func (r *Records) OperationStop(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error) {
	var found []*job.Operation
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		stopped = false
		read := readOperation(&found, owner, id, ` FOR UPDATE`)
		read.None = fault.NoSuch("operation")
		if err := t.Run(read); err != nil || found[0].State != job.OperationRunning {
			return nil, err
		}
		deleted := 0
		if err := t.Run(deleteChunks(id, store.StopChunks, &deleted)); err != nil {
			return nil, err
		}
		state := operationStopped
		if deleted == store.StopChunks {
			state = operationStopping
		}
		stopped = true
		return []Query{{
			SQL:  `UPDATE operations SET state = $3, finished_at = $4, holder = NULL WHERE account = $1 AND id = $2`,
			Args: []any{owner.Number, id, state, t.Now()},
		}, readOperation(&found, owner, id, ``)}, nil
	})
	o, err = first(found, err, "operation")
	return o, stopped, err
}

// OperationsRunning implements store.Operations.
func (r *Records) OperationsRunning(ctx context.Context, limit int) (n int, err error) {
	err = r.engine.Read(ctx, Background, Query{
		SQL:  `SELECT count(*) FROM (SELECT 1 FROM operations INDEXED BY operations_running WHERE state = 0 LIMIT $1) o`,
		Args: []any{limit}, Row: into(&n),
	})
	return n, err
}

// OperationClaim implements store.Operations. Without a running operation it begins no
// transaction. It skips rows that other nodes are claiming at the moment.
func (r *Records) OperationClaim(ctx context.Context, lease store.OperationLease, limit int) (claimed []*job.Operation, err error) {
	if n, err := r.OperationsRunning(ctx, 1); err != nil || n == 0 {
		return nil, err
	}
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		err := t.Run(Query{
			SQL: `SELECT ` + operations.namesOf("o.") + `, a.id
				FROM operations o INDEXED BY operations_running JOIN accounts a ON a.number = o.account
				WHERE o.state = 0 AND (o.holder IS NULL OR o.holder = $1 OR o.held_until <= $2) AND a.deleted_at IS NULL AND a.suspended_at IS NULL
				ORDER BY o.held_until, o.id LIMIT $3 FOR UPDATE OF o SKIP LOCKED`,
			Args: []any{lease.Holder, t.Now(), limit}, Start: func() { claimed = nil },
			Row: func(row Row) error {
				o := &job.Operation{}
				claimed = append(claimed, o)
				return scan(row, append(operations.values(o), &o.Owner.ID)...)
			},
		})
		var last []Query
		for _, o := range claimed {
			last = append(last, Query{
				SQL:  `UPDATE operations SET holder = $3, held_until = $4 WHERE account = $1 AND id = $2`,
				Args: []any{o.Owner.Number, o.ID, lease.Holder, lease.Until},
			})
		}
		return last, err
	})
	return claimed, err
}

// OperationRelease implements store.Operations.
func (r *Records) OperationRelease(ctx context.Context, holder uuid.UUID) error {
	return r.write(ctx, Query{
		SQL:  `UPDATE operations INDEXED BY operations_running SET holder = NULL, held_until = $2 WHERE state = 0 AND holder = $1`,
		Args: []any{holder, r.engine.Now()},
	})
}

// HoldOperation returns the queries that extend the lease of a running operation, lock
// and read it. They find none if the lease is not held.
func HoldOperation(o *job.Operation, lease store.OperationLease, found *[]*job.Operation) []Query {
	return []Query{{
		SQL:  `UPDATE operations SET held_until = $4 WHERE account = $1 AND id = $2 AND state = 0 AND holder = $3`,
		Args: []any{o.Owner.Number, o.ID, lease.Holder, lease.Until},
	}, operations.Select(found, ownedBy(o.Owner), `WHERE account = $1 AND id = $2 AND state = 0 AND holder = $3`,
		o.Owner.Number, o.ID, lease.Holder)}
}

// SaveOperation returns the queries that store how far an operation is, and read it.
// They finish one without further jobs.
func SaveOperation(o *job.Operation, now time.Time, saved *[]*job.Operation) []Query {
	const ended = `$6::bigint = 0 AND NOT EXISTS (SELECT 1 FROM operation_jobs WHERE operation = $2)`
	return []Query{{
		SQL: `UPDATE operations SET matched = $3, done = $4, skipped = $5, scan_after = $6, position = $7,
				state = CASE WHEN ` + ended + ` THEN 1 ELSE 0 END, finished_at = CASE WHEN ` + ended + ` THEN $8::bigint END
			WHERE account = $1 AND id = $2`,
		Args: []any{o.Owner.Number, o.ID, o.Matched, o.Done, (&skippedOf{to: &o.Skipped}).Stored(), o.ScanAfter, o.Position, now},
	}, readOperation(saved, o.Owner, o.ID, ``)}
}

// SavedOperation returns the operation that SaveOperation has read, or ErrNotHeld.
func SavedOperation(saved []*job.Operation, err error) (*job.Operation, error) {
	switch {
	case err != nil:
		return nil, err
	case len(saved) == 0:
		return nil, store.ErrNotHeld
	}
	return saved[0], nil
}

// OperationMatch implements store.Operations.
func (r *Records) OperationMatch(
	ctx context.Context, of *job.Operation, lease store.OperationLease, found []int64, scanAfter int64,
) (*job.Operation, error) {
	var saved []*job.Operation
	err := r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var held []*job.Operation
		saved = nil
		if err := t.Run(HoldOperation(of, lease, &held)...); err != nil || len(held) == 0 {
			return nil, err
		}
		o := held[0]
		o.Matched += int64(len(found))
		o.ScanAfter = scanAfter
		return append(insertChunk(o.ID, found), SaveOperation(o, t.Now(), &saved)...), nil
	})
	return SavedOperation(saved, err)
}

// OperationNext implements store.Operations.
func (r *Records) OperationNext(ctx context.Context, o *job.Operation, limit int) ([]int64, error) {
	var packed []byte
	err := r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT numbers FROM operation_jobs WHERE operation = $1 ORDER BY last LIMIT 1`, Args: []any{o.ID},
		Start: func() { packed = nil }, Row: into(&packed),
	})
	return store.NumbersAfter(packed, o.Position, limit), err
}

// OperationPrune implements store.Operations. Without anything to delete it begins no
// transaction.
func (r *Records) OperationPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	var rest []*job.Operation
	old := false
	err = r.engine.Read(ctx, Background,
		operations.Select(&rest, nil, `INDEXED BY operations_rest WHERE state = 3 ORDER BY id LIMIT 1`),
		Query{
			SQL:  `SELECT EXISTS (SELECT 1 FROM operations INDEXED BY operations_ended WHERE state > 0 AND finished_at < $1)`,
			Args: []any{Instant(before)}, Row: into(&old),
		})
	if err != nil {
		return 0, err
	}
	for _, o := range rest {
		err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
			if err := t.Run(deleteChunks(o.ID, limit, &n)); err != nil || n == limit {
				return nil, err
			}
			n++
			return []Query{{
				SQL: `UPDATE operations SET state = 2 WHERE account = $1 AND id = $2 AND state = 3`, Args: []any{o.Owner.Number, o.ID},
			}}, nil
		})
		if err != nil {
			return 0, err
		}
	}
	if !old {
		return n, nil
	}
	ended, err := r.prune(ctx, "operations", operations.Key,
		`INDEXED BY operations_ended WHERE state > 0 AND state < 3 AND finished_at < $1
			ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED`, Instant(before), limit)
	return n + ended, err
}
