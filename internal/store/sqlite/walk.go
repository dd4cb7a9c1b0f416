package sqlite

import (
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// source reads part of an index: numbers of jobs in descending order, in chunks.
// Chunks grow while they are used up and shrink when the walk jumps ahead.
type source struct {
	query string // its last two arguments are the highest number and the limit
	args  []any
	chunk []int64
	size  int // of the next chunk
	used  int // numbers of the chunk that the walk has stopped at
	ended bool
}

const minChunk, maxChunk = 8, 256

func newSource(from, where string, args ...any) *source {
	return &source{
		query: `SELECT number FROM ` + from + ` WHERE ` + where + ` AND number <= ? ORDER BY number DESC LIMIT ?`, args: args,
		size: minChunk,
	}
}

// floor returns the source's highest number that is at most n; 0 if there is none.
func (s *source) floor(t *tx, n int64) (int64, error) {
	for {
		for len(s.chunk) > 0 && s.chunk[0] > n {
			s.chunk = s.chunk[1:]
		}
		if len(s.chunk) > 0 {
			s.used++
			return s.chunk[0], nil
		}
		if s.ended {
			return 0, nil
		}
		if s.used > s.size/2 {
			s.size = min(4*s.size, maxChunk)
		} else {
			s.size = minChunk
		}
		var err error
		s.chunk, err = t.numbers(s.query, append(s.args[:len(s.args):len(s.args)], n, s.size)...)
		if err != nil {
			return 0, err
		}
		s.used, s.ended = 0, len(s.chunk) < s.size
	}
}

// filter selects jobs: those in any of its sources.
type filter []*source

func (f filter) floor(t *tx, n int64) (highest int64, err error) {
	for _, s := range f {
		at, err := s.floor(t, n)
		if err != nil {
			return 0, err
		}
		highest = max(highest, at)
	}
	return highest, nil
}

// filters returns the filters of q, except the times. Each has an index.
func (t *tx) filters(owner job.Owner, q job.Query) []filter {
	var all []filter
	add := func(from, where string, args ...any) {
		all = append(all, filter{newSource(from, where, args...)})
	}
	for _, t := range q.Terms() {
		if t.Column == job.TagColumn {
			add(`job_tags`, `account = ? AND tag = ?`, owner.Number, t.Value)
		} else {
			add(`jobs INDEXED BY jobs_`+t.Index, `account = ? AND `+t.Column+` = ?`, owner.Number, t.Value)
		}
	}
	states := q.States
	switch {
	case len(states) == 0 && len(all) > 0:
		return all
	case len(states) == 0:
		states = storedStates
	}
	var byState filter
	for _, state := range states {
		from, c := t.inState(owner, state, len(q.States) > 0)
		byState = append(byState, newSource(from, c.String(), c.args...))
	}
	return append(all, byState)
}

// walk returns the numbers of up to q.Limit jobs that match all filters of q,
// newest first, after look positions at most. Next is the job to continue after;
// zero at the end.
//
// It looks for the highest number in all indexes: it asks each for its highest
// number up to the lowest found so far, until all agree. So it jumps over
// whatever a rare filter excludes.
func (t *tx) walk(owner job.Owner, q job.Query, look int) (numbers []int64, next int64, err error) {
	at, lowest, err := t.numbersWithin(q)
	if err != nil {
		return nil, 0, err
	}
	if q.After != 0 {
		at = min(at, q.After-1)
	}
	filters := t.filters(owner, q)
	for range look {
		low := at
		for _, f := range filters {
			if low, err = f.floor(t, low); err != nil {
				return nil, 0, err
			}
		}
		if low <= lowest {
			return numbers, 0, nil
		}
		if low < at {
			at = low
			continue
		}
		matches, err := t.inTime(at, q)
		if err != nil {
			return nil, 0, err
		}
		if matches {
			numbers = append(numbers, at)
			if len(numbers) == q.Limit {
				return numbers, at, nil
			}
		}
		at--
	}
	return numbers, at + 1, nil
}

// numbersWithin returns bounds of the numbers of the jobs inserted within the
// times of q: highest is the last that is possible, lowest is below the first. IDs
// contain the time, so the index by ID finds them.
func (t *tx) numbersWithin(q job.Query) (highest, lowest int64, err error) {
	highest = math.MaxInt64 - 1
	read := func(n *int64) func(*sqlite.Stmt) error {
		return func(stmt *sqlite.Stmt) error {
			*n = stmt.ColumnInt64(0)
			return nil
		}
	}
	if !q.Since.IsZero() {
		err = t.query(`SELECT number FROM jobs INDEXED BY jobs_id WHERE id < ? ORDER BY id DESC LIMIT 1`, read(&lowest),
			job.IDBound(q.Since.Add(-job.InsertWithin)))
	}
	if !q.Until.IsZero() && err == nil {
		err = t.query(`SELECT number FROM jobs INDEXED BY jobs_id WHERE id >= ? ORDER BY id LIMIT 1`, read(&highest),
			job.IDBound(q.Until.Add(job.InsertWithin)))
	}
	return highest, lowest, err
}

// inTime reports whether a job was inserted within the times of q.
func (t *tx) inTime(number int64, q job.Query) (within bool, err error) {
	if !q.Timed() {
		return true, nil
	}
	err = t.query(`SELECT inserted_at FROM jobs WHERE number = ?`, func(stmt *sqlite.Stmt) error {
		at := (&columns{stmt: stmt}).time()
		within = !at.Before(q.Since) && (q.Until.IsZero() || at.Before(q.Until))
		return nil
	}, number)
	return within, err
}
