package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var logOrders = []string{"inserted_at", "event", "job_id", "id"}

// logs reads the filters of a list of logs.
func (q *query) logs() (store.LogQuery, uuid.UUID) {
	l := store.LogQuery{Job: q.job(), Event: q.event(), Since: q.time("since"), Until: q.time("until")}
	if !l.Since.IsZero() && !l.Until.IsZero() && !l.Since.Before(l.Until) {
		q.refuse("until", "must be later than since")
	}
	return l, q.uuid("schedule_id")
}

func (s *Server) listLogs(c *call) error {
	q := &query{values: c.r.URL.Query()}
	selection, schedule := q.logs()
	if schedule != uuid.Nil {
		return s.listLogsOfSchedule(c, q, selection, schedule)
	}
	selection.ListQuery = q.list("logs", c.owner, logOrders)
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	logs, err := s.Store.LogList(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	logs = page(c, "logs", selection.ListQuery, logs, store.LogSize, func(l *job.Log) position { return position{id: l.ID} })
	return writeList(c, logs, job.AppendLog)
}

func (s *Server) listLogsOfSchedule(c *call, q *query, selection store.LogQuery, schedule uuid.UUID) error {
	const list = "logs of a schedule"
	selection.ListQuery = q.list(list, c.owner, logOrders)
	selection.Limit--
	q.alone("schedule_id", "offset", "order_by")
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	found, err := s.Manager.Logs(c.r.Context(), c.owner, schedule, selection)
	if err != nil {
		return err
	}
	if found.Next != nil {
		linkNext(c, list, selection.Limit, position{number: found.Next.Run, id: found.Next.ID})
	}
	return writeList(c, found.Logs, job.AppendLog)
}

// exportLogs streams logs as lines of JSON.
func (s *Server) exportLogs(c *call) error {
	q := &query{values: c.r.URL.Query()}
	selection, schedule := q.logs()
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	return edge.WriteLogs(c, c.r, func(part func([]*job.Log) error) error {
		return s.Manager.Export(c.r.Context(), c.owner, schedule, selection, part)
	})
}

func (s *Server) getLog(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok {
		return fault.NoSuch("log")
	}
	l, err := s.Store.LogGet(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendLog(b, l) })
}
