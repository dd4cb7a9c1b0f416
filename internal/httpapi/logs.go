package httpapi

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var logOrders = []string{"inserted_at", "event", "job_id", "id"}

func (s *Server) listLogs(c *call) error {
	q := &query{values: c.r.URL.Query()}
	selection := store.LogQuery{ListQuery: q.list("logs", c.owner, logOrders), Job: q.job(), Event: q.event()}
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	logs, err := s.Store.LogList(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	logs = page(c, "logs", selection.ListQuery, logs, func(l *job.Log) position { return position{id: l.ID} })
	return writeList(c, logs, job.AppendLog)
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
