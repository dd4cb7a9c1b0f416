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

// CountLimit is up to which number Counts counts each state.
const CountLimit = 10_000

// searchLook is how many jobs a page of a search looks at.
const searchLook = 3000

// Counts counts an owner's jobs by state, each up to CountLimit. It reads an
// index only, and no more of it than that.
func (m *Service) Counts(ctx context.Context, owner job.Owner) (map[job.State]int64, error) {
	return m.Store.JobTally(ctx, owner, CountLimit)
}

// Search finds jobs by a text that a person has typed: the job whose integer id
// or UUID it is, else those whose idempotency key it is, else those whose url or
// name contains it, whatever the case. Of q it heeds the states, Limit and
// After; the order is the default one.
//
// A page is found by index, or among the newest 3,000 jobs behind After (fewer
// when they are large), so that it takes milliseconds however many there are.
// Next is where to go on behind, zero at the end; a page that is empty may have
// a next one.
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

// named gives the job whose id a text is; nil when it is none.
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

// ParseJobID reads a job's integer id or its UUID.
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
