package postgres

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// floors returns an expression for each filter of q, except the times: the highest
// number up to w.n of the jobs that it selects, 0 if there is none. Each has an
// index.
func (s *Store) floors(c *condition, owner job.Owner, q job.Query) []string {
	var all []string
	highest := func(sql string) string { return `coalesce((SELECT f.number FROM (` + sql + ` LIMIT 1) f), 0)` }
	for _, t := range q.Terms() {
		if t.Column == job.TagColumn {
			const sql = `SELECT j.number FROM job_tags j WHERE j.account = (SELECT ?::bigint) AND j.tag = ? AND j.number <= w.n ORDER BY j.number DESC`
			all = append(all, highest(c.numbered(sql, owner.Number, text(t.Value.(string)))))
			continue
		}
		where, order := c.having(owner, t.Column, c.value(t), `w.n`)
		all = append(all, highest(`SELECT j.number FROM jobs j WHERE `+where+order))
	}
	if len(q.States) == 0 {
		if len(all) == 0 {
			all = append(all, highest(c.numbered(`SELECT j.number FROM jobs j WHERE j.account = (SELECT ?::bigint) AND j.number <= w.n ORDER BY j.number DESC`, owner.Number)))
		}
		return all
	}
	var states []string
	for _, state := range q.States {
		states = append(states, highest(s.inState(c, owner, stateBranch{state: state, rank: `0`, shown: true, last: `w.n`})))
	}
	return append(all, `greatest(`+strings.Join(states, `, `)+`)`)
}

// walked is the result of a walk.
type walked struct {
	numbers []int64
	next    int64
}

// walk returns a query for the numbers of up to q.Limit jobs that match all
// filters of q, newest first, after look positions at most. Next is the job to
// continue after; zero at the end.
//
// It looks for the highest number in all indexes: each step asks each index for
// its highest number up to the lowest of the step before. So it jumps over
// whatever a rare filter excludes.
func (s *Store) walk(owner job.Owner, q job.Query, look int, found *walked) query {
	c := &condition{}
	floors := s.floors(c, owner, q)
	names := make([]string, len(floors))
	for i := range floors {
		names[i] = fmt.Sprintf(`f%d`, i)
	}
	list, agree := strings.Join(names, `, `), `f0 > b.lowest`
	for _, name := range names[1:] {
		agree += ` AND f0 = ` + name
	}
	if q.Timed() {
		agree += ` AND EXISTS (SELECT FROM jobs j WHERE j.account = ` + c.numbered(`(SELECT ?::bigint) AND j.number = f0`, owner.Number) +
			within(c, q) + ` OFFSET 0)`
	}
	bounds := numbersWithin(c, owner, q)
	step := `, ` + strings.Join(floors, `, `) + ` FROM `
	sql := `WITH RECURSIVE b AS MATERIALIZED (` + bounds + `),
		w (step, hits, ` + list + `) AS (
			SELECT 0, 0` + step + `(SELECT highest AS n FROM b) w
			UNION ALL
			SELECT w.step + 1, w.hits + w.hit` + step + `(
				SELECT w.step, w.hits, w.hit, CASE WHEN w.low = w.high THEN w.low - 1 ELSE w.low END AS n FROM (
					SELECT step, hits, least(` + list + `) AS low, greatest(` + list + `) AS high, (` + agree + `)::int AS hit FROM w, b
				) w, b WHERE w.low > b.lowest ` + c.numbered(`AND w.step + 1 < ? AND w.hits + w.hit < ?`, look, q.Limit) + `
			) w
		)
		SELECT least(` + list + `), greatest(` + list + `), (` + agree + `), b.lowest, step FROM w, b
		WHERE (` + agree + `) OR step = (SELECT max(step) FROM w) ORDER BY step`
	return query{
		sql: sql, args: c.args, start: func() { *found = walked{} },
		row: func(rows pgx.Rows) error {
			var low, high, lowest int64
			var hit bool
			var place int
			if err := rows.Scan(&low, &high, &hit, &lowest, &place); err != nil {
				return err
			}
			// The row of the last step says where the walk ended.
			switch {
			case low <= lowest:
				found.next = 0
			case hit || low == high:
				found.next = low
			default:
				found.next = low + 1
			}
			if hit {
				found.numbers = append(found.numbers, low)
			}
			return nil
		},
	}
}

