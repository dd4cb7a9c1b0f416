package service

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// findPage is how many schedules FindSchedules reads at a time.
const findPage = 100

// FindSchedules finds up to limit schedules by a text that a person typed: the schedule
// with that UUID or idempotency key, else those with exactly that name, however old they
// are, and those of the newest 500 (fewer if they are large) whose url or name contains
// it, ignoring case; each newest first.
func (s *Service) FindSchedules(ctx context.Context, owner job.Owner, text string, limit int) ([]*job.Schedule, error) {
	text = strings.TrimSpace(text)
	one, err := s.scheduleNamed(ctx, owner, text)
	if one != nil || err != nil {
		return one, err
	}
	found, err := s.schedulesNamed(ctx, owner, text, limit)
	if err != nil || len(found) == limit {
		return found, err
	}
	exact, matches := len(found), job.Matcher(text)
	known := func(one *job.Schedule) bool {
		return slices.ContainsFunc(found[:exact], func(other *job.Schedule) bool { return other.ID == one.ID })
	}
	query := job.ScheduleQuery{ListQuery: job.ListQuery{Limit: findPage}}
	for left := ofSchedules; !left.spent(); {
		page, err := s.Schedules(ctx, owner, query)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Items {
			if matches(&job.Job{Name: one.Name, Args: one.Args}) && !known(one) {
				found = append(found, one)
			}
			if len(found) == limit {
				return found, nil
			}
		}
		if page.Next == nil {
			break
		}
		left.spend(len(page.Items), job.TotalSize(page.Items, job.ScheduleSize))
		query.ListQuery = *page.Next
	}
	return found, nil
}

// schedulesNamed returns the schedules with exactly a name.
func (s *Service) schedulesNamed(ctx context.Context, owner job.Owner, name string, limit int) (found []*job.Schedule, err error) {
	ids, err := s.Store.SchedulesNamed(ctx, owner, name, limit)
	for _, id := range ids {
		one, err := s.Schedule(ctx, owner, id)
		if fault.CodeOf(err) == fault.NotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, err
}

// scheduleNamed returns the schedule whose id or idempotency key is text; none if there
// is none.
func (s *Service) scheduleNamed(ctx context.Context, owner job.Owner, text string) ([]*job.Schedule, error) {
	var one *job.Schedule
	var err error
	if id, ok := job.ParseID(text); ok && id != uuid.Nil {
		one, err = s.Schedule(ctx, owner, id)
	} else {
		one, err = s.ScheduleHolding(ctx, owner, text)
	}
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []*job.Schedule{one}, nil
}
