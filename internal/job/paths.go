package job

import (
	"errors"
	"reflect"
	"slices"
	"time"
)

// Path is how a store reads a list of jobs.
type Path int

const (
	// ByNumber reads jobs in order of their numbers, from the index by account and
	// state.
	ByNumber Path = iota
	// ByState reads jobs in order of their states' names, from the same index.
	ByState
	// ByFilter reads the jobs that a filter selects, and sorts them if necessary.
	ByFilter
)

// Path returns how to read a list. A field that it does not name, also one that
// is added later, makes it ByFilter.
func (q Query) Path() Path {
	rest := q
	rest.ListQuery, rest.States = ListQuery{}, nil
	switch {
	case !reflect.ValueOf(rest).IsZero():
		return ByFilter
	case q.Order.Field == "" || q.Order.Field == "job_id":
		return ByNumber
	case q.Order.Field == "state" && q.After == 0:
		return ByState
	}
	return ByFilter
}

// Combined reports whether q has several filters that must be intersected, as no
// index serves all of them. Pages of such a list in the default order are read
// with JobScan, whose cost is bounded.
func (q Query) Combined() bool {
	terms := len(q.Terms())
	return q.Timed() || terms > 1 || terms == 1 && len(q.States) > 0
}

// Timed reports whether q is filtered by time.
func (q Query) Timed() bool { return !q.Since.IsZero() || !q.Until.IsZero() }

// Among returns those of the states that q selects; all if it has none.
func (q Query) Among(states []State) []State {
	if len(q.States) == 0 {
		return states
	}
	return slices.DeleteFunc(slices.Clone(states), func(s State) bool { return !slices.Contains(q.States, s) })
}

// ErrUnsupported is returned by scans and counts for an order or an offset, which
// they don't support.
var ErrUnsupported = errors.New("a scan supports neither an order nor an offset")

// Unordered returns ErrUnsupported if q has an order or an offset.
func (q ListQuery) Unordered() error {
	if q.Order != (Order{}) || q.Offset != 0 {
		return ErrUnsupported
	}
	return nil
}

// InsertWithin is the greatest difference between the orders of jobs by number
// and by InsertedAt: a job that was stored this much later than another has the
// higher number. A job gets its time when it is read, and its number when it is
// stored.
const InsertWithin = time.Minute