// numbersWithin returns the query for the bounds of the numbers of the jobs
// inserted within the times of q, after its job After: highest is the last that is
// possible, lowest is below the first. IDs contain the time, so the index by ID
// finds them.
func numbersWithin(c *condition, owner job.Owner, q job.Query) string {
	last := int64(math.MaxInt64 - 1)
	if q.After != 0 {
		last = q.After - 1
	}
	highest := c.numbered(`?::bigint`, last)
	lowest := `0::bigint`
	if !q.Until.IsZero() {
		highest = c.numbered(`least(`+highest+`, (SELECT j.number FROM jobs j WHERE j.account = (SELECT ?::bigint) AND j.id >= ? ORDER BY j.id LIMIT 1))`,
			owner.Number, job.IDBound(q.Until.Add(job.InsertWithin)))
	}
	if !q.Since.IsZero() {
		lowest = c.numbered(`coalesce((SELECT j.number FROM jobs j WHERE j.account = (SELECT ?::bigint) AND j.id < ? ORDER BY j.id DESC LIMIT 1), 0)`,
			owner.Number, job.IDBound(q.Since.Add(-job.InsertWithin)))
	}
	return `SELECT ` + highest + ` AS highest, ` + lowest + ` AS lowest`
}

// within returns the condition that a job was inserted within the times of q.
func within(c *condition, q job.Query) string {
	var terms string
	if !q.Since.IsZero() {
		terms += c.numbered(` AND j.inserted_at >= ?`, q.Since.UnixMicro())
	}
	if !q.Until.IsZero() {
		terms += c.numbered(` AND j.inserted_at < ?`, q.Until.UnixMicro())
	}
	return terms
}

// listed returns the query for given numbers, in their order.
func listed(c *condition, numbers []int64) string {
	return c.numbered(`SELECT u.number FROM unnest(?::bigint[]) WITH ORDINALITY AS u (number, i) ORDER BY u.i`, numbers)
}

// scanWalk reads a page of jobs that match all filters of q; see JobScan.
func (s *Store) scanWalk(ctx context.Context, owner job.Owner, q job.Query, look int) ([]*job.Job, int64, error) {
	var found walked
	if err := s.readAs(ctx, heavy, s.walk(owner, q, look, &found)); err != nil || len(found.numbers) == 0 {
		return nil, found.next, err
	}
	var jobs []*job.Job
	c := &condition{}
	if err := s.readAs(ctx, heavy, s.boundedJobs(c, owner, listed(c, found.numbers), q.Budget(), &jobs)); err != nil {
		return nil, 0, err
	}
	// Jobs deleted meanwhile are missing, as are those beyond the budget.
	if n := len(jobs); n > 0 && n < len(found.numbers) && job.TotalSize(jobs, job.Size) > q.Budget() {
		found.next = jobs[n-1].Number
	}
	return jobs, found.next, nil
}

// tallyFiltered counts the newest jobs that match filters.
func (s *Store) tallyFiltered(ctx context.Context, owner job.Owner, q job.Query,
	limit int) (counts map[job.State]int64, cut bool, err error) {
	q.ListQuery = job.ListQuery{Limit: limit + 1}
	c := &condition{}
	var found walked
	var inner string
	if q.Combined() {
		if err := s.readAs(ctx, heavy, s.walk(owner, q, limit+1, &found)); err != nil {
			return nil, false, err
		}
		inner = `SELECT j.number, j.state FROM ` + c.owned(owner, listed(c, found.numbers)) +
			` JOIN jobs j ON j.account = n.account AND j.number = n.number`
	} else {
		inner = s.filtered(c, owner, q, `j.number, j.state`)
	}
	total := 0
	err = s.readAs(ctx, heavy, query{
		// The index of claimed items is small; that of all has several levels.
		sql: c.numbered(`SELECT CASE WHEN `+executes+` THEN ?::smallint ELSE n.state END FROM `, s.Now().UnixMicro(),
			int16(job.Executing)) +
			c.owned(owner, inner) + ` LEFT JOIN runs r ON n.state <= 2 AND r.account = n.account AND r.number = n.number AND r.node > 0 AND r.kind = 0`,
		args: c.args, start: func() { counts, total = map[job.State]int64{}, 0 },
		row: func(rows pgx.Rows) error {
			var state int16
			err := rows.Scan(&state)
			total++
			counts[job.State(state)] = min(int64(limit), counts[job.State(state)]+1)
			return err
		},
	})
	return counts, found.next != 0 || total > limit, err
}
