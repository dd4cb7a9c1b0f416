package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/stats"
)

// punctuality is the path at which the service reports its own lateness.
const punctuality = "/api/punctuality"

func (s *Server) getPunctuality(c *call) error {
	p, err := s.Stats.Punctuality(c.r.Context())
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"at":"`...)
		b = append(append(b, job.FormatTime(p.At)...), '"')
		b = appendLateness(append(b, `,"hour":`...), &p.Hour)
		b = appendLateness(append(b, `,"day":`...), &p.Day)
		return append(appendLateness(append(b, `,"week":`...), &p.Week), '}')
	})
}

func appendLateness(b []byte, l *stats.Lateness) []byte {
	b = append(append(b, `{"since":"`...), job.FormatTime(l.Since)...)
	b = strconv.AppendUint(append(b, `","attempts":`...), l.Attempts, 10)
	return append(l.Append(append(b, `,"lateness_ms":`...)), '}')
}

// schedulePunctuality responds with the report of a month of a schedule, as CSV if the
// client accepts that first.
func (s *Server) schedulePunctuality(c *call) error {
	id, err := s.scheduleID(c)
	if err != nil {
		return err
	}
	q := c.query()
	month, ok := stats.ReadMonth(q.Values.Get("month"), s.Service.Now())
	if !ok || q.Values.Has("month") && q.Values.Get("month") == "" {
		q.Refuse("month", "must be one of the last "+strconv.Itoa(stats.MonthsKept)+" months, in UTC, such as "+
			stats.FormatMonth(stats.MonthOf(s.Service.Now())))
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	report, err := s.Service.SchedulePunctuality(c.r.Context(), c.owner, id, month)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(c.r.Header.Get("Accept"), stats.ReportType) {
		return c.writeRecord(http.StatusOK, report.Append)
	}
	c.Header().Set("Content-Type", stats.ReportContentType)
	c.WriteHeader(http.StatusOK)
	_, _ = c.Write(report.AppendCSV(nil)) // fails only if the client is gone
	return nil
}
