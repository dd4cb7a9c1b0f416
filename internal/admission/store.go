package admission

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// heavySlots and pageSlots are the numbers of heavy and other lists that an
	// account may read at a time.
	heavySlots = 2
	pageSlots  = 4
	// totalBytes is the budget for all clients.
	totalBytes = 64 << 20
	// smallPage and smallRecord are sizes that most pages and records don't exceed.
	// Smaller records are not counted.
	smallPage   = 256 << 10
	smallRecord = 64 << 10
)

// Records is what clients read, and what belongs to it in the store.
type Records interface {
	store.Jobs
	store.Requests
	store.Schedules
	store.Definitions
	store.Logs
	store.Versions
	store.Summaries
	store.Limits
	store.Groups
	store.Runs
	store.WaitQueue
	store.Completions
	store.Audits
	store.Operations
	store.JobSearch
	store.Mutes
	MonthsOf(ctx context.Context, key store.ScheduleKey, limit int) (*store.RunMonths, error)
	Now() time.Time
}

// Store bounds the reads of the wrapped store. It passes on all other calls.
type Store struct {
	Records
	heavy, pages *slots
	bytes        *budget
}

var _ Records = (*Store)(nil)

// New returns a Store that wraps another one.
func New(records Records) *Store {
	return &Store{Records: records, heavy: newSlots(heavySlots), pages: newSlots(pageSlots), bytes: newBudget(totalBytes)}
}

// Held returns how many bytes of records are in memory for responses under way.
func (s *Store) Held() int {
	s.bytes.mu.Lock()
	defer s.bytes.mu.Unlock()
	return s.bytes.used
}

// Enter waits for a heavy slot, for other work that costs as much as a heavy
// list; leave releases it. It returns a TooMany fault if no slot became free in
// time.
func (s *Store) Enter(ctx context.Context, account int64) (leave func(), err error) {
	return s.heavy.enter(ctx, account)
}

func (s *Store) enter(ctx context.Context, account int64, heavy bool) (leave func(), err error) {
	if heavy {
		return s.heavy.enter(ctx, account)
	}
	return s.pages.enter(ctx, account)
}

// page is how a page of records is read, within the bytes of its query.
type page[T any] struct {
	size func(T) int // of a record, in bytes
	read func() ([]T, error)
}

// list reads a page within q's budget, first with the budget of a small page unless
// its bytes are reserved.
func list[T any](ctx context.Context, s *Store, owner job.Owner, heavy bool, q *job.ListQuery, p page[T]) ([]T, error) {
	leave, err := s.enter(ctx, owner.Number, heavy)
	if err != nil {
		return nil, err
	}
	defer leave()
	full := q.Budget()
	if smallPage < full && !isReserved(ctx) {
		q.Bytes = smallPage
		found, fits, err := p.within(ctx, s, owner, q.Bytes, true)
		if fits || err != nil {
			return found, err
		}
	}
	q.Bytes = full
	found, _, err := p.within(ctx, s, owner, full, false)
	return found, err
}

// within reserves bytes and reads records. The bytes read count until the response
// is written. With mustFit, it discards the records if they exceed the reservation;
// fits reports whether they don't.
func (p page[T]) within(ctx context.Context, s *Store, owner job.Owner, bytes int, mustFit bool) (found []T, fits bool, err error) {
	l, err := s.take(ctx, owner, bytes)
	if err != nil {
		return nil, false, err
	}
	found, err = p.read()
	n := job.TotalSize(found, p.size)
	if fits = n <= bytes; err != nil || mustFit && !fits {
		l.release()
		return nil, false, err
	}
	keep(ctx, l, n)
	return found, fits, nil
}

// one reads a record that is usually small. It discards a large one and reads it
// again after reserving bytes for it, unless they are reserved.
func one[T any](ctx context.Context, s *Store, owner job.Owner, size func(T) int, read func() (T, error)) (T, error) {
	found, err := read()
	n := 0
	if err == nil {
		n = size(found)
	}
	if n <= smallRecord || isReserved(ctx) {
		return found, err
	}
	var none T
	found = none
	l, err := s.take(ctx, owner, n)
	if err != nil {
		return none, err
	}
	if found, err = read(); err != nil {
		l.release()
		return none, err
	}
	keep(ctx, l, size(found))
	return found, nil
}

