package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// dryRunWithin is how long a dry run counts.
const dryRunWithin = 5 * time.Second

// ReadOperation reads a request for an operation. Its error is a fault that lists
// every problem.
func (s *Service) ReadOperation(ctx context.Context, owner job.Owner, body rawjson.Value) (*job.OperationRequest, error) {
	r := s.reading(ctx, owner)
	request, err := job.ReadOperation(body, r.options(s.Store.Now(), nil))
	return request, r.result(err)
}

// CountMatches returns how many of the owner's jobs an operation would find now. It
// stops after a few seconds; partial then reports that there may be more.
func (s *Service) CountMatches(ctx context.Context, owner job.Owner, r *job.OperationRequest) (matched int64, partial bool, err error) {
	after, err := s.newestJob(ctx, owner)
	for end := time.Now().Add(dryRunWithin); err == nil && after != 0; {
		if time.Now().After(end) {
			return matched, true, nil
		}
		var found []int64
		found, after, err = s.match(ctx, owner, &r.Selection, after, ofJobs.records)
		matched += int64(len(found))
	}
	return matched, false, err
}

// StartOperation stores an operation, which then is carried out in the background.
// It returns a Conflict fault if another one of the account is running. Matched
// counts what a first page of the search has found.
func (s *Service) StartOperation(ctx context.Context, owner job.Owner, r *job.OperationRequest) (*job.Operation, error) {
	if err := access.Allow(ctx, "service.StartOperation"); err != nil {
		return nil, err
	}
	if r.Action == job.RerunJobs {
		if err := checkHops(ctx); err != nil {
			return nil, err
		}
		if _, _, err := s.admitSchedules(ctx, owner); err != nil { // a suspended account
			return nil, err
		}
	}
	now := s.Store.Now()
	o := &job.Operation{ID: job.NewID(now), Owner: owner, Action: r.Action, Filter: r.Filter, Set: r.Set, InsertedAt: now,
		Hops: job.Hops(ctx), By: job.ActorOf(ctx)}
	after, err := s.newestJob(ctx, owner)
	if err != nil {
		return nil, err
	}
	var found []int64
	if after != 0 {
		if found, o.ScanAfter, err = s.match(ctx, owner, &r.Selection, after, ofJobs.records); err != nil {
			return nil, err
		}
	}
	o.Matched = int64(len(found))
	if err := s.Store.OperationInsert(ctx, o, found); err != nil {
		return nil, err
	}
	s.Audit.Edited(ctx, owner, audit.OperationStarted, operationDetail(o))
	if s.Operated != nil {
		s.Operated()
	}
	return o, nil
}

// newestJob returns the number after the newest of the owner's jobs, which bounds
// what an operation finds; 0 if there are no jobs.
func (s *Service) newestJob(ctx context.Context, owner job.Owner) (after int64, err error) {
	versions, err := s.Store.JobVersions(ctx, owner, 1)
	if err != nil || len(versions) == 0 {
		return 0, err
	}
	return versions[0].Number + 1, nil
}

// match reads a page of the search for jobs that a selection matches, newest first, which
// reads up to look positions. Next is the job to continue after; 0 at the end.
func (s *Service) match(ctx context.Context, owner job.Owner, of *job.Selection, after int64,
	look int) (numbers []int64, next int64, err error) {
	if of.ErrorKind != "" {
		return s.matchKind(ctx, owner, of, after, look, kindsChunk)
	}
	q := of.Query
	q.Limit, q.After = store.OperationChunk, after
	return s.Store.JobNumbers(ctx, owner, q, look)
}

// matchKind is match for an ErrorKind. It reads the logs of up to so many jobs.
func (s *Service) matchKind(ctx context.Context, owner job.Owner, of *job.Selection, after int64,
	look, most int) (numbers []int64, next int64, err error) {
	q := of.Query
	q.Limit, q.After = most, after
	numbers, next, err = s.Store.JobNumbers(ctx, owner, q, look)
	if err != nil || len(numbers) == 0 {
		return numbers, next, err
	}
	kinds, err := s.Store.JobErrorKinds(ctx, owner, numbers)
	found := numbers[:0]
	for _, number := range numbers {
		if kinds[number] == of.ErrorKind {
			found = append(found, number)
		}
	}
	return found, next, err
}

// Operation returns one of the owner's operations, or a NotFound fault.
func (s *Service) Operation(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	return s.Store.OperationGet(ctx, owner, id)
}

// AllOperations reads a page of the owner's operations, newest first. The order and
// offset of q are ignored.
func (s *Service) AllOperations(ctx context.Context, owner job.Owner, q job.ListQuery) (job.Page[*job.Operation], error) {
	q.Order, q.Offset = job.Order{}, 0
	return job.ReadPage(q, job.OperationSize, job.OperationPosition, func(list job.ListQuery) ([]*job.Operation, error) {
		return s.Store.OperationList(ctx, owner, list)
	})
}

// StopOperation stops an operation and returns it; stopped reports whether it was
// running. When it returns, the operation changes no further job.
func (s *Service) StopOperation(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error) {
	if err := access.Allow(ctx, "service.StopOperation"); err != nil {
		return nil, false, err
	}
	o, stopped, err = s.Store.OperationStop(ctx, owner, id)
	if err == nil && stopped {
		s.Audit.Edited(ctx, owner, audit.OperationStopped, operationDetail(o))
	}
	return o, stopped, err
}
