package service

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// AttemptQuery selects attempts.
type AttemptQuery struct {
	Limit int
	// After is the position of the page before; the zero value for the first page.
	After job.LogPlace
	// Logs has the filters of the logs: Job, Event, Since and Until.
	Logs job.LogQuery
	// Jobs has the filters of the jobs, except states and times.
	Jobs job.Query
	// Match selects attempts by the log of their outcome. nil selects all, and those
	// under way too.
	Match func(outcome *job.Log) bool
}

// ofJobs reports whether the attempts are found by their jobs: a filter other than the
// schedule selects these.
func (q *AttemptQuery) ofJobs() bool {
	others := q.Jobs
	others.Schedule = uuid.Nil
	return len(others.Terms()) > 0
}

// Attempt is an attempt of a job in a list: the log of its outcome or, without
// one, of its request.
type Attempt struct {
	*job.Log
	Name       *string // of the job
	Method     string
	URL        string
	ScheduleID uuid.UUID // uuid.Nil for a one-off job
	Ended      bool      // the job is final
}

// AttemptPage is a part of a list of attempts. Next is nil at its end.
type AttemptPage struct {
	Items []Attempt
	Next  *job.LogPlace
}

// How many logs a page of attempts reads at a time, and of how many jobs if it finds
// attempts by them.
const (
	attemptChunk = 100
	attemptJobs  = 50
	// jobsTogether is how many jobs are read at a time for their names.
	jobsTogether = 5
)

// Attempts reads a page of attempts, newest first: by the time of their outcomes
// or, while they are under way, of their requests. With a schedule or a filter of
// jobs they are ordered by job, newest job first.
//
// A page reads at most 1,000 logs, of at most 50 jobs if it finds them by their
// jobs, so a page that is not full, or is empty, may have a next one.
func (s *Service) Attempts(ctx context.Context, owner job.Owner, q AttemptQuery) (AttemptPage, error) {
	page, fits, err := s.readAttempts(ctx, owner, q, ofSmallAttempts, 0)
	if fits || err != nil {
		return page, err
	}
	page, _, err = s.readAttempts(ctx, owner, q, ofAttempts, besideAttempts)
	return page, err
}

// readAttempts reads a page of attempts. It first reserves the bytes of the walk, and
// spare ones for what describes the attempts, so that a large page waits for bytes
// only while it holds none. Without spare ones it stops, and fits is false, if the
// walk spends its bytes.
func (s *Service) readAttempts(ctx context.Context, owner job.Owner, q AttemptQuery, left effort,
	spare int) (page AttemptPage, fits bool, err error) {
	reserved, settle, err := admission.Reserve(ctx, s.Store, owner, left.bytes+spare)
	if err != nil {
		return page, false, err
	}
	kept := 0
	defer func() { settle(kept) }()
	w := &attemptWalk{s: s, ctx: reserved, owner: owner, q: q, at: q.After, left: left, latest: map[int64]string{}}
	more, err := w.run()
	if err != nil || spare == 0 && w.left.bytes <= 0 {
		return page, false, err
	}
	if spare > 0 {
		ctx = reserved
	}
	if err := s.describe(ctx, owner, w.found); err != nil {
		return page, false, err
	}
	if page.Items = w.found; more {
		page.Next = &w.at
	}
	kept = job.TotalSize(page.Items, func(a Attempt) int { return job.LogSize(a.Log) })
	return page, true, nil
}

// AttemptOf returns the attempt that a log belongs to, and the log of its request,
// which is nil if nothing was sent. It returns a NotFound fault for the logs of
// other events.
func (s *Service) AttemptOf(ctx context.Context, owner job.Owner, id uuid.UUID) (a Attempt, request *job.Log, err error) {
	l, err := s.Store.LogGet(ctx, owner, id)
	switch {
	case err != nil:
		return a, nil, err
	case l.Event == job.EventRequest:
		request = l
		outcome, _, err := s.nextOf(ctx, owner, l)
		if err != nil {
			return a, nil, err
		}
		if a.Log = outcome; outcome == nil {
			a.Log = l
		}
	case !isOutcome(l):
		return a, nil, fault.NoSuch("attempt")
	default:
		a.Log = l
		if request, err = s.requestOf(ctx, owner, l); err != nil {
			return a, nil, err
		}
	}
	one := []Attempt{a}
	err = s.describe(ctx, owner, one)
	return one[0], request, err
}

// requestOf returns the request of the attempt with an outcome; nil if there is none.
func (s *Service) requestOf(ctx context.Context, owner job.Owner, outcome *job.Log) (*job.Log, error) {
	older := job.LogQuery{ListQuery: job.ListQuery{Limit: 4, AfterID: outcome.ID}, Job: &job.Ref{Number: outcome.Job}}
	logs, err := s.Store.LogList(ctx, owner, older)
	for _, l := range logs {
		if l.Event == job.EventRequest {
			return l, nil
		}
		if isOutcome(l) {
			break
		}
	}
	return nil, err
}

// isOutcome reports whether a log is of the end of an attempt.
func isOutcome(l *job.Log) bool {
	switch l.Event {
	case job.EventResponse:
		return !l.Awaiting()
	case job.EventError, job.EventCompletion:
		return true
	}
	return false
}

// nextOf returns the outcome of the attempt with a request; nil if there is none. It
// also returns how many bytes it read.
func (s *Service) nextOf(ctx context.Context, owner job.Owner, request *job.Log) (outcome *job.Log, bytes int, err error) {
	newer := job.LogQuery{ListQuery: job.ListQuery{Limit: 4, AfterID: request.ID}, Job: &job.Ref{Number: request.Job}, Oldest: true}
	logs, err := s.Store.LogList(ctx, owner, newer)
	bytes = job.TotalSize(logs, job.LogSize)
	for _, l := range logs {
		if isOutcome(l) {
			return l, bytes, nil
		}
		if l.Event == job.EventRequest {
			break
		}
	}
	return nil, bytes, err
}

// describe adds what the jobs of attempts say. Few jobs are read at a time, because
// their args may be large.
func (s *Service) describe(ctx context.Context, owner job.Owner, attempts []Attempt) error {
	of := map[int64][]int{}
	var refs []job.Ref
	for i := range attempts {
		number := attempts[i].Job
		if of[number] == nil {
			refs = append(refs, job.Ref{Number: number})
		}
		of[number] = append(of[number], i)
	}
	for some := range slices.Chunk(refs, jobsTogether) {
		if err := s.describeSome(ctx, owner, attempts, of, some); err != nil {
			return err
		}
	}
	return nil
}

// describeSome describes the attempts of some jobs, given where they are. It
// releases the jobs' bytes, since their args are not kept.
func (s *Service) describeSome(ctx context.Context, owner job.Owner, attempts []Attempt, of map[int64][]int, refs []job.Ref) error {
	ctx, release := admission.Hold(ctx)
	defer release()
	jobs, err := s.Store.JobGetMany(ctx, owner, refs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if j == nil { // removed meanwhile
			continue
		}
		spec := job.ReadSpec(j.Args)
		for _, i := range of[j.Number] {
			a := &attempts[i]
			a.Name, a.Method, a.URL, a.ScheduleID, a.Ended = j.Name, spec.Method, spec.URL, j.ScheduleID, j.State.Final()
		}
	}
	return nil
}
