package job

import "github.com/google/uuid"

// PageBytes bounds the bytes of Args, Payload and other long fields in a read
// of several records, unless its query has a lower bound. The record that
// exceeds it is the last one read; see Fit.
const PageBytes = 8 << 20

// Budget returns the page's budget in bytes.
func (q ListQuery) Budget() int {
	if q.Bytes > 0 && q.Bytes < PageBytes {
		return q.Bytes
	}
	return PageBytes
}

// The sizes below count the bytes of a record's long fields, for page budgets.

// Size returns the size of a job.
func Size(j *Job) int { return len(j.Args) + j.Hidden.Size() }

// ScheduleSize returns the size of a schedule.
func ScheduleSize(s *Schedule) int {
	return len(s.Args) + s.Hidden.Size() + len(s.State) + len(s.Previous) + len(s.HiddenPrevious)
}

// LogSize returns the size of a log.
func LogSize(l *Log) int { return len(l.Payload) }

// TotalSize returns the sum of the sizes of records.
func TotalSize[T any](records []T, of func(T) int) (n int) {
	for _, r := range records {
		n += of(r)
	}
	return n
}

// Fit cuts a page down to limit records and a budget of bytes, and reports
// whether more records follow. The records must have been read with that budget
// and with a limit of one more. A page never loses its first record, however
// large it is.
func Fit[T any](records []T, limit, budget int, of func(T) int) (page []T, more bool) {
	size := 0
	for i, r := range records {
		size += of(r)
		if i == limit || size > budget && i > 0 {
			return records[:i], true
		}
	}
	// Reading also stops after a first record that exceeds the budget by itself.
	return records, size > budget
}

// Position returns where the page after a job begins, in the default order.
func (j *Job) Position() (number int64, id uuid.UUID) { return j.Number, uuid.Nil }

// Position returns where the page after a schedule begins, in the default order.
func (s *Schedule) Position() (number int64, id uuid.UUID) { return 0, s.ID }

// Position returns where the page after a log begins, in the default order.
func (l *Log) Position() (number int64, id uuid.UUID) { return 0, l.ID }

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	// Next selects the part that follows: the query of this one with another
	// position. It is nil at the end of the list.
	Next *ListQuery
}

// ReadPage reads the part of a list that q selects. It calls read with a limit of
// one more, which shows whether other records follow, and cuts the result down to
// the limit and byte budget of q. In the default order, position returns where
// the page after a record begins.
func ReadPage[T any](q ListQuery, size func(T) int, position func(T) (number int64, id uuid.UUID),
	read func(ListQuery) ([]T, error)) (Page[T], error) {
	one := q
	one.Limit++
	records, err := read(one)
	if err != nil {
		return Page[T]{}, err
	}
	records, more := Fit(records, q.Limit, q.Budget(), size)
	page := Page[T]{Items: records}
	if !more {
		return page, nil
	}
	next := q
	if q.Order.Field == "" {
		next.Offset = 0
		next.After, next.AfterID = position(records[len(records)-1])
	} else {
		next.Offset += len(records)
	}
	page.Next = &next
	return page, nil
}
