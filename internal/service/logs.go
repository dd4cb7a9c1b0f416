package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// walkLook is how many runs of a schedule a page of logs scans.
	walkLook = 2000
	// logsTrail exceeds the longest time between the end of a job and its last
	// log: deliveries are given up within a day.
	logsTrail = 7 * 24 * time.Hour
)

// LogPage is a page of an account's logs.
type LogPage struct {
	Logs []*job.Log
	// Next is where the next page starts, for After; nil at the end.
	Next *store.LogPlace
}

// After returns the query for the page after a place.
func After(q store.LogQuery, place store.LogPlace) store.LogQuery {
	q.After, q.AfterID = place.Run, place.ID
	return q
}

// Logs reads a page of logs, up to q.Limit of them, in the default order: the
// newest first or, with q.Oldest, the oldest.
//
// With a schedule (uuid.Nil means any), logs are ordered by run, newest run
// first, so that a delivery that was given up late appears with its run. Such a
// page scans the logs of at most 2,000 runs, so an empty page may have a next
// one. Pages are found by index, unless q asks for an event that is rare among
// many.
func (m *Service) Logs(ctx context.Context, owner job.Owner, schedule uuid.UUID, q store.LogQuery) (*LogPage, error) {
	if schedule != uuid.Nil && q.Job != nil {
		j, err := m.Store.JobGet(ctx, owner, *q.Job)
		switch {
		case err != nil && fault.CodeOf(err) != fault.NotFound:
			return nil, err
		case err != nil || j.ScheduleID != schedule:
			return &LogPage{}, nil
		}
		schedule = uuid.Nil
	}
	if schedule != uuid.Nil {
		return m.walkLogs(ctx, owner, schedule, q)
	}
	limit := q.Limit
	q.Limit++
	logs, err := m.Store.LogList(ctx, owner, q)
	if err != nil {
		return nil, err
	}
	page := &LogPage{}
	var more bool
	if page.Logs, more = store.Fit(logs, limit, q.Budget(), store.LogSize); more {
		page.Next = &store.LogPlace{ID: page.Logs[len(page.Logs)-1].ID}
	}
	return page, nil
}

func (m *Service) walkLogs(ctx context.Context, owner job.Owner, schedule uuid.UUID, q store.LogQuery) (*LogPage, error) {
	walk, err := m.Store.LogWalk(ctx, owner, schedule, q, walkLook)
	if err != nil {
		return nil, err
	}
	page := &LogPage{Logs: walk.Logs, Next: walk.Next}
	if walk.Next == nil || walk.Next.ID != uuid.Nil {
		return page, nil // the end, or a full page
	}
	// The next run is stored once the previous one is final.
	older := !q.Oldest && walk.Reached.Before(q.Since.Add(-logsTrail))
	newer := q.Oldest && !q.Until.IsZero() && !walk.Reached.Before(q.Until)
	if older || newer {
		page.Next = nil
	}
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
func (m *Service) Export(ctx context.Context, owner job.Owner, schedule uuid.UUID, q store.LogQuery, write func([]*job.Log) error) error {
	end, err := m.exports.begin(owner.Number)
	if err != nil {
		return err
	}
	defer end()
	q.Oldest, q.Limit, q.Offset, q.Order, q.Bytes = true, exportPage, 0, store.Order{}, exportBytes
	if now := m.Store.Now(); q.Until.IsZero() || q.Until.After(now) {
		q.Until = now
	}
	for {
		next, err := m.exportPage(ctx, owner, schedule, q, write)
		if err != nil || next == nil {
			return err
		}
		q = After(q, *next)
	}
}

func (m *Service) exportPage(ctx context.Context, owner job.Owner, schedule uuid.UUID, q store.LogQuery, write func([]*job.Log) error) (next *store.LogPlace, err error) {
	ctx, release := admission.Hold(ctx)
	defer release()
	page, err := m.Logs(ctx, owner, schedule, q)
	if err != nil {
		return nil, err
	}
	return page.Next, write(page.Logs)
}
