package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var scheduleOrders = []string{"inserted_at", "disabled_at", "name", "id"}

func (s *Server) listSchedules(c *call) error {
	q := c.query()
	selection := job.ScheduleQuery{ListQuery: q.list("schedules", c.owner, scheduleOrders), Tags: q.Filters(job.OfSchedules).Query.Tags}
	included := q.includes(nextRunAt)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.Service.Schedules(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	if !included {
		return writePage(c, "schedules", page, c.appendSchedule)
	}
	next, err := s.Service.NextRuns(c.r.Context(), c.owner, page.Items)
	if err != nil {
		return err
	}
	i := 0
	return writePage(c, "schedules", page, func(b []byte, listed *job.Schedule) []byte {
		b = c.appendSchedule(b, listed)
		b = appendInstant(append(b[:len(b)-1], `,"`+nextRunAt+`":`...), next[i])
		i++
		return append(b, '}')
	})
}

// nextRunAt is the key that include adds to each record of a list of schedules.
const nextRunAt = "next_run_at"

// scheduleID returns the schedule that a path names, by its id or by its key.
func (s *Server) scheduleID(c *call) (uuid.UUID, error) {
	text := c.r.PathValue("schedule_id")
	if key, isKey := strings.CutPrefix(text, keyPrefix); isKey {
		found, err := s.Service.ScheduleHolding(c.r.Context(), c.owner, key)
		if err != nil {
			return uuid.Nil, err
		}
		return found.ID, nil
	}
	id, ok := job.ParseID(text)
	if !ok {
		return id, fault.NoSuch("schedule")
	}
	return id, nil
}

// withSchedule responds with the record of the schedule that do returns.
func (s *Server) withSchedule(c *call, do func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error)) error {
	found, err := s.schedule(c, do)
	if err != nil {
		return err
	}
	return c.writeSchedule(http.StatusOK, found)
}

func (s *Server) schedule(c *call, do func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error)) (*job.Schedule, error) {
	id, err := s.scheduleID(c)
	if err != nil {
		return nil, err
	}
	return do(c.r.Context(), c.owner, id)
}

func (c *call) writeSchedule(status int, found *job.Schedule) error {
	c.setRevision(found.Revision)
	if status == http.StatusCreated {
		c.Header().Set("Location", "/api/schedules/"+found.ID.String())
	}
	return c.writeRecord(status, func(b []byte) []byte { return c.appendSchedule(b, found) })
}

func (s *Server) getSchedule(c *call) error { return s.withSchedule(c, s.Service.Schedule) }

func (s *Server) disableSchedule(c *call) error {
	return s.withSchedule(c, func(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
		return s.Service.Disable(ctx, owner, id, conditions(c.r.Header))
	})
}

func (s *Server) enableSchedule(c *call) error {
	return s.withSchedule(c, func(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
		return s.Service.Enable(ctx, owner, id, conditions(c.r.Header))
	})
}

func (s *Server) muteSchedule(c *call) error {
	var muted *job.Mute
	_, err := s.schedule(c, s.withBody(c, func(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (_ *job.Schedule,
		err error) {
		muted, err = s.Service.Mute(ctx, owner, id, body, conditions(c.r.Header))
		return nil, err
	}))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendMute(b, muted) })
}

func (s *Server) unmuteSchedule(c *call) error {
	return s.withoutContent(c, func(ctx context.Context, owner job.Owner, id uuid.UUID) error {
		return s.Service.Unmute(ctx, owner, id, conditions(c.r.Header))
	})
}

func (s *Server) patchSchedule(c *call) error {
	if c.prefersRehearsal() {
		return s.rehearseChange(c, s.Service.RehearseEdit)
	}
	return s.withSchedule(c, s.withBody(c, func(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Schedule,
		error) {
		return s.Service.EditSchedule(ctx, owner, id, body, conditions(c.r.Header))
	}))
}

func (s *Server) putSchedule(c *call) error {
	key, isKey := strings.CutPrefix(c.r.PathValue("schedule_id"), keyPrefix)
	rehearsed := c.prefersRehearsal()
	if !isKey && rehearsed {
		return s.rehearseChange(c, s.Service.RehearseReplace)
	}
	if !isKey {
		return s.withSchedule(c, s.withBody(c, func(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Schedule,
			error) {
			return s.Service.ReplaceSchedule(ctx, owner, id, body, conditions(c.r.Header))
		}))
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if rehearsed {
		comparison, err := s.Service.RehearsePut(c.r.Context(), c.owner, key, body, conditions(c.r.Header))
		return c.writeComparison(comparison, err)
	}
	result, err := s.Service.PutSchedule(c.r.Context(), c.owner, key, body, conditions(c.r.Header))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if result.Created {
		status = http.StatusCreated
	}
	return c.writeSchedule(status, result.Schedule)
}

func (s *Server) runSchedule(c *call) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	j, created, err := s.Service.RunSchedule(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return c.writeJob(status, j)
}

func (s *Server) getState(c *call) error { return s.writeState(c, s.Service.Schedule) }

func (s *Server) putState(c *call) error {
	match, err := c.untagged("$state")
	if err != nil {
		return err
	}
	return s.writeState(c, s.withBody(c, func(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Schedule,
		error) {
		return s.Service.SetState(ctx, owner, id, body, match)
	}))
}

// writeState responds with the $state of the schedule that do returns.
func (s *Server) writeState(c *call, do func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error)) error {
	found, err := s.schedule(c, do)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendScheduleState(b, found) })
}

// withBody reads the call's body for a change of a schedule. It reports an
// unknown schedule before problems of the body.
func (s *Server) withBody(c *call, do func(context.Context, job.Owner, uuid.UUID, rawjson.Value) (*job.Schedule,
	error)) func(context.Context, job.Owner, uuid.UUID) (*job.Schedule, error) {
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
func (s *Server) withoutContent(c *call, do func(context.Context, job.Owner, uuid.UUID) error) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	if err := do(c.r.Context(), c.owner, id); err != nil {
		return err
	}
	c.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteSchedule(c *call) error {
	return s.withoutContent(c, func(ctx context.Context, owner job.Owner, id uuid.UUID) error {
		return s.Service.Delete(ctx, owner, id, conditions(c.r.Header))
	})
}

func (s *Server) deleteState(c *call) error {
	match, err := c.untagged("$state")
	if err != nil {
		return err
	}
	return s.withoutContent(c, func(ctx context.Context, owner job.Owner, id uuid.UUID) error {
		_, err := s.Service.ClearState(ctx, owner, id, match)
		return err
	})
}
