package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// CountLimit is the highest number that the API counts to for a state.
const CountLimit = 10_000

// Counts counts the owner's jobs that match the filters of q by state, each up to
// limit. With filters other than states it counts the newest jobs that match, limit in
// all; partial reports that there may be more.
func (s *Service) Counts(ctx context.Context, owner job.Owner, q job.Query,
	limit int) (counts map[job.State]int64, partial bool, err error) {
	return s.Store.JobTally(ctx, owner, q, limit)
}

// Search finds jobs by a text that a person typed: the job with that integer id
// or UUID, else the jobs with that idempotency key, else the jobs whose url or
// name contains it, ignoring case. It uses the filters, Limit and After of q, and
// returns jobs in the default order. With filters other than the states it looks
// for the text only.
//
// It finds a page by index, or scans the newest 2,000 jobs after After (fewer if
// they are large), so a page takes milliseconds however many jobs there are.
// An empty page may have a next one.
func (s *Service) Search(ctx context.Context, owner job.Owner, q job.Query, text string) (job.Page[*job.Job], error) {
	text = strings.TrimSpace(text)
	if q.After == 0 && q.Path() != job.ByFilter {
		j, err := s.named(ctx, owner, text)
		if err != nil {
			return job.Page[*job.Job]{}, err
		}
		if j != nil {
			return job.Page[*job.Job]{Items: inStates([]*job.Job{j}, q.States)}, nil
		}
	}
	return s.searchText(ctx, owner, q, text)
}

// exactShown is how many jobs with exactly the name that is searched a page begins with.
const exactShown = 10

// SearchAll is Search, but the jobs that a text names don't hide those that contain it.
// The first page begins with the job that has it as integer id, and then with up to ten
// that have exactly this name, found by index; so it may have so many more than Limit.
// Later pages have those with the name where their turn is.
func (s *Service) SearchAll(ctx context.Context, owner job.Owner, q job.Query, text string) (job.Page[*job.Job], error) {
	text = strings.TrimSpace(text)
	_, err := strconv.ParseInt(text, 10, 64)
	find := s.Search
	if err == nil && q.Path() != job.ByFilter {
		find = s.searchText
	}
	page, err := find(ctx, owner, q, text)
	if err != nil || q.After != 0 {
		return page, err
	}
	first, err := s.titled(ctx, owner, q, text)
	if err != nil {
		return page, err
	}
	page.Items = slices.DeleteFunc(page.Items, func(j *job.Job) bool {
		return slices.ContainsFunc(first, func(other *job.Job) bool { return other.Number == j.Number })
	})
	page.Items = append(first, page.Items...)
	return page, nil
}

// titled returns the jobs that a text names and that the filters of q select: the one
// with that id, and those with exactly that name.
func (s *Service) titled(ctx context.Context, owner job.Owner, q job.Query, text string) ([]*job.Job, error) {
	var found []*job.Job
	if q.Path() != job.ByFilter {
		j, err := s.named(ctx, owner, text)
		if err != nil {
			return nil, err
		}
		if j != nil {
			found = inStates([]*job.Job{j}, q.States)
		}
	}
	if q.Name != nil || text == "" {
		return found, nil
	}
	q.Name, q.Limit = &text, exactShown
	page, err := s.Jobs(ctx, owner, q)
	for _, j := range page.Items {
		if !slices.ContainsFunc(found, func(other *job.Job) bool { return other.Number == j.Number }) {
			found = append(found, j)
		}
	}
	return found, err
}

// searchText finds jobs by their idempotency key, else by their url or name.
func (s *Service) searchText(ctx context.Context, owner job.Owner, q job.Query, text string) (job.Page[*job.Job], error) {
	if q.Path() == job.ByFilter {
		return s.scan(ctx, owner, q, ofJobs.records, job.Matcher(text))
	}
	page, err := s.Jobs(ctx, owner, job.Query{ListQuery: job.ListQuery{Limit: q.Limit, After: q.After}, Key: &text})
	if err != nil || len(page.Items) > 0 {
		page.Items = inStates(page.Items, q.States)
		return page, err
	}
	return s.scan(ctx, owner, q, ofJobs.records, job.Matcher(text))
}

// scan reads a page with JobScan.
func (s *Service) scan(ctx context.Context, owner job.Owner, q job.Query, look int,
	match func(*job.Job) bool) (page job.Page[*job.Job], err error) {
	found, next, err := s.Store.JobScan(ctx, owner, q, look, match)
	if err != nil {
		return page, err
	}
	page.Items = found
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

// Find reads up to q.Limit of the owner's jobs, newest first, that match the filters of q
// and for which match returns true, after the job q.After. match gets only the Name and
// the Args of a job. It reads at most look jobs. next is the job to continue after; zero
// at the end.
func (s *Service) Find(ctx context.Context, owner job.Owner, q job.Query, look int,
	match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	return s.Store.JobScan(ctx, owner, q, look, match)
}
