package service

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// MaxCancel is the largest number of ids CancelMany accepts.
const MaxCancel = 100

// cancelsAtOnce is how many jobs one call cancels concurrently, so that they
// share commits.
const cancelsAtOnce = 16

// CancelMany cancels jobs and returns their state afterwards, in the order of
// ids. It omits jobs that retention removes meanwhile. If an id has no job, or
// the jobs together exceed a page, it cancels none and the fault names the
// cause. Each job is cancelled in its own transaction: if the store fails
// midway, some are cancelled, and the caller can repeat the call.
func (s *Service) CancelMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error) {
	if err := access.Allow(ctx, "service.CancelMany"); err != nil {
		return nil, err
	}
	numbers, err := s.cancellable(ctx, owner, ids)
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	slots := make(chan struct{}, cancelsAtOnce)
	for _, number := range numbers {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			_, err := s.cancel(ctx, owner, job.Ref{Number: number}, Match{})
			if err != nil && fault.CodeOf(err) != fault.NotFound { // retention just removed it, so it was final
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	group.Wait()
	if failed != nil && fault.CodeOf(failed) == fault.Unavailable {
		failed = &fault.Error{
			Code: fault.Unavailable, Message: "some of the jobs may not have been cancelled; send the same call again shortly",
			RetryAfter: time.Second, Cause: failed,
		}
	}
	if failed != nil {
		return nil, failed
	}
	// Read all jobs again: the records that Cancel returned may be out of date.
	jobs, err := s.Store.JobGetMany(ctx, owner, ids)
	return slices.DeleteFunc(jobs, func(j *job.Job) bool { return j == nil }), err
}

// cancellable returns the numbers of the jobs that ids name, without duplicates.
func (s *Service) cancellable(ctx context.Context, owner job.Owner, ids []job.Ref) ([]int64, error) {
	versions, err := s.Store.JobVersionsOf(ctx, owner, ids)
	if err != nil {
		return nil, err
	}
	known := map[job.Ref]store.JobVersion{}
	for _, version := range versions {
		known[job.Ref{Number: version.Number}], known[job.Ref{UUID: version.ID}] = version, version
	}
	var missing []fault.Problem
	var numbers []int64
	size := 0
	for i, id := range ids {
		version, found := known[id]
		if !found {
			missing = append(missing, fault.Problem{Pointer: "#/job_ids/" + strconv.Itoa(i), Detail: "is not a job of this account"})
			continue
		}
		size += version.Size
		if !slices.Contains(numbers, version.Number) {
			numbers = append(numbers, version.Number)
		}
	}
	if len(missing) > 0 {
		return nil, &fault.Error{Code: fault.NotFound, Message: "there are no jobs with some of these ids; none was cancelled",
			Problems: missing}
	}
	if size > job.PageBytes {
		return nil, fault.Refuse([]fault.Problem{{Pointer: "#/job_ids",
			Detail: "names jobs of more than 8 MiB together; none was cancelled, name fewer"}})
	}
	return numbers, nil
}
