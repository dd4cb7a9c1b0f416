package store

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// PageBytes is how many bytes of Args, Payload and other long fields a read
	// of several records holds, unless its query says less. It ends with the
	// record that goes beyond; see Fit.
	PageBytes = 8 << 20
	// ReadWithin is how long a read for a client takes at most, waiting for a
	// connection included. A TooMany fault ends it then.
	ReadWithin = 10 * time.Second
	// heavyOffset is from which offset on a read counts as heavy.
	heavyOffset = 5_000
)

// Budget is how many bytes a page holds.
func (q ListQuery) Budget() int {
	if q.Bytes > 0 && q.Bytes < PageBytes {
		return q.Bytes
	}
	return PageBytes
}

// Heavy reports whether the cost of a list grows with what its owner has
// stored: it is sorted, or many records are passed over.
func (q ListQuery) Heavy() bool { return q.Order.Field != "" || q.Offset > heavyOffset }

// Heavy reports whether the cost of a list grows with what its owner has
// stored. A state is no index among the jobs of a schedule or a key.
func (q JobQuery) Heavy() bool {
	return q.ListQuery.Heavy() || len(q.States) > 0 && (q.Schedule != [16]byte{} || q.Key != nil)
}

// Heavy reports whether the cost of a list grows with what its owner has
// stored. The common events have no index.
func (q LogQuery) Heavy() bool {
	return q.ListQuery.Heavy() || q.Job == nil && (q.Event == job.EventRequest || q.Event == job.EventResponse)
}

// Pages budget records by these sizes in bytes, of their long fields.

// JobSize is the size of a job.
func JobSize(j *job.Job) int { return len(j.Args) }

// ScheduleSize is the size of a schedule.
func ScheduleSize(s *job.Schedule) int { return len(s.Args) + len(s.State) + len(s.Previous) }

// LogSize is the size of a log.
func LogSize(l *job.Log) int { return len(l.Payload) }

// AuditSize is the size of an entry of the audit log.
func AuditSize(a *Audit) int { return len(a.ActorName) + len(a.Address) + len(a.Detail) }

// TotalSize is the size of records together.
func TotalSize[T any](records []T, of func(T) int) (n int) {
	for _, r := range records {
		n += of(r)
	}
	return n
}

// Fit cuts a page down to limit records and to a budget of bytes, and reports
// whether something follows. Records were read with that budget and with a limit
// of one more, so that what follows is known. There is always a first one, however
// large.
func Fit[T any](records []T, limit, budget int, of func(T) int) (page []T, more bool) {
	size := 0
	for i, r := range records {
		size += of(r)
		if i == limit || size > budget && i > 0 {
			return records[:i], true
		}
	}
	// A first one that is beyond the budget by itself ends the reading as well.
	return records, size > budget
}
