package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// limitChecker checks the limits that a request names. A request names a few at
// most, so it reads them one by one.
type limitChecker struct {
	store  Store
	ctx    context.Context
	owner  job.Owner
	failed error // of the store; the request's other problems don't matter then
}

// has reports whether the owner has defined a limit.
func (c *limitChecker) has(key string) bool {
	defined, err := c.store.LimitsOf(c.ctx, c.owner, []string{key})
	if err != nil {
		c.failed = err
	}
	return err != nil || len(defined) > 0
}

// SetLimit defines or replaces one of the owner's limits from a request's body. The
// condition is match.PutIf: limits have no revisions.
func (s *Service) SetLimit(ctx context.Context, owner job.Owner, key string, body rawjson.Value,
	match Match) (l limit.Record, created bool, err error) {
	if err := access.Allow(ctx, "service.SetLimit"); err != nil {
		return limit.Record{}, false, err
	}
	key, valid := job.LimitKey(key)
	if !valid {
		return l, false, fault.Refuse([]fault.Problem{{Parameter: "key", Detail: limit.KeyRule}})
	}
	l = limit.Record{Key: key}
	if l.Limit, err = readLimit(key, body); err != nil {
		return l, false, err
	}
	if created, err = s.Store.LimitPut(ctx, owner, l, match.PutIf()); err != nil {
		return l, false, err
	}
	event := audit.LimitChanged
	if created {
		event = audit.LimitCreated
	}
	s.Audit.Edited(ctx, owner, event, key+": "+l.String())
	return l, created, nil
}

// LimitUse is a limit with its current use, and of an ordered one the job that comes
// first of those that wait.
type LimitUse struct {
	*limit.Use
	WaitingFor []string // of the first job
}

// Limit returns one of the owner's limits with its current use.
func (s *Service) Limit(ctx context.Context, owner job.Owner, key string) (*LimitUse, error) {
	key, valid := job.LimitKey(key)
	if !valid {
		return nil, fault.NoSuch("limit")
	}
	found, err := s.Store.LimitGet(ctx, owner, key)
	if err != nil || found.First == 0 {
		return &LimitUse{Use: found}, err
	}
	ctx, release := admission.Hold(ctx) // only the names of its limits are kept
	defer release()
	first, err := s.Store.JobGet(ctx, owner, job.Ref{Number: found.First})
	if fault.CodeOf(err) == fault.NotFound { // it has ended since
		found.First = 0
		return &LimitUse{Use: found}, nil
	}
	if err != nil {
		return nil, err
	}
	waitingFor, err := s.WaitingFor(ctx, owner, first)
	return &LimitUse{found, waitingFor}, err
}

// Limits returns up to n of the owner's limits whose keys come after a key, in
// order of their keys.
func (s *Service) Limits(ctx context.Context, owner job.Owner, after string, n int) ([]limit.Record, error) {
	return s.Store.LimitList(ctx, owner, after, n)
}

// LimitNamed returns one of the owner's limits, or a NotFound fault. Limit also returns
// its use.
func (s *Service) LimitNamed(ctx context.Context, owner job.Owner, key string) (*limit.Record, error) {
	return s.Store.LimitNamed(ctx, owner, key)
}

// maxJobsNaming is how many bytes the jobs of a page of JobsNaming have, but for the last.
const maxJobsNaming = 4 << 20

// JobsNaming returns up to n of the owner's unfinished jobs that name a limit, after a
// position, and the position to continue after; nil at the end.
func (s *Service) JobsNaming(ctx context.Context, owner job.Owner, key string, after limit.Position,
	n int) (jobs []*job.Job, next *limit.Position, err error) {
	positions, err := s.Store.LimitJobs(ctx, owner, key, after, n)
	if err != nil || len(positions) == 0 {
		return nil, nil, err
	}
	refs := make([]job.Ref, len(positions))
	for i, p := range positions {
		refs[i].Number = p.Number
	}
	versions, err := s.Store.JobVersionsOf(ctx, owner, refs)
	if err != nil {
		return nil, nil, err
	}
	sizes := make(map[int64]int, len(versions))
	for _, version := range versions {
		sizes[version.Number] = version.Size
	}
	bytes, read := 0, 0
	for read < len(refs) && bytes < maxJobsNaming {
		bytes += sizes[refs[read].Number]
		read++
	}
	found, err := s.Store.JobGetMany(ctx, owner, refs[:read])
	if err != nil {
		return nil, nil, err
	}
	for _, j := range found {
		if j != nil && !j.State.Final() {
			jobs = append(jobs, j)
		}
	}
	if read < len(refs) || len(positions) == n {
		next = &positions[read-1]
	}
	return jobs, next, nil
}

