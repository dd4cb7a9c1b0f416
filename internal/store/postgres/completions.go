package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const completionColumns = `c.token, c.account, c.job, c.attempt, c.started_at, c.within, c.heartbeat, c.epoch, c.state, c.deadline, c.heard_at,
	c.reported, c.early, c.progress, c.request, c.response`

// scanCompletion reads a row of completionColumns.
func scanCompletion(rows pgx.Rows) (*job.Completion, error) {
	c := &job.Completion{}
	var token []byte
	var within, heartbeat int64
	err := rows.Scan(&token, &c.Owner.Number, &c.Job, &c.Attempt, timeOf{&c.StartedAt}, &within, &heartbeat, &c.Epoch, &c.State,
		timeOf{&c.Deadline},
		timeOf{&c.HeardAt}, &c.Reported, jsonOf{&c.Early}, jsonOf{&c.Progress}, idOf{&c.Request}, idOf{&c.Response})
	copy(c.Token[:], token)
	c.Within, c.Heartbeat = time.Duration(within)*time.Microsecond, time.Duration(heartbeat)*time.Microsecond
	return c, err
}

// lockCompletion reads a completion and locks it. Completions are locked after all
// other rows.
func lockCompletion(token job.TokenHash, found **job.Completion) query {
	return query{
		sql: `SELECT ` + completionColumns + ` FROM completions c WHERE c.token = $1 FOR NO KEY UPDATE`, args: []any{token[:]},
		row: func(rows pgx.Rows) (err error) {
			*found, err = scanCompletion(rows)
			return err
		},
	}
}

// lockCompletions reads and locks the completions of the finished attempts; some is
// false if no finish asks for one.
func (f *finishing) lockCompletions() (q query, some bool) {
	var asked []*store.Finish
	for i := range f.finishes {
		if f.finishes[i].Completable {
			asked = append(asked, &f.finishes[i])
		}
	}
	type row = *store.Finish
	return query{
		sql: `SELECT ` + completionColumns + ` FROM completions c JOIN unnest($1::bigint[], $2::bigint[], $3::integer[]) AS u (account, job, attempt)
			ON c.account = u.account AND c.job = u.job AND c.attempt = u.attempt AND c.state = 0 ORDER BY c.token FOR NO KEY UPDATE OF c`,
		args: []any{
			column(asked, func(r *row) int64 { return (*r).Account }), column(asked, func(r *row) int64 { return (*r).Number }),
			column(asked, func(r *row) int { return (*r).Attempt }),
		},
		row: func(rows pgx.Rows) error {
			c, err := scanCompletion(rows)
			f.completions[c.Job] = c
			return err
		},
	}, len(asked) > 0
}

func insertCompletions(completions []*job.Completion) []query {
	if len(completions) == 0 {
		return nil
	}
	type row = *job.Completion
	return []query{{
		sql: `INSERT INTO completions (token, account, job, attempt, started_at, within, heartbeat, epoch, state, heard_at, request)
			SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::smallint[], $10::bigint[], $11::uuid[])`,
		args: []any{
			column(completions, func(c *row) []byte { return (*c).Token[:] }),
			column(completions, func(c *row) int64 { return (*c).Owner.Number }),
			column(completions, func(c *row) int64 { return (*c).Job }), column(completions, func(c *row) int { return (*c).Attempt }),
			column(completions, func(c *row) int64 { return (*c).StartedAt.UnixMicro() }),
			column(completions, func(c *row) int64 { return (*c).Within.Microseconds() }),
			column(completions, func(c *row) int64 { return (*c).Heartbeat.Microseconds() }),
			column(completions, func(c *row) int64 { return (*c).Epoch }),
			column(completions, func(c *row) int16 { return int16((*c).State) }),
			column(completions, func(c *row) int64 { return (*c).HeardAt.UnixMicro() }),
			column(completions, func(c *row) uuid.UUID { return (*c).Request }),
		},
	}}
}

func updateCompletions(completions []*job.Completion) []query {
	if len(completions) == 0 {
		return nil
	}
	type row = *job.Completion
	return []query{{
		sql: `UPDATE completions c SET started_at = u.started_at, state = u.state, deadline = u.deadline, heard_at = u.heard_at,
				reported = u.reported, early = u.early, progress = u.progress, response = u.response,
				sealed = CASE WHEN u.state < 2 THEN c.sealed END
			FROM unnest($1::bytea[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::text[], $8::text[], $9::uuid[])
				AS u (token, started_at, state, deadline, heard_at, reported, early, progress, response)
			WHERE c.token = u.token`,
		args: []any{
			column(completions, func(c *row) []byte { return (*c).Token[:] }),
			column(completions, func(c *row) int64 { return (*c).StartedAt.UnixMicro() }),
			column(completions, func(c *row) int16 { return int16((*c).State) }),
			column(completions, func(c *row) *int64 { return micros((*c).Deadline) }),
			column(completions, func(c *row) int64 { return (*c).HeardAt.UnixMicro() }),
			column(completions, func(c *row) []byte { return (*c).Reported }),
			column(completions, func(c *row) *string { return jsonText((*c).Early) }),
			column(completions, func(c *row) *string { return jsonText((*c).Progress) }),
			column(completions, func(c *row) pgtype.UUID { return id((*c).Response) }),
		},
	}}
}

