package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// walkLook is how many runs of a schedule a page of logs scans.
	walkLook = 2000
	// logsTrail exceeds the longest time between the end of a job and its last
	// log: deliveries are given up within a day.
	logsTrail = 7 * 24 * time.Hour
)

// Logs reads a page of logs. In the default order the newest come first or, with
// q.Oldest, the oldest.
//
// With a schedule (uuid.Nil means any), logs are ordered by run, newest run
// first, so that a delivery that was given up late appears with its run. Such a
// page scans the logs of at most 2,000 runs, so an empty page may have a next
// one. Pages are found by index, unless q asks for an event that is rare among
// many.
func (s *Service) Logs(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery) (job.Page[*job.Log], error) {
	if schedule != uuid.Nil && q.Job != nil {
		j, err := s.Store.JobGet(ctx, owner, *q.Job)
		switch {
		case err != nil && fault.CodeOf(err) != fault.NotFound:
			return job.Page[*job.Log]{}, err
		case err != nil || j.ScheduleID != schedule:
			return job.Page[*job.Log]{}, nil
		}
		schedule = uuid.Nil
	}
	if schedule != uuid.Nil {
		return s.walkLogs(ctx, owner, schedule, q)
	}
	return job.ReadPage(q.ListQuery, job.LogSize, (*job.Log).Position, func(list job.ListQuery) ([]*job.Log, error) {
		q.ListQuery = list
		return s.Store.LogList(ctx, owner, q)
	})
}

func (s *Service) walkLogs(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery) (job.Page[*job.Log], error) {
	walk, err := s.Store.LogWalk(ctx, owner, schedule, q, walkLook)
	if err != nil {
		return job.Page[*job.Log]{}, err
	}
	page := job.Page[*job.Log]{Items: walk.Logs}
	if walk.Next == nil {
		return page, nil
	}
	if walk.Next.ID == uuid.Nil {
		// The page is not full. The next run is stored once the previous one is final.
		older := !q.Oldest && walk.Reached.Before(q.Since.Add(-logsTrail))
		newer := q.Oldest && !q.Until.IsZero() && !walk.Reached.Before(q.Until)
		if older || newer {
			return page, nil
		}
	}
	next := q.ListQuery
	next.After, next.AfterID = walk.Next.Run, walk.Next.ID
	page.Next = &next
	return page, nil
}

const (
	// exportPage is how many logs an export reads at a time; exportBytes is
	// about how many bytes of logs it reads at a time.
	exportPage  = 500
	exportBytes = 1 << 20
)

// Export passes logs to write, one page at a time, oldest first: the logs that
// Logs would select and that exist when Export begins. It stops if write returns
// an error. It returns a TooMany fault if the account, or all accounts together,
// have too many exports under way.
func (s *Service) Export(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, write func([]*job.Log) error) error {
	end, err := s.exports.begin(owner.Number)
	if err != nil {
		return err
	}
	defer end()
	q.Oldest, q.Limit, q.Offset, q.Order, q.Bytes = true, exportPage, 0, job.Order{}, exportBytes
	if now := s.Store.Now(); q.Until.IsZero() || q.Until.After(now) {
		q.Until = now
	}
	for {
		next, err := s.exportPage(ctx, owner, schedule, q, write)
		if err != nil || next == nil {
			return err
		}
		q.ListQuery = *next
	}
}

func (s *Service) exportPage(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery,
	write func([]*job.Log) error) (next *job.ListQuery, err error) {
	ctx, release := admission.Hold(ctx)
	defer release()
	page, err := s.Logs(ctx, owner, schedule, q)
	if err != nil {
		return nil, err
	}
	return page.Next, write(page.Items)
}