// LimitsWaiting returns up to n of the owner's limits that hold due jobs back, the one
// whose first job is due longest first, and counts the jobs of each up to most.
func (s *Service) LimitsWaiting(ctx context.Context, owner job.Owner, n, most int) ([]store.LimitedJobs, error) {
	return s.Store.LimitsWaiting(ctx, owner, n, most)
}

// DeleteLimit deletes one of the owner's limits, unless unfinished jobs name it.
func (s *Service) DeleteLimit(ctx context.Context, owner job.Owner, key string) error {
	if err := access.Allow(ctx, "service.DeleteLimit"); err != nil {
		return err
	}
	key, valid := job.LimitKey(key)
	if !valid {
		return fault.NoSuch("limit")
	}
	named, err := s.Store.LimitDelete(ctx, owner, key)
	if err != nil {
		return err
	}
	if named == 0 {
		s.Audit.Edited(ctx, owner, audit.LimitDeleted, key)
		return nil
	}
	count := strconv.Itoa(named)
	if named >= limit.MaxCount {
		count = "at least " + count
	}
	jobs := " unfinished jobs name"
	if named == 1 {
		jobs = " unfinished job names"
	}
	return fault.New(fault.Conflict, count+jobs+" this limit; cancel or edit them first, or set its rate and parallel to null")
}

// limitsHolding returns the keys of the limits that hold a pending job back at
// this moment: its waiting_for. A job that is not due, has started or is final
// has none.
func (s *Service) limitsHolding(ctx context.Context, owner job.Owner, j *job.Job) ([]string, error) {
	if j.State != job.Available && j.State != job.Retryable {
		return nil, nil
	}
	return s.Store.LimitsHolding(ctx, owner, j)
}

// readLimit reads the body that defines the limit with a key. Its error is a fault that
// lists every problem.
func readLimit(key string, body rawjson.Value) (l limit.Limit, err error) {
	var problems fault.Problems
	refuse := func(pointer, detail string) { problems.Add(fault.Problem{Pointer: pointer, Detail: detail}) }
	if body.Kind() != '{' {
		refuse("#", "must be a JSON object with rate, parallel, ordered and paused")
	}
	for _, m := range rawjson.Members(body) {
		at := job.Pointer(m.Name)
		switch {
		case !slices.Contains(limitFields, m.Name):
			refuse(at, "is not a known field; the known ones are rate, parallel, ordered and paused")
		case rawjson.IsNull(m.Value):
		case m.Name == "rate":
			readRate(m.Value, &l, refuse)
		case m.Name == "parallel":
			l.Parallel = readCount(m.Value, at, limit.MaxParallel, refuse)
		case string(m.Value) != "true" && string(m.Value) != "false":
			refuse(at, "must be true or false")
		case m.Name == "paused":
			l.Paused = string(m.Value) == "true"
		case string(m.Value) == "true" && strings.HasPrefix(key, limit.HostPrefix):
			refuse(at, "can't be true for host: limits, which jobs don't name; define another limit and name it in the jobs")
		default:
			l.Ordered = string(m.Value) == "true"
		}
	}
	return l, problems.Err()
}

var limitFields = []string{"rate", "parallel", "ordered", "paused"}

func readRate(v rawjson.Value, l *limit.Limit, refuse func(pointer, detail string)) {
	if v.Kind() != '{' {
		refuse("#/rate", `must be an object, as in {"calls": 100, "per": [1, "minute"]}`)
		return
	}
	calls, per := false, false
	for _, m := range rawjson.Members(v) {
		at := job.Pointer("rate", m.Name)
		switch {
		case m.Name != "calls" && m.Name != "per":
			refuse(at, "is not a known field; the known ones are calls and per")
		case rawjson.IsNull(m.Value):
		case m.Name == "calls":
			calls = true
			l.Calls = readCount(m.Value, at, limit.MaxCalls, refuse)
		default:
			per = true
			l.Per, _ = job.ReadDuration(m.Value, at, limit.MinPer, limit.MaxPer, refuse)
		}
	}
	if !calls {
		refuse("#/rate/calls", "is required")
	}
	if !per {
		refuse("#/rate/per", "is required")
	}
}

// readCount reads a whole number from 1 to most.
func readCount(v rawjson.Value, pointer string, most int, refuse func(pointer, detail string)) int {
	n, err := strconv.Atoi(string(v))
	switch {
	case v.Kind() == '0' && err == nil && n == 0:
		refuse(pointer, "must be at least 1; to hold everything back, set paused to true")
	case v.Kind() != '0' || err != nil || n < 0 || n > most:
		refuse(pointer, "must be a whole number from 1 to "+strconv.Itoa(most))
		return 0
	}
	return n
}