// few reads a bounded number of records, with a slot.
func few[T any](ctx context.Context, s *Store, owner job.Owner, size func(T) int, read func() (T, error)) (T, error) {
	return fewOf(ctx, s, owner, false, size, read)
}

// fewOf is few with a heavy slot or a page slot.
func fewOf[T any](ctx context.Context, s *Store, owner job.Owner, heavy bool, size func(T) int, read func() (T, error)) (T, error) {
	leave, err := s.enter(ctx, owner.Number, heavy)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return one(ctx, s, owner, size, read)
}

func nothing[T any](T) int { return 0 }

func jobsSize(jobs []*job.Job) int { return job.TotalSize(jobs, jobSize) }

// jobSize is job.Size for a job that may be nil.
func jobSize(j *job.Job) int {
	if j == nil {
		return 0
	}
	return job.Size(j)
}

// JobList implements Records.
func (s *Store) JobList(ctx context.Context, owner job.Owner, q job.Query) ([]*job.Job, error) {
	return list(ctx, s, owner, q.Heavy(), &q.ListQuery,
		page[*job.Job]{job.Size, func() ([]*job.Job, error) { return s.Records.JobList(ctx, owner, q) }})
}

// ScheduleList implements Records.
func (s *Store) ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error) {
	return list(ctx, s, owner, q.Heavy(), &q.ListQuery,
		page[*job.Schedule]{job.ScheduleSize, func() ([]*job.Schedule, error) { return s.Records.ScheduleList(ctx, owner, q) }})
}

// LogList implements Records.
func (s *Store) LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error) {
	return list(ctx, s, owner, q.Heavy(), &q.ListQuery,
		page[*job.Log]{job.LogSize, func() ([]*job.Log, error) { return s.Records.LogList(ctx, owner, q) }})
}

// LogWalk implements Records. The result of a walk that was cut says where to
// continue.
func (s *Store) LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, look int) (*job.LogWalk, error) {
	return few(ctx, s, owner, func(w *job.LogWalk) int { return job.TotalSize(w.Logs, job.LogSize) }, func() (*job.LogWalk, error) {
		return s.Records.LogWalk(ctx, owner, schedule, q, look)
	})
}

// JobScan implements Records. It counts as heavy because it reads megabytes of
// args, or many index entries.
func (s *Store) JobScan(ctx context.Context, owner job.Owner, q job.Query, look int,
	match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	found, err = fewOf(ctx, s, owner, true, jobsSize, func() (jobs []*job.Job, err error) {
		jobs, next, err = s.Records.JobScan(ctx, owner, q, look, match)
		return jobs, err
	})
	return found, next, err
}

// JobGet implements Records.
func (s *Store) JobGet(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	return one(ctx, s, owner, job.Size, func() (*job.Job, error) { return s.Records.JobGet(ctx, owner, id) })
}

// ScheduleGet implements Records.
func (s *Store) ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return one(ctx, s, owner, job.ScheduleSize, func() (*job.Schedule, error) { return s.Records.ScheduleGet(ctx, owner, id) })
}

// LogGet implements Records.
func (s *Store) LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error) {
	return one(ctx, s, owner, job.LogSize, func() (*job.Log, error) { return s.Records.LogGet(ctx, owner, id) })
}

// JobGetMany implements Records.
func (s *Store) JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error) {
	return few(ctx, s, owner, jobsSize, func() ([]*job.Job, error) { return s.Records.JobGetMany(ctx, owner, ids) })
}

// LogGetMany implements Records.
func (s *Store) LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]*job.Log, error) {
	size := func(logs []*job.Log) int { return job.TotalSize(logs, job.LogSize) }
	return few(ctx, s, owner, size, func() ([]*job.Log, error) { return s.Records.LogGetMany(ctx, owner, ids) })
}

