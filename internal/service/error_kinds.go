package service

import (
	"context"
	"slices"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// kindsChunk is how many jobs a page of the search finds when the log of each is
	// read for its failure, among so many positions.
	kindsChunk = 200
	kindsLook  = 2 * kindsChunk
)

// kindsChunks are the sizes of the pages that a page of a list searches at most, so that all
// together read what any other page does. The first is small, since most lists need no
// other. Each costs a few statements.
var kindsChunks = [...]int{kindsChunk, 4 * kindsChunk}

// failedStates are the states of jobs that may have a failed attempt: the first attempt
// of one that is available has not ended, and the latest of a completed one succeeded.
var failedStates = []job.State{job.Executing, job.Retryable, job.Cancelled, job.Discarded}

// failedOf returns the states of failedStates that a query selects.
func failedOf(q job.Query) []job.State {
	return slices.DeleteFunc(slices.Clone(failedStates), func(state job.State) bool {
		return len(q.States) > 0 && !slices.Contains(q.States, state)
	})
}

// JobsOfKind reads a page of the owner's jobs whose latest ended attempt failed with the
// ErrorKind of a selection, and whose url or name contains a text, if one is given. No
// index has kinds: the page reads the logs of up to 1,000 jobs that the other filters
// select, newest first, among 2,000 positions of their indexes, so it may have fewer jobs than its limit, or none, and still a
// next one. It returns [job.ErrUnsupported] for an order or an offset.
func (s *Service) JobsOfKind(ctx context.Context, owner job.Owner, of *job.Selection, text string) (page job.Page[*job.Job], err error) {
	q := of.Query
	if err := q.Unordered(); err != nil {
		return page, err
	}
	if q.States = failedOf(q); len(q.States) == 0 {
		return page, nil
	}
	search := job.Selection{Query: q, ErrorKind: of.ErrorKind}
	next, found := q.After, foundJobs{page: &page, limit: q.Limit, budget: q.Budget(), matches: func(*job.Job) bool { return true }}
	if text != "" {
		found.matches = job.Matcher(text)
	}
	for _, chunk := range kindsChunks {
		var numbers []int64
		if numbers, next, err = s.matchKind(ctx, owner, &search, next, 2*chunk, chunk); err != nil {
			return page, err
		}
		var last int64
		if last, err = s.appendNumbered(ctx, owner, &found, numbers); err != nil {
			return page, err
		}
		if last != 0 {
			next = last
		}
		if last != 0 || next == 0 || len(page.Items) >= q.Limit || found.budget <= 0 {
			break
		}
	}
	if next != 0 {
		following := of.Query.ListQuery
		following.After = next
		page.Next = &following
	}
	return page, nil
}

// foundJobs is a page of the jobs that match.
type foundJobs struct {
	page    *job.Page[*job.Job]
	limit   int // jobs
	budget  int // bytes that may still be read
	matches func(*job.Job) bool
}

// appendNumbered appends those of the given jobs that match to a page, until it is full or
// its budget is used up. It returns the last job that it looked at if there may be more; 0
// if it looked at all.
func (s *Service) appendNumbered(ctx context.Context, owner job.Owner, to *foundJobs, numbers []int64) (last int64, err error) {
	for len(numbers) > 0 {
		if len(to.page.Items) >= to.limit || to.budget <= 0 {
			return numbers[0] + 1, nil
		}
		part, err := s.fitting(ctx, owner, numbers[:min(len(numbers), to.limit)], to.budget)
		if err != nil {
			return 0, err
		}
		jobs, err := s.Store.JobGetMany(ctx, owner, refs(part))
		if err != nil {
			return 0, err
		}
		for i, j := range jobs {
			if len(to.page.Items) >= to.limit {
				return part[i] + 1, nil
			}
			if j == nil {
				continue
			}
			if to.budget -= job.Size(j); to.matches(j) {
				to.page.Items = append(to.page.Items, j)
			}
		}
		numbers = numbers[len(part):]
	}
	return 0, nil
}

// fitting returns the first of the given jobs, up to and including the one that exceeds
// a budget of bytes.
func (s *Service) fitting(ctx context.Context, owner job.Owner, numbers []int64, budget int) ([]int64, error) {
	versions, err := s.Store.JobVersionsOf(ctx, owner, refs(numbers))
	if err != nil {
		return nil, err
	}
	sizes := make(map[int64]int, len(versions))
	for _, version := range versions {
		sizes[version.Number] = version.Size
	}
	for i, number := range numbers {
		if budget -= sizes[number]; budget <= 0 {
			return numbers[:i+1], nil
		}
	}
	return numbers, nil
}

// CountsOf is Counts with an ErrorKind: of the jobs in each state that the other filters
// select, it counts among the newest 200.
func (s *Service) CountsOf(ctx context.Context, owner job.Owner, of *job.Selection,
	limit int) (counts map[job.State]int64, partial bool, err error) {
	if of.ErrorKind == "" {
		return s.Counts(ctx, owner, of.Query, limit)
	}
	counts = map[job.State]int64{}
	for _, state := range failedOf(of.Query) {
		one := *of
		one.Query.States = []job.State{state}
		numbers, next, err := s.match(ctx, owner, &one, 0, kindsLook)
		if err != nil {
			return nil, false, err
		}
		counts[state] = int64(len(numbers))
		partial = partial || next != 0
	}
	return counts, partial, nil
}
