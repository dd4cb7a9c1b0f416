package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// source returns queries that together select the numbers up to last of the jobs that a
// filter selects, each in descending order by an index.
type source func(c *condition, last string) []string

// sources returns the source of each filter of q, except the times.
func (s *Store) sources(owner job.Owner, q job.Query) (all []source) {
	for _, t := range q.Terms() {
		all = append(all, func(c *condition, last string) []string {
			if t.Column == job.TagColumn {
				const sql = `SELECT j.number FROM job_tags j WHERE j.account = (SELECT ?::bigint) AND j.tag = ? AND j.number <= `
				return []string{c.numbered(sql, owner.Number, text(t.Value.(string))) + last + ` ORDER BY j.number DESC`}
			}
			where, order := c.having(owner, t.Column, c.value(t), last)
			return []string{`SELECT j.number FROM jobs j WHERE ` + where + order}
		})
	}
	switch now := s.Now().UnixMicro(); {
	case len(q.States) > 0:
		all = append(all, func(c *condition, last string) (states []string) {
			for _, state := range q.States {
				states = append(states, inState(c, owner, stateBranch{state: state, rank: `0`, shown: true, now: now, last: last}))
			}
			return states
		})
	case len(all) == 0:
		all = append(all, func(c *condition, last string) []string {
			const sql = `SELECT j.number FROM jobs j WHERE j.account = (SELECT ?::bigint) AND j.number <= `
			return []string{c.numbered(sql, owner.Number) + last + ` ORDER BY j.number DESC`}
		})
	}
	return all
}

// floor returns an expression for the number of the job that is so many places behind
// the highest up to w.n of those that a filter selects, 0 if there is none.
func (of source) floor(c *condition, behind int) string {
	queries := of(c, `w.n`)
	for i, sql := range queries {
		queries[i] = fmt.Sprintf(`coalesce((SELECT f.number FROM (%s LIMIT 1 OFFSET %d) f), 0)`, sql, behind)
	}
	return `greatest(` + strings.Join(queries, `, `) + `)`
}

// floors returns the floor of each source.
func floors(c *condition, sources []source, behind int) []string {
	all := make([]string, len(sources))
	for i, of := range sources {
		all[i] = of.floor(c, behind)
	}
	return all
}

// walked is the result of a walk.
type walked struct {
	numbers []int64
	next    int64 // the job to continue after; zero at the end
	lowest  int64 // below the first job that was inserted within the times
}

const (
	// walkSteps is how many positions a walk jumps to at most before it reads one index.
	walkSteps = 64
	// walkSample is how far ahead a walk looks in each index to find the sparsest.
	walkSample = 200
)

// search is a walk that has jumped, and what is left of it: q selects the jobs behind those
// it found, of which the index of source sparsest is read at look positions; 0 for none.
type search struct {
	q              job.Query
	look, sparsest int
	found          walked
}

// matching finds the numbers of up to q.Limit jobs that match all filters of q, newest
// first, after look positions at most. It jumps at first, which finds the jobs of frequent
// combinations and passes over whatever a rare filter excludes. A jump costs ten times as
// much as a row of an index, so then it reads the index that has the fewest jobs here, and
// looks for each of them in the others.
func (s *Store) matching(ctx context.Context, owner job.Owner, q job.Query, look int) (walked, error) {
	m, err := s.jump(ctx, owner, q, look)
	if err == nil && m.look > 0 {
		err = s.readAs(ctx, heavy, s.sift(owner, m.q, m.look, m.sparsest, &m.found))
	}
	return m.found, err
}

// jump begins a search.
func (s *Store) jump(ctx context.Context, owner job.Owner, q job.Query, look int) (m search, err error) {
	steps := min(walkSteps, (look+1)/2)
	err = s.readAs(ctx, heavy, s.walk(owner, q, steps, &m.found))
	if err != nil || m.found.next == 0 || len(m.found.numbers) == q.Limit || steps == look {
		return m, err
	}
	m.q, m.look = q, look-steps
	m.q.After, m.q.Limit = m.found.next, q.Limit-len(m.found.numbers)
	if sources := s.sources(owner, m.q); len(sources) > 1 {
		c := &condition{}
		far := strings.Join(floors(c, sources, min(m.look, walkSample)-1), `, `)
		err = s.readAs(ctx, heavy, query{
			sql:  `SELECT ARRAY[` + far + `] FROM (SELECT ` + c.upTo(m.q.After) + ` AS n) w`,
			args: c.args,
			row: func(rows pgx.Rows) error {
				var far []int64
				err := rows.Scan(&far)
				m.sparsest = slices.Index(far, slices.Min(far))
				return err
			},
		})
	}
	return m, err
}

