package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var scheduleOrders = []string{"inserted_at", "disabled_at", "name", "id"}

func (s *Server) listSchedules(c *call) error {
	q := c.query()
	selection := job.ScheduleQuery{ListQuery: q.list("schedules", c.owner, scheduleOrders), Tags: q.Tags()}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.Service.Schedules(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	return writePage(c, "schedules", page, c.appendSchedule)
}

func (c *call) scheduleID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("schedule_id"))
	if !ok {
		return id, fault.NoSuch("schedule")
	}
	return id, nil
}

// withSchedule responds with what show appends for the schedule that do returns.
func (c *call) withSchedule(do func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error), show func([]byte, *job.Schedule) []byte) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	schedule, err := do(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return show(b, schedule) })
}

func (s *Server) getSchedule(c *call) error {
	return c.withSchedule(s.Service.Schedule, c.appendSchedule)
}

func (s *Server) disableSchedule(c *call) error {
	return c.withSchedule(s.Service.Disable, c.appendSchedule)
}

func (s *Server) enableSchedule(c *call) error {
	return c.withSchedule(s.Service.Enable, c.appendSchedule)
}

func (s *Server) editSchedule(c *call) error {
	return c.withSchedule(s.withBody(c, s.Service.Edit), c.appendSchedule)
}

func (s *Server) getState(c *call) error {
	return c.withSchedule(s.Service.Schedule, job.AppendScheduleState)
}

func (s *Server) putState(c *call) error {
	return c.withSchedule(s.withBody(c, s.Service.SetState), job.AppendScheduleState)
}

// withBody reads the call's body for a change of a schedule. It reports an
// unknown schedule before problems of the body.
func (s *Server) withBody(c *call, do func(context.Context, job.Owner, uuid.UUID, rawjson.Value) (*job.Schedule, error)) func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error) {
	return func(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
		if _, err := s.Service.Schedule(ctx, owner, id); err != nil {
			return nil, err
		}
		body, err := c.readBody()
		if err != nil {
			return nil, err
		}
		return do(ctx, owner, id, body)
	}
}

// withoutContent calls do for a schedule and responds with 204.
func (c *call) withoutContent(do func(context.Context, job.Owner, uuid.UUID) error) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := do(c.r.Context(), c.owner, id); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteSchedule(c *call) error { return c.withoutContent(s.Service.Delete) }

func (s *Server) deleteState(c *call) error {
	return c.withoutContent(func(ctx context.Context, owner job.Owner, id uuid.UUID) error {
		_, err := s.Service.ClearState(ctx, owner, id)
		return err
	})
}
