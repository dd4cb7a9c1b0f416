package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
)

// tailRuns is how many runs a report counts that the maintenance has not counted yet.
const tailRuns = 1000

// SchedulePunctuality returns the report of a month, see stats.MonthOf, of one of the
// owner's schedules.
func (s *Service) SchedulePunctuality(ctx context.Context, owner job.Owner, id uuid.UUID, month int64) (*stats.Report, error) {
	found, err := s.Store.MonthsOf(ctx, store.ScheduleKey{Account: owner.Number, Schedule: id}, tailRuns)
	if err != nil {
		return nil, err
	}
	return stats.ReportOf(found, month, s.Store.Now()), nil
}
