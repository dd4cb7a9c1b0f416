package store

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// PageBytes bounds the bytes of Args, Payload and other long fields in a read
	// of several records, unless its query has a lower bound. The record that
	// exceeds it is the last one read; see Fit.
	PageBytes = 8 << 20
	// ReadWithin is the timeout of a read for a client, including the wait for a
	// connection. The read then returns a TooMany fault.
	ReadWithin = 10 * time.Second
	// heavyOffset is the offset above which a read counts as heavy.
	heavyOffset = 5_000
)

// Budget returns the page's budget in bytes.
func (q ListQuery) Budget() int {
	if q.Bytes > 0 && q.Bytes < PageBytes {
		return q.Bytes
	}
	return PageBytes
}

// Heavy reports whether the cost of a list grows with the number of its owner's
// records: it is sorted, or skips many records.
func (q ListQuery) Heavy() bool { return q.Order.Field != "" || q.Offset > heavyOffset }

// Heavy reports whether the cost of a list grows with the number of its owner's
// records. There is an index for each filter, but none for several.
func (q JobQuery) Heavy() bool { return q.ListQuery.Heavy() || q.Combined() }

// Heavy reports whether the cost of a list grows with the number of its owner's
// records.
func (q ScheduleQuery) Heavy() bool { return q.ListQuery.Heavy() || len(q.Tags) > 1 }

// Heavy reports whether the cost of a list grows with the number of its owner's
// records. The common events have no index.
func (q LogQuery) Heavy() bool {
	return q.ListQuery.Heavy() || q.Job == nil && (q.Event == job.EventRequest || q.Event == job.EventResponse)
}

// The sizes below count the bytes of a record's long fields, for page budgets.

// JobSize returns the size of a job.
func JobSize(j *job.Job) int { return len(j.Args) }

// ScheduleSize returns the size of a schedule.
func ScheduleSize(s *job.Schedule) int { return len(s.Args) + len(s.State) + len(s.Previous) }

// LogSize returns the size of a log.
func LogSize(l *job.Log) int { return len(l.Payload) }

// AuditSize returns the size of an entry of the audit log.
func AuditSize(a *Audit) int { return len(a.ActorName) + len(a.Address) + len(a.Detail) }

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
