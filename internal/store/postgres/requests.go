package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// requests are the request_ids of a creation.
type requests struct {
	known    map[int]bool // jobs whose request was answered before
	again    map[int]int  // from jobs to the earlier job of the call with the same request
	claimed  []int        // jobs whose request is new
	distinct []int        // the jobs with a request, without those of again
}

type requestKey struct {
	account int64
	id      uuid.UUID
}

func requestOf(n *store.NewJob) requestKey { return requestKey{n.Job.Owner.Number, n.Request.ID} }

// answered reports whether a job is not to be stored because of its request.
func (r *requests) answered(i int) bool {
	_, again := r.again[i]
	return again || r.known[i]
}

// request claims the requests of the jobs, and finds those that were answered before.
// The claim of a request under way elsewhere waits for its commit.
func (c *creation) request(t *tx) error {
	r := &c.requests
	r.known, r.again = map[int]bool{}, map[int]int{}
	places := map[requestKey]int{}
	for i := range c.jobs {
		n := &c.jobs[i]
		if n.Request == nil {
			continue
		}
		if first, repeated := places[requestOf(n)]; repeated {
			r.again[i] = first
			continue
		}
		places[requestOf(n)] = i
		r.distinct = append(r.distinct, i)
	}
	if len(r.distinct) == 0 {
		return nil
	}
	fresh := map[int]bool{}
	err := t.run(query{
		sql: `INSERT INTO requests AS r (account, id, digest, job, expires_at)
			SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bytea[], $4::uuid[], $5::bigint[]) AS u (account, id, digest, job, expires_at) ORDER BY account, id
			ON CONFLICT (account, id) DO UPDATE SET digest = excluded.digest, job = excluded.job, expires_at = excluded.expires_at WHERE r.expires_at <= $6
			RETURNING account, id`,
		args: []any{
			c.ofRequests(r.distinct, func(n *store.NewJob) int64 { return n.Job.Owner.Number }),
			c.idsOf(r.distinct, func(n *store.NewJob) uuid.UUID { return n.Request.ID }),
			column(r.distinct, func(i *int) []byte { return c.jobs[*i].Request.Digest }),
			c.idsOf(r.distinct, func(n *store.NewJob) uuid.UUID { return n.Job.ID }),
			c.ofRequests(r.distinct, func(n *store.NewJob) int64 { return n.Request.Until.UnixMicro() }), t.now.UnixMicro(),
		},
		row: func(rows pgx.Rows) error {
			var key requestKey
			err := rows.Scan(&key.account, idOf{&key.id})
			fresh[places[key]] = true
			return err
		},
	})
	if err != nil {
		return err
	}
	var known []int
	for _, i := range r.distinct {
		if fresh[i] {
			r.claimed = append(r.claimed, i)
		} else {
			known, r.known[i] = append(known, i), true
		}
	}
	if len(known) > 0 {
		if err := c.readRequests(t, known); err != nil {
			return err
		}
	}
	c.plan()
	return nil
}

func (c *creation) ofRequests(places []int, value func(*store.NewJob) int64) []int64 {
	return column(places, func(i *int) int64 { return value(&c.jobs[*i]) })
}

func (c *creation) idsOf(places []int, value func(*store.NewJob) uuid.UUID) []uuid.UUID {
	return column(places, func(i *int) uuid.UUID { return value(&c.jobs[*i]) })
}

// fromRequests selects requests q by the arguments $1 to $3 and the jobs j that they
// were answered with.
const fromRequests = ` FROM unnest($1::bigint[], $2::uuid[], $3::boolean[]) WITH ORDINALITY AS u (account, id, whole, i)
	JOIN requests q ON q.account = u.account AND q.id = u.id LEFT JOIN jobs j ON j.account = q.account AND j.id = q.job`

// readRequests sets the results of jobs whose requests were answered before.
func (c *creation) readRequests(t *tx, known []int) error {
	args := []any{
		c.ofRequests(known, func(n *store.NewJob) int64 { return n.Job.Owner.Number }),
		c.idsOf(known, func(n *store.NewJob) uuid.UUID { return n.Request.ID }),
		column(known, func(i *int) bool { return !c.jobs[*i].Brief }),
	}
	if c.bounded {
		size := int64(0)
		err := t.run(query{
			sql: `SELECT coalesce(sum(` + argsSize + `), 0)::bigint` + fromRequests + ` WHERE u.whole`, args: args,
			row: func(rows pgx.Rows) error { return rows.Scan(&size) },
		})
		if err != nil {
			return err
		}
		if size > store.MaxHeld {
			return store.TooMuchHeld()
		}
	}
	digests := query{sql: `SELECT u.i, q.digest` + fromRequests, args: args, row: func(rows pgx.Rows) error {
		var i int64
		var digest []byte
		err := rows.Scan(&i, &digest)
		c.results[known[i-1]] = store.Inserted{Conflict: true, Repeated: true, Digest: digest}
		return err
	}}
	jobs := query{
		sql: `SELECT ` + jobHead + `CASE WHEN u.whole THEN j.args END, CASE WHEN u.whole THEN j.packed END, CASE WHEN u.whole THEN j.size END` + jobTail + `, ` +
			runColumns + `, u.i` + fromRequests + joinItem + `WHERE j.id IS NOT NULL`,
		args: args,
		row: func(rows pgx.Rows) error {
			var row jobRow
			var i int64
			if err := rows.Scan(append(row.targets(), &i)...); err != nil {
				return err
			}
			n := &c.jobs[known[i-1]]
			row.job.Owner = n.Job.Owner
			c.results[known[i-1]].Job = row.shown(t.now)
			return nil
		},
	}
	return t.run(digests, jobs)
}

