package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/service"
)

// rehearse responds with what schedules will do, as JSON or, if the client accepts only
// that, as a calendar.
func (s *Server) rehearse(c *call) error {
	body, err := c.readDocument()
	if err != nil {
		return err
	}
	q, err := s.Service.ReadRehearsal(c.r.Context(), c.owner, body)
	if err != nil {
		return err
	}
	var calendar *rehearse.Calendar
	if strings.HasPrefix(c.r.Header.Get("Accept"), rehearse.CalendarType) {
		calendar = &rehearse.Calendar{}
		q.Each = calendar.Add
	}
	result, err := s.Service.Rehearse(c.r.Context(), c.owner, q)
	if err != nil {
		return err
	}
	if calendar == nil {
		return c.writeRecord(http.StatusOK, result.Append)
	}
	c.Header().Set("Content-Type", rehearse.CalendarType+"; charset=utf-8")
	c.WriteHeader(http.StatusOK)
	_, _ = c.Write(calendar.Append(nil, result)) // fails only if the client is gone
	return nil
}

// rehearseChange responds with how a change of a schedule would change its runs.
func (s *Server) rehearseChange(c *call, do func(context.Context, job.Owner, uuid.UUID, rawjson.Value, service.Match) (*rehearse.Comparison,
	error)) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	if _, err := s.Service.Schedule(c.r.Context(), c.owner, id); err != nil {
		return err
	}
	body, err := c.readBody()
	if err != nil {
		return err
	}
	comparison, err := do(c.r.Context(), c.owner, id, body, conditions(c.r.Header))
	return c.writeComparison(comparison, err)
}

func (c *call) writeComparison(comparison *rehearse.Comparison, err error) error {
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, comparison.Append)
}
