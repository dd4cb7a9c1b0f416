package httpapi

import (
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/internal/rehearse"
)

// rehearse responds with what schedules will do, as JSON or, if the client accepts only
// that, as a calendar.
func (s *Server) rehearse(c *call) error {
	body, err := c.readBody()
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
