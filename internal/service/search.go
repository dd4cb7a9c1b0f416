package service

import (
	"context"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// CountLimit is the highest number Counts returns for a state.
const CountLimit = 10_000

// searchLook is how many jobs a page of a search scans.
const searchLook = 3000

// Counts counts an owner's jobs by state, each up to CountLimit. It reads only
// an index, and at most that many entries per state.
func (s *Service) Counts(ctx context.Context, owner job.Owner) (map[job.State]int64, error) {
	return s.Store.JobTally(ctx, owner, CountLimit)
}

// Search finds jobs by a text that a person typed: the job with that integer id
// or UUID, else the jobs with that idempotency key, else the jobs whose url or
// name contains it, ignoring case. It uses only the states, Limit and After of q,
// and returns jobs in the default order.
//
// It finds a page by index, or scans the newest 3,000 jobs after After (fewer if
// they are large), so a page takes milliseconds however many jobs there are.
// An empty page may have a next one.
func (s *Service) Search(ctx context.Context, owner job.Owner, q job.Query, text string) (job.Page[*job.Job], error) {
	text = strings.TrimSpace(text)
	if q.After == 0 {
		j, err := s.named(ctx, owner, text)
		if err != nil {
			return job.Page[*job.Job]{}, err
		}
		if j != nil {
			return job.Page[*job.Job]{Items: inStates([]*job.Job{j}, q.States)}, nil
		}
	}
	page, err := s.Jobs(ctx, owner, job.Query{ListQuery: job.ListQuery{Limit: q.Limit, After: q.After}, Key: &text})
	if err != nil || len(page.Items) > 0 {
		page.Items = inStates(page.Items, q.States)
		return page, err
	}
	found, next, err := s.Store.JobScan(ctx, owner, q, searchLook, job.Matcher(text))
	if err != nil {
		return job.Page[*job.Job]{}, err
	}
	page = job.Page[*job.Job]{Items: found}
	if next != 0 {
		following := q.ListQuery
		following.After = next
		page.Next = &following
	}
	return page, nil
}

// inStates removes the jobs that are in none of the states; no states select all.
func inStates(jobs []*job.Job, states []job.State) []*job.Job {
	if len(states) == 0 {
		return jobs
	}
	return slices.DeleteFunc(jobs, func(j *job.Job) bool { return !slices.Contains(states, j.State) })
}

// named returns the job whose id is text, or nil if there is none.
func (s *Service) named(ctx context.Context, owner job.Owner, text string) (*job.Job, error) {
	id, ok := job.ParseRef(text)
	if !ok {
		return nil, nil
	}
	j, err := s.Store.JobGet(ctx, owner, id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	return j, err
}