func endCompletions(jobs []*job.Job) []query {
	if len(jobs) == 0 {
		return nil
	}
	type row = *job.Job
	return []query{{
		sql: `UPDATE completions c SET state = 2, deadline = NULL, early = NULL, sealed = NULL FROM unnest($1::bigint[], $2::bigint[]) AS u (account, job)
			WHERE c.account = u.account AND c.job = u.job AND c.state < 2`,
		args: []any{
			column(jobs, func(j *row) int64 { return (*j).Owner.Number }), column(jobs, func(j *row) int64 { return (*j).Number }),
		},
	}}
}

// awaiting is a queue item that is claimed for as long as its attempt awaits its
// completion.
type awaiting struct {
	store.QueueKey
	completion *job.Completion
	job        *job.Job
}

func insertAwaiting(items []awaiting) []query {
	if len(items) == 0 {
		return nil
	}
	type row = awaiting
	return []query{{
		sql: `INSERT INTO runs (due, kind, number, account, lane, attempt, begin_at, log, revision, node, start_by)
			SELECT u.*, $10, u.begin_at FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[], $8::uuid[], $9::bigint[])
				AS u (due, kind, number, account, lane, attempt, begin_at, log, revision)`,
		args: append(refColumns(column(items, func(a *row) store.QueueKey { return a.QueueKey })),
			column(items, func(a *row) int64 { return int64(a.Lane) }), column(items, func(a *row) int { return a.completion.Attempt }),
			column(items, func(a *row) int64 { return a.completion.StartedAt.UnixMicro() }),
			column(items, func(a *row) uuid.UUID { return a.completion.Request }),
			column(items, func(a *row) int64 { return a.Revision }), store.AwaitingNode),
	}}
}

// CompletionGet implements store.Completions.
func (s *Store) CompletionGet(ctx context.Context, token job.TokenHash) (*store.Awaited, error) {
	var a *store.Awaited
	err := s.readAs(ctx, pages, query{
		sql: `SELECT ` + completionColumns + ` FROM completions c WHERE c.token = $1`, args: []any{token[:]},
		start: func() { a = &store.Awaited{} },
		row: func(rows pgx.Rows) (err error) {
			a.Completion, err = scanCompletion(rows)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	c := a.Completion
	if c == nil {
		return nil, fault.NoSuch("completion")
	}
	if err := s.learnOwners(ctx, []int64{c.Owner.Number}); err != nil {
		return nil, err
	}
	c.Owner, _ = s.owners.get(c.Owner.Number)
	args := []any{c.Owner.Number, c.Job}
	var request, response rawjson.Value
	payload := func(log uuid.UUID, to *rawjson.Value) query {
		var stored packedText
		return query{
			sql:  `SELECT l.payload, l.packed, l.size FROM logs l WHERE l.account = (SELECT $1::bigint) AND l.id = $2`,
			args: []any{c.Owner.Number, id(log)},
			row:  func(rows pgx.Rows) error { return rows.Scan(&stored.plain, &stored.packed, sizeOf{&stored, to}) },
		}
	}
	err = s.readAs(ctx, pages,
		query{
			sql: `SELECT ` + jobColumns + `, ` + runColumns + ` FROM jobs j ` + joinItem +
				` WHERE j.account = (SELECT $1::bigint) AND j.number = $2`, args: args,
			row: func(rows pgx.Rows) error {
				var r jobRow
				err := rows.Scan(r.targets()...)
				r.claim()
				r.job.Owner, a.Job = c.Owner, r.job
				return err
			},
		},
		query{
			sql:  `SELECT ` + scheduleColumns + ` FROM schedules s WHERE s.account = (SELECT $1::bigint) AND s.id = (SELECT j.schedule_id FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.number = $2)`,
			args: args,
			row: func(rows pgx.Rows) error {
				a.Schedule = &job.Schedule{}
				err := rows.Scan(scheduleTargets(a.Schedule)...)
				a.Schedule.Owner = c.Owner
				return err
			},
		},
		payload(c.Request, &request), payload(c.Response, &response),
		query{
			sql: `SELECT sealed FROM completions WHERE token = $1`, args: []any{token[:]},
			row: func(rows pgx.Rows) error { return rows.Scan(&a.Sealed) },
		})
	if err != nil {
		return nil, err
	}
	if a.Job == nil {
		return nil, fault.NoSuch("completion")
	}
	a.Request, a.Response = request, response
	return a, nil
}

// CompletionOf implements store.Completions.
func (s *Store) CompletionOf(ctx context.Context, owner job.Owner, number int64) (*job.Completion, error) {
	var found *job.Completion
	err := s.readAs(ctx, pages, query{
		sql:  `SELECT ` + completionColumns + ` FROM completions c WHERE c.account = (SELECT $1::bigint) AND c.job = $2 ORDER BY c.started_at DESC LIMIT 1`,
		args: []any{owner.Number, number}, start: func() { found = nil },
		row: func(rows pgx.Rows) (err error) {
			found, err = scanCompletion(rows)
			found.Owner = owner
			return err
		},
	})
	return found, err
}

// CompletionChange implements store.Completions.
func (s *Store) CompletionChange(ctx context.Context, c *job.Completion, decide store.Decide) (*job.Job, error) {
	return s.jobChange(ctx, c.Owner, job.Ref{Number: c.Job}, &c.Token, decide)
}

// CompletionsOverdue implements store.Completions.
func (s *Store) CompletionsOverdue(ctx context.Context, limit int) ([]job.TokenHash, error) {
	if s.free(ctx, dutyOverdue) {
		return nil, nil
	}
	return s.Records.CompletionsOverdue(ctx, limit)
}
