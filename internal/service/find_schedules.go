package service

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// findPage is how many schedules FindSchedules reads at a time.
const findPage = 100

// FindSchedules finds schedules by a text that a person typed: the schedule with that
// UUID or idempotency key, else up to limit of the newest 500 (fewer if they are large)
// whose url or name contains it, ignoring case, newest first.
func (s *Service) FindSchedules(ctx context.Context, owner job.Owner, text string, limit int) ([]*job.Schedule, error) {
	text = strings.TrimSpace(text)
	one, err := s.scheduleNamed(ctx, owner, text)
	if one != nil || err != nil {
		return one, err
	}
	matches := job.Matcher(text)
	var found []*job.Schedule
	query := job.ScheduleQuery{ListQuery: job.ListQuery{Limit: findPage}}
	for left := ofSchedules; !left.spent(); {
		page, err := s.Schedules(ctx, owner, query)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Items {
			if matches(&job.Job{Name: one.Name, Args: one.Args}) {
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