// AuditList implements Records.
func (s *Store) AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	size := func(entries []*identity.AuditEntry) int { return job.TotalSize(entries, identity.AuditSize) }
	return few(ctx, s, job.Owner{Number: account}, size, func() ([]*identity.AuditEntry, error) {
		return s.Records.AuditList(ctx, account, event, after, limit)
	})
}

// JobTally implements Records.
func (s *Store) JobTally(ctx context.Context, owner job.Owner, q job.Query, limit int) (counts map[job.State]int64, cut bool, err error) {
	heavy := q.Path() == job.ByFilter
	counts, err = fewOf(ctx, s, owner, heavy, nothing, func() (counts map[job.State]int64, err error) {
		counts, cut, err = s.Records.JobTally(ctx, owner, q, limit)
		return counts, err
	})
	return counts, cut, err
}

// JobMessages implements Records.
func (s *Store) JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error) {
	return few(ctx, s, owner, nothing, func() ([]*job.Delivery, error) { return s.Records.JobMessages(ctx, owner, number, limit) })
}

// ScheduleRuns implements Records.
func (s *Store) ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID,
	limit int) (map[uuid.UUID][]job.RunSummary, error) {
	return few(ctx, s, owner, nothing, func() (map[uuid.UUID][]job.RunSummary, error) {
		return s.Records.ScheduleRuns(ctx, owner, schedules, limit)
	})
}

// JobsDue implements Records.
func (s *Store) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error) {
	return few(ctx, s, owner, func(d *job.DueJobs) int { return jobsSize(d.Jobs) }, func() (*job.DueJobs, error) {
		return s.Records.JobsDue(ctx, owner, before, limit, look)
	})
}

// FailedJobs implements Records.
func (s *Store) FailedJobs(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error) {
	return few(ctx, s, owner, nothing, func() ([]job.FailedJob, error) { return s.Records.FailedJobs(ctx, owner, since, limit) })
}

// JobOrigins implements Records.
func (s *Store) JobOrigins(ctx context.Context, owner job.Owner, numbers []int64) ([]job.FailedJob, error) {
	return few(ctx, s, owner, nothing, func() ([]job.FailedJob, error) { return s.Records.JobOrigins(ctx, owner, numbers) })
}

// JobFailures implements Records.
func (s *Store) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]job.LastFailure, error) {
	return few(ctx, s, owner, nothing, func() (map[int64]job.LastFailure, error) { return s.Records.JobFailures(ctx, owner, numbers) })
}

// SchedulesNamed implements Records.
func (s *Store) SchedulesNamed(ctx context.Context, owner job.Owner, name string, limit int) ([]uuid.UUID, error) {
	return few(ctx, s, owner, nothing, func() ([]uuid.UUID, error) { return s.Records.SchedulesNamed(ctx, owner, name, limit) })
}

// ScheduleNames implements Records.
func (s *Store) ScheduleNames(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return few(ctx, s, owner, nothing, func() (map[uuid.UUID]*string, error) { return s.Records.ScheduleNames(ctx, owner, ids) })
}

// SchedulesFailing implements Records.
func (s *Store) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error) {
	return few(ctx, s, owner, nothing, func() ([]job.FailingSchedule, error) { return s.Records.SchedulesFailing(ctx, owner, limit) })
}

// MuteList implements Records.
func (s *Store) MuteList(ctx context.Context, account int64, schedules []uuid.UUID) ([]*job.Mute, error) {
	return few(ctx, s, job.Owner{Number: account}, nothing,
		func() ([]*job.Mute, error) { return s.Records.MuteList(ctx, account, schedules) })
}

// MonthsOf implements Records.
func (s *Store) MonthsOf(ctx context.Context, key store.ScheduleKey, limit int) (*store.RunMonths, error) {
	return fewOf(ctx, s, job.Owner{Number: key.Account}, true, nothing,
		func() (*store.RunMonths, error) { return s.Records.MonthsOf(ctx, key, limit) })
}