// answer returns the statements that store what the requests are answered with, where
// that is not the job that they created.
func (c *creation) answer() []query {
	var others, refused []int
	for _, i := range c.claimed {
		result := &c.results[i]
		switch {
		case !c.jobs[i].Request.Answers(result):
			refused = append(refused, i)
		case result.Job.ID != c.jobs[i].Job.ID:
			others = append(others, i)
		}
	}
	key := func(places []int) []any {
		return []any{
			c.ofRequests(places, func(n *store.NewJob) int64 { return n.Job.Owner.Number }),
			c.idsOf(places, func(n *store.NewJob) uuid.UUID { return n.Request.ID }),
		}
	}
	var queries []query
	if len(others) > 0 {
		queries = append(queries, query{
			sql: `UPDATE requests r SET job = u.job FROM unnest($1::bigint[], $2::uuid[], $3::uuid[]) AS u (account, id, job)
				WHERE r.account = u.account AND r.id = u.id`,
			args: append(key(others), column(others, func(i *int) uuid.UUID { return c.results[*i].Job.ID })),
		})
	}
	if len(refused) > 0 {
		queries = append(queries, query{
			sql:  `DELETE FROM requests r USING unnest($1::bigint[], $2::uuid[]) AS u (account, id) WHERE r.account = u.account AND r.id = u.id`,
			args: key(refused),
		})
	}
	return queries
}

// repeatRequests sets the results of jobs whose requests an earlier job of the call has.
func (r *requests) repeatRequests(jobs []store.NewJob, results []store.Inserted) {
	for i, first := range r.again {
		if results[first].Repeated {
			results[i] = results[first]
			continue
		}
		results[i] = results[first].Repeat(jobs[first].Request)
	}
}

// JobRequested implements store.Requests.
func (s *Store) JobRequested(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]store.Inserted, error) {
	var known []store.Inserted
	now := s.Now()
	args := []any{owner.Number, ids, now.UnixMicro()}
	const from = ` FROM unnest($2::uuid[]) WITH ORDINALITY AS u (id, i) JOIN requests q ON q.account = (SELECT $1::bigint) AND q.id = u.id AND q.expires_at > $3 `
	err := s.read(ctx, query{
		sql: `SELECT u.i, q.digest` + from, args: args,
		start: func() { known = make([]store.Inserted, len(ids)) },
		row: func(rows pgx.Rows) error {
			var i int64
			var digest []byte
			err := rows.Scan(&i, &digest)
			known[i-1] = store.Inserted{Conflict: true, Repeated: true, Digest: digest}
			return err
		},
	}, query{
		sql: `SELECT ` + briefColumns + `, ` + runColumns + `, u.i` + from + `JOIN jobs j ON j.account = q.account AND j.id = q.job` +
			joinItem, args: args,
		row: func(rows pgx.Rows) error {
			var row jobRow
			var i int64
			if err := rows.Scan(append(row.targets(), &i)...); err != nil {
				return err
			}
			row.job.Owner = owner
			known[i-1].Job, known[i-1].Conflict, known[i-1].Repeated = row.shown(now), true, true
			return nil
		},
	})
	return known, err
}

func copyRequests(copied []*store.Request) []query {
	if len(copied) == 0 {
		return nil
	}
	type row = *store.Request
	return []query{{
		sql: `INSERT INTO requests (account, id, digest, job, expires_at)
			SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bytea[], $4::uuid[], $5::bigint[]) ON CONFLICT (account, id) DO NOTHING`,
		args: []any{
			column(copied, func(r *row) int64 { return (*r).Account }), column(copied, func(r *row) uuid.UUID { return (*r).ID }),
			column(copied, func(r *row) []byte { return (*r).Digest }), column(copied, func(r *row) uuid.UUID { return (*r).Job }),
			column(copied, func(r *row) int64 { return (*r).ExpiresAt.UnixMicro() }),
		},
	}}
}
