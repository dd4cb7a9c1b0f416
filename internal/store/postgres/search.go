package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobGetMany implements store.Jobs.
func (s *Store) JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error) {
	jobs := make([]*job.Job, len(ids))
	if len(ids) == 0 {
		return jobs, nil
	}
	numbers, uuids := splitIDs(ids)
	var byNumber, byUUID []*job.Job
	err := s.readAs(ctx, pages, asked(
		numbers, s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM `+listedJobs+joinItem, []any{owner.Number, numbers},
			&byNumber),
		uuids, s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM `+listedIDs+joinItem, []any{owner.Number, uuids}, &byUUID))...)
	if err != nil {
		return nil, err
	}
	places := map[job.Ref]*job.Job{}
	for _, j := range byNumber {
		places[job.Ref{Number: j.Number}] = j
	}
	for _, j := range byUUID {
		places[job.Ref{UUID: j.ID}] = j
	}
	for i, id := range ids {
		if id.Number != 0 {
			id.UUID = uuid.Nil
		}
		jobs[i] = places[id]
	}
	return jobs, nil
}

// splitIDs splits IDs into numbers and UUIDs.
func splitIDs(ids []job.Ref) (numbers []int64, uuids []uuid.UUID) {
	numbers, uuids = make([]int64, 0, len(ids)), make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		if id.Number != 0 {
			numbers = append(numbers, id.Number)
		} else {
			uuids = append(uuids, id.UUID)
		}
	}
	return numbers, uuids
}

// asked returns those of the queries by numbers and by UUIDs that have any to look for:
// clients' reads are planned each time.
func asked(numbers []int64, byNumber query, uuids []uuid.UUID, byUUID query) (queries []query) {
	if len(numbers) > 0 {
		queries = append(queries, byNumber)
	}
	if len(uuids) > 0 {
		queries = append(queries, byUUID)
	}
	return queries
}

// JobTally implements store.Jobs. Executing jobs are stored as available or
// retryable, so it counts that many more of these and subtracts them.
func (s *Store) JobTally(ctx context.Context, owner job.Owner, q job.Query, limit int) (counts map[job.State]int64, cut bool, err error) {
	if err := q.Unordered(); err != nil {
		return nil, false, err
	}
	if q.Path() == job.ByFilter {
		return s.tallyFiltered(ctx, owner, q, limit)
	}
	counts = map[job.State]int64{}
	var available, retryable int64
	queries := []query{{
		sql: `SELECT count(*) FILTER (WHERE j.state = 1), count(*) FILTER (WHERE j.state = 2)
			FROM runs r JOIN jobs j ON j.account = r.account AND j.number = r.number
			WHERE r.account = (SELECT $1::bigint) AND r.node > 0 AND r.kind = 0 AND r.begin_at <= $2`,
		args: []any{owner.Number, s.Now().UnixMicro()},
		row:  func(rows pgx.Rows) error { return rows.Scan(&available, &retryable) },
	}}
	if err := s.readAs(ctx, pages, queries...); err != nil {
		return nil, false, err
	}
	executing := map[job.State]int64{job.Available: available, job.Retryable: retryable}
	queries = nil
	for _, state := range q.Among(storedStates) {
		queries = append(queries, query{
			sql:  `SELECT count(*) FROM (SELECT FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.state >= $2 AND j.state <= $2 ORDER BY j.state, j.number LIMIT $3) n`,
			args: []any{owner.Number, int16(state), int64(limit) + executing[state]},
			row: func(rows pgx.Rows) error {
				var n int64
				err := rows.Scan(&n)
				// A job that was executing may be final by now.
				counts[state] = min(int64(limit), max(0, n-executing[state]))
				return err
			},
		})
	}
	if err := s.readAs(ctx, pages, queries...); err != nil {
		return nil, false, err
	}
	counts[job.Executing] = min(int64(limit), available+retryable)
	return store.InStates(counts, q.States), false, nil
}

// JobScan implements store.Jobs. PostgreSQL knows the sizes of args without
// reading them, so args beyond the limits are not sent over the network.
func (s *Store) JobScan(ctx context.Context, owner job.Owner, q job.Query, look int,
	match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	if err := q.Unordered(); err != nil {
		return nil, 0, err
	}
	if match == nil {
		return s.scanWalk(ctx, owner, q, look)
	}
	wanted := q.Limit
	q.Limit = look
	c := &condition{}
	var candidates walked
	var inner string
	if q.Path() == job.ByFilter {
		if candidates, err = s.matching(ctx, owner, q, look); err != nil {
			return nil, 0, err
		}
		inner = listed(c, candidates.numbers)
	} else {
		inner = s.indexedNumbers(c, owner, q)
	}
	sql := `SELECT w.number, w.name, w.args, w.packed, w.size FROM (
			SELECT j.number, j.name, j.args, j.packed, j.size, sum(` + argsSize + `) OVER (ORDER BY j.number DESC) - ` + argsSize +
		` AS before
			FROM ` + c.owned(owner, inner) + ` JOIN jobs j ON j.account = n.account AND j.number = n.number
		) w` + c.numbered(` WHERE w.before < ? ORDER BY w.number DESC`, store.ScanBytes)
	var ids []job.Ref
	looked, size, matched, last := 0, 0, 0, int64(0)
	err = s.readAs(ctx, heavy, query{
		sql: sql, args: c.args,
		start: func() { ids, next, looked, size, matched, last = nil, 0, 0, 0, 0, 0 },
		row: func(rows pgx.Rows) error {
			if next != 0 {
				return nil
			}
			j := &job.Job{}
			var args packedText
			if err := rows.Scan(&j.Number, &j.Name, &args.plain, &args.packed, argsOf{&args, &j.Args, &j.Hidden}); err != nil {
				return err
			}
			if match(j) {
				if matched += job.Size(j); matched > q.Budget() && len(ids) > 0 {
					next = last // the job comes first on the next page
					return nil
				}
				ids = append(ids, job.Ref{Number: j.Number})
			}
			last = j.Number
			looked, size = looked+1, size+len(j.Args)
			if looked == look && candidates.numbers == nil || len(ids) == wanted || matched > q.Budget() || size >= store.ScanBytes {
				next = j.Number
			}
			return nil
		},
	})
	if err != nil {
		return nil, 0, err
	}
	if next == 0 {
		next = candidates.next
	}
	jobs, err := s.JobGetMany(ctx, owner, ids)
	for _, j := range jobs {
		if j != nil { // nil if it was deleted meanwhile
			found = append(found, j)
		}
	}
	return found, next, err
}
