package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

var logOrders = []string{"inserted_at", "event", "job_id", "id"}

// logs reads the filters of a list of logs.
func (q *query) logs() (job.LogQuery, uuid.UUID) {
	s := q.Filters(job.OfLogs)
	return s.Logs(), s.Query.Schedule
}

func (s *Server) listLogs(c *call) error {
	q := c.query()
	selection, schedule := q.logs()
	list := "logs"
	if schedule != uuid.Nil {
		list = "logs of a schedule" // in another order, so cursors differ
	}
	selection.ListQuery = q.list(list, c.owner, logOrders)
	if schedule != uuid.Nil {
		q.excludes("schedule_id", "offset", "order_by")
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.Service.Logs(c.r.Context(), c.owner, schedule, selection)
	if err != nil {
		return err
	}
	return writePage(c, list, page, c.appendLog)
}

// exportLogs streams logs as lines of JSON.
func (s *Server) exportLogs(c *call) error {
	q := c.query()
	selection, schedule := q.logs()
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	return edge.WriteLogs(c, c.r, func(part func([]*job.Log) error) error {
		return s.Service.Export(c.r.Context(), c.owner, schedule, selection,
			func(logs []*job.Log) error { return part(c.maskedLogs(logs)) })
	})
}

func (s *Server) getLog(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok {
		return fault.NoSuch("log")
	}
	l, err := s.Service.Log(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return c.appendLog(b, l) })
}
