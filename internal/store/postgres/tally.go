package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// tallyFiltered counts the newest jobs that match filters.
func (s *Store) tallyFiltered(ctx context.Context, owner job.Owner, q job.Query,
	limit int) (counts map[job.State]int64, cut bool, err error) {
	q.ListQuery = job.ListQuery{Limit: limit + 1}
	if q.Combined() && len(q.States) == 1 {
		found, err := s.matching(ctx, owner, q, limit+1)
		n := len(found.numbers)
		return map[job.State]int64{q.States[0]: int64(min(limit, n))}, found.next != 0 || n > limit, err
	}
	c := &condition{}
	var m search
	var with, inner, read string
	if q.Combined() {
		if m, err = s.jump(ctx, owner, q, limit+1); err != nil {
			return nil, false, err
		}
		inner = `SELECT j.number, j.state FROM ` + c.owned(owner, listed(c, m.found.numbers)) +
			` JOIN jobs j ON j.account = n.account AND j.number = n.number`
		if m.look > 0 {
			with = `WITH w AS MATERIALIZED (SELECT o.number AS n FROM (` + s.candidates(c, owner, m.q, m.look, m.sparsest) + `) o) `
			inner = `(` + inner + `) UNION ALL (` + s.matched(c, owner, &m) + `)`
			read = c.numbered(` UNION ALL SELECT -1::smallint, count(*) FROM w WHERE w.n > ?`, m.found.lowest)
		}
	} else {
		inner = s.filtered(c, owner, q, `j.number, j.state`)
	}
	more := m.look == 0 && m.found.next != 0
	total := 0
	err = s.readAs(ctx, heavy, query{
		// The index of claimed items is small; that of all has several levels.
		sql: with + c.numbered(`SELECT CASE WHEN `+executes+` THEN ?::smallint ELSE n.state END, count(*) FROM `, s.Now().UnixMicro(),
			int16(job.Executing)) + c.owned(owner, inner) +
			` LEFT JOIN runs r ON n.state <= 2 AND r.account = n.account AND r.number = n.number AND r.node > 0 AND r.kind = 0 GROUP BY 1` + read,
		args: c.args, start: func() { counts, total, cut = map[job.State]int64{}, 0, more },
		row: func(rows pgx.Rows) error {
			var state int16
			var n int
			err := rows.Scan(&state, &n)
			if state < 0 { // how many positions have been looked at
				cut = n == m.look
				return err
			}
			total += n
			counts[job.State(state)] = min(int64(limit), int64(n))
			return err
		},
	})
	return counts, cut || total > limit, err
}

// matched returns a query for the numbers and states of those of the candidates w.n that
// match all filters of a search. It reads each job, whose state is needed, and so needs
// no index to know its tags.
func (s *Store) matched(c *condition, owner job.Owner, m *search) string {
	of := &condition{args: c.args}
	of.add(`j.account = (SELECT ?::bigint) AND j.number = w.n`, owner.Number)
	all := m.q.Terms()
	for i, t := range all {
		switch {
		case i == m.sparsest:
		case t.Column == job.TagColumn:
			of.add(`j.tags @> ARRAY[?::text]`, text(t.Value.(string)))
		default:
			of.terms = append(of.terms, `j.`+t.Column+` = `+of.value(t))
		}
	}
	join := ``
	if len(m.q.States) > 0 && m.sparsest != len(all) {
		addStates(of, m.q.States, s.Now().UnixMicro())
		join = joinItem
	}
	if m.q.Timed() {
		of.add(`true` + within(of, m.q))
	}
	sql := `SELECT j.number, j.state FROM w, LATERAL (SELECT j.number, j.state FROM jobs j` + join + ` WHERE ` + of.String() +
		of.numbered(` OFFSET 0) j WHERE w.n > ?`, m.found.lowest)
	c.args = of.args
	return sql
}
