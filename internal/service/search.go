package service

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// CountLimit is the highest number Counts returns for a state.
const CountLimit = 10_000

// searchLook is how many jobs a page of a search scans.
const searchLook = 3000

// Counts counts an owner's jobs by state, each up to CountLimit. It reads only
// an index, and at most that many entries per state.
func (m *Service) Counts(ctx context.Context, owner job.Owner) (map[job.State]int64, error) {
	return m.Store.JobTally(ctx, owner, CountLimit)
}

// Search finds jobs by a text that a person typed: the job with that integer id
// or UUID, else the jobs with that idempotency key, else the jobs whose url or
// name contains it, ignoring case. It uses only the states, Limit and After of q,
// and returns jobs in the default order.
//
// It finds a page by index, or scans the newest 3,000 jobs after After (fewer if
// they are large), so a page takes milliseconds however many jobs there are.
// Next is where the next page starts, zero at the end; an empty page may have a
// next one.
func (m *Service) Search(ctx context.Context, owner job.Owner, q store.JobQuery, text string) (found []*job.Job, next int64, err error) {
	text = strings.TrimSpace(text)
	if q.After == 0 {
		j, err := m.named(ctx, owner, text)
		if err != nil {
			return nil, 0, err
		}
		if j != nil {
			if len(q.States) > 0 && !slices.Contains(q.States, j.State) {
				return nil, 0, nil
			}
			return []*job.Job{j}, 0, nil
		}
	}
	limit := q.Limit
	byKey := store.JobQuery{ListQuery: store.ListQuery{Limit: limit + 1, After: q.After}, Key: &text}
	if found, err = m.Store.JobList(ctx, owner, byKey); err != nil {
		return nil, 0, err
	}
	if len(found) > 0 {
		found, more := store.Fit(found, limit, byKey.Budget(), store.JobSize)
		if more {
			next = found[len(found)-1].Number
		}
		if len(q.States) > 0 {
			found = slices.DeleteFunc(found, func(j *job.Job) bool { return !slices.Contains(q.States, j.State) })
		}
		return found, next, nil
	}
	return m.Store.JobScan(ctx, owner, q, searchLook, job.Matcher(text))
}

// named returns the job whose id is text, or nil if there is none.
func (m *Service) named(ctx context.Context, owner job.Owner, text string) (*job.Job, error) {
	id, ok := ParseJobID(text)
	if !ok {
		return nil, nil
	}
	j, err := m.Store.JobGet(ctx, owner, id)
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	return j, err
}

// ParseJobID parses a job's integer id or UUID.
func ParseJobID(text string) (store.JobID, bool) {
	if id, ok := job.ParseID(text); ok && id != uuid.Nil {
		return store.JobID{UUID: id}, true
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 || strconv.FormatInt(number, 10) != text {
		return store.JobID{}, false
	}
	return store.JobID{Number: number}, true
}