// candidates returns a query for the next look numbers o.number of one source of q.
func (s *Store) candidates(c *condition, owner job.Owner, q job.Query, look, from int) string {
	branches := s.sources(owner, q)[from](c, c.upTo(q.After))
	for i, sql := range branches {
		branches[i] = `(` + sql + c.numbered(` LIMIT ?)`, look)
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return `SELECT b.number FROM (` + strings.Join(branches, ` UNION ALL `) + c.numbered(`) b ORDER BY b.number DESC LIMIT ?`, look)
}

// sift returns a query that adds the numbers of up to q.Limit jobs that match all filters
// of q. It reads look numbers of one of them, and looks for each in the others.
func (s *Store) sift(owner job.Owner, q job.Query, look, from int, found *walked) query {
	c := &condition{}
	read := s.candidates(c, owner, q, look, from)
	sql := `SELECT h.n, h.hit, h.place FROM (
			SELECT w.n, w.place, (w.n > ` + c.numbered(`?`, found.lowest) + s.selected(c, owner, q, from) + `) AS hit
			FROM (SELECT o.number AS n, row_number() OVER () AS place FROM (` + read + `) o) w OFFSET 0
		) h WHERE h.hit OR h.place = ` + c.numbered(`? LIMIT ?`, look, q.Limit)
	before := len(found.numbers)
	return query{
		sql: sql, args: c.args, start: func() { found.numbers, found.next = found.numbers[:before], 0 },
		row: func(rows pgx.Rows) error {
			var number int64
			var hit bool
			var place int
			err := rows.Scan(&number, &hit, &place)
			if hit {
				found.numbers = append(found.numbers, number)
			}
			// Behind the times there is nothing to continue with.
			if number > found.lowest && (place == look || len(found.numbers) == before+q.Limit) {
				found.next = number
			}
			return err
		},
	}
}

// selected returns the condition that the filters of q, except one of its sources, select
// job w.n. It looks for the job's tags before it reads the job.
func (s *Store) selected(c *condition, owner job.Owner, q job.Query, except int) (terms string) {
	of := &condition{args: c.args}
	all := q.Terms()
	for i, t := range all {
		switch {
		case i == except:
		case t.Column == job.TagColumn:
			const sql = ` AND EXISTS (SELECT FROM job_tags t WHERE t.account = (SELECT ?::bigint) AND t.tag = ? AND t.number = w.n OFFSET 0)`
			terms += of.numbered(sql, owner.Number, text(t.Value.(string)))
		default:
			of.terms = append(of.terms, `j.`+t.Column+` = `+of.value(t))
		}
	}
	join := ``
	if len(q.States) > 0 && except != len(all) {
		addStates(of, q.States, s.Now().UnixMicro())
		join = joinItem
	}
	if q.Timed() {
		of.add(`true` + within(of, q))
	}
	if len(of.terms) > 0 {
		terms += of.numbered(` AND EXISTS (SELECT FROM jobs j`+join+` WHERE j.account = (SELECT ?::bigint) AND j.number = w.n AND `, owner.Number) +
			of.String() + ` OFFSET 0)`
	}
	c.args = of.args
	return terms
}

// walk returns a query for the numbers of up to q.Limit jobs that match all
// filters of q, newest first, after look positions at most.
//
// It looks for the highest number in all indexes: each step asks each index for
// its highest number up to the lowest of the step before. So it jumps over
// whatever a rare filter excludes.
func (s *Store) walk(owner job.Owner, q job.Query, look int, found *walked) query {
	c := &condition{}
	floors := floors(c, s.sources(owner, q), 0)
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
			var low, high int64
			var hit bool
			var place int
			if err := rows.Scan(&low, &high, &hit, &found.lowest, &place); err != nil {
				return err
			}
			// The row of the last step says where the walk ended.
			switch {
			case low <= found.lowest:
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
	found, err := s.matching(ctx, owner, q, look)
	if err != nil || len(found.numbers) == 0 {
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
