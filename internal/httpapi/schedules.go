package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

var scheduleOrders = []string{"inserted_at", "disabled_at", "name", "id"}

func (s *Server) listSchedules(c *call) error {
	q := &query{values: c.r.URL.Query()}
	selection := q.list("schedules", c.owner, scheduleOrders)
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	schedules, err := s.Store.ScheduleList(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	schedules = page(c, "schedules", selection, schedules, func(s *job.Schedule) position { return position{id: s.ID} })
	return writeList(c, schedules, job.AppendSchedule)
}

func (c *call) scheduleID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("schedule_id"))
	if !ok {
		return id, fault.NoSuch("schedule")
	}
	return id, nil
}

// withSchedule answers with the record of the schedule that do gives.
func (c *call) withSchedule(do func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error)) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	schedule, err := do(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendSchedule(b, schedule) })
}

func (s *Server) getSchedule(c *call) error     { return c.withSchedule(s.Store.ScheduleGet) }
func (s *Server) disableSchedule(c *call) error { return c.withSchedule(s.Manager.Disable) }
func (s *Server) enableSchedule(c *call) error  { return c.withSchedule(s.Manager.Enable) }

func (s *Server) deleteSchedule(c *call) error {
	id, err := c.scheduleID()
	if err != nil {
		return err
	}
	if err := s.Manager.Delete(c.r.Context(), c.owner, id); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}
