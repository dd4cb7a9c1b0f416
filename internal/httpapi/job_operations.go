package httpapi

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// startOperation starts an operation on many jobs, or counts the jobs of a dry run.
func (s *Server) startOperation(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	request, err := s.Service.ReadOperation(c.r.Context(), c.owner, body)
	if err != nil {
		return err
	}
	if request.DryRun {
		return s.countMatches(c, request)
	}
	o, err := s.Service.StartOperation(c.r.Context(), c.owner, request)
	if err != nil {
		return err
	}
	c.Header().Set("Location", "/api/operations/"+o.ID.String())
	return c.writeOperation(http.StatusAccepted, o)
}

// countMatches responds with how many jobs an operation would find.
func (s *Server) countMatches(c *call, request *job.OperationRequest) error {
	matched, partial, err := s.Service.CountMatches(c.r.Context(), c.owner, request)
	if err != nil {
		return err
	}
	b := rawjson.AppendText([]byte(`{"data":{"action":`), string(request.Action))
	b = append(append(b, `,"filter":`...), request.Filter...)
	b = append(b, `,"set":`...)
	if request.Set == nil {
		b = append(b, `null`...)
	} else {
		b = append(b, request.Set...)
	}
	b = strconv.AppendInt(append(b, `,"matched":`...), matched, 10)
	b = append(b, '}')
	if partial {
		b = append(b, `,"partial":true`...)
	}
	return c.writeJSON(http.StatusOK, append(b, '}'))
}

// listOperations lists the account's operations, newest first.
func (s *Server) listOperations(c *call) error {
	const list = "operations"
	q := c.query()
	selection := q.list(list, c.owner, nil)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.Service.AllOperations(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	return writePage(c, list, page, job.AppendOperation)
}

func (s *Server) getOperation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	o, err := s.Service.Operation(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeOperation(http.StatusOK, o)
}

func (s *Server) stopOperation(c *call) error {
	id, err := c.operationID()
	if err != nil {
		return err
	}
	o, _, err := s.Service.StopOperation(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeOperation(http.StatusOK, o)
}

// operationID reads the id in the path.
func (c *call) operationID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("operation_id"))
	if !ok {
		return id, fault.NoSuch("operation")
	}
	return id, nil
}

func (c *call) writeOperation(status int, o *job.Operation) error {
	return c.writeRecord(status, func(b []byte) []byte { return job.AppendOperation(b, o) })
}
