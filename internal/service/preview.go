package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Preview is the result of previewing a create request.
type Preview struct {
	// Words say when it runs: "every weekday at 09:00, Europe/Berlin".
	Words string
	// Next holds the next due times, at most previewed; one for a one-off job.
	Next []time.Time
}

// previewed is how many due times a preview lists.
const previewed = 5

// Preview reports when a job would run, from the body of a create request. It
// refuses what Create refuses, and asks the store only for the time and the secrets
// that headers name. If the times of a request that it refuses are right, it returns
// both a preview and the error.
func (s *Service) Preview(ctx context.Context, owner job.Owner, body rawjson.Value, headerKey *string) (*Preview, error) {
	now := s.Store.Now()
	draft, err := s.read(ctx, owner, body, now, headerKey, job.ReadPartly)
	if draft == nil {
		return nil, err
	}
	p := &Preview{Next: []time.Time{draft.DueAt}}
	if draft.Frequency == nil {
		p.Words = "once, as soon as possible"
		if draft.DueAt.After(now) {
			p.Words = "once, on " + draft.DueAt.UTC().Format("2 January 2006 at 15:04:05") + ", UTC"
		}
		return p, err
	}
	p.Words = schedule.Describe(draft.Grid)
	grid := *draft.Grid
	if grid.Shift > 0 {
		// The shift by jitter depends on the schedule's id, which a create chooses.
		p.Next[0] = schedule.Later(draft.ScheduledAt.Add(-grid.Shift), now)
		grid.Shift = 0
	}
	for len(p.Next) < draft.RunsUpTo(previewed) {
		next := grid.Next(time.Time{}, p.Next[len(p.Next)-1])
		if next.IsZero() {
			break
		}
		p.Next = append(p.Next, next)
	}
	return p, err
}

// PreviewRerun refuses what Rerun refuses, and creates nothing.
func (s *Service) PreviewRerun(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value) error {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return err
	}
	r := s.reading(ctx, owner)
	_, err = job.ReadRerun(j, body, r.options(s.Store.Now(), nil))
	return r.result(err)
}
