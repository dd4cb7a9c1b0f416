package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

// keyPrefix precedes an idempotency key in a path, in the place of an id.
const keyPrefix = "key:"

// jobID returns the job that a path names, by an id or by the key that it holds.
func (s *Server) jobID(c *call) (job.Ref, error) {
	text := c.r.PathValue("job_id")
	if key, isKey := strings.CutPrefix(text, keyPrefix); isKey {
		j, err := s.Service.JobHolding(c.r.Context(), c.owner, key)
		if err != nil {
			return job.Ref{}, err
		}
		return job.Ref{Number: j.Number}, nil
	}
	id, ok := job.ParseRef(text)
	if !ok {
		return id, fault.NoSuch("job")
	}
	return id, nil
}

// withJob responds with the record of the job that do returns.
func (s *Server) withJob(c *call, status int, do func(context.Context, job.Owner, job.Ref) (*job.Job, error)) error {
	id, err := s.jobID(c)
	if err != nil {
		return err
	}
	j, err := do(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeJob(status, j)
}

func (c *call) writeJob(status int, j *job.Job) error {
	c.setRevision(j.Revision)
	if status == http.StatusCreated {
		c.Header().Set("Location", "/api/jobs/"+strconv.FormatInt(j.Number, 10))
	}
	return c.writeRecord(status, func(b []byte) []byte { return c.appendJob(b, j) })
}

func (s *Server) getJob(c *call) error { return s.withJob(c, http.StatusOK, s.Service.Job) }
func (s *Server) runJob(c *call) error { return s.withJob(c, http.StatusOK, s.Service.RunNow) }

func (s *Server) cancelJob(c *call) error {
	return s.withJob(c, http.StatusOK, func(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
		return s.Service.Cancel(ctx, owner, id, conditions(c.r.Header))
	})
}

func (s *Server) patchJob(c *call) error {
	return s.withJob(c, http.StatusOK, func(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
		// An unknown id is reported before problems of the body.
		if _, err := s.Service.Job(ctx, owner, id); err != nil {
			return nil, err
		}
		body, err := c.readBody()
		if err != nil {
			return nil, err
		}
		return s.Service.EditJob(ctx, owner, id, body, conditions(c.r.Header))
	})
}

func (s *Server) rerunJob(c *call) error {
	id, err := s.jobID(c)
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	if _, err := s.Service.Job(ctx, c.owner, id); err != nil {
		return err
	}
	body, err := c.readOptionalJob()
	if err != nil {
		return err
	}
	again, conflict, err := s.Service.Rerun(ctx, c.owner, id, body, headerKey(c.r.Header))
	if err != nil {
		return err
	}
	if !conflict {
		return c.writeJob(http.StatusCreated, again)
	}
	c.setRevision(again.Revision)
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return c.appendJobAs(b, again, true) })
}

func (s *Server) cancelJobs(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	ids, err := readJobIDs(body)
	if err != nil {
		return err
	}
	if err := s.charge(c, 1, len(ids)); err != nil {
		return err
	}
	jobs, err := s.Service.CancelMany(c.r.Context(), c.owner, ids)
	if err != nil {
		return err
	}
	return writeList(c, jobs, c.appendJob)
}

// readJobIDs reads {"job_ids": [...]}.
func readJobIDs(body rawjson.Value) ([]job.Ref, error) {
	var problems fault.Problems
	refuse := func(pointer, detail string) {
		problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
	}
	var ids []job.Ref
	found := false
	if body.Kind() != '{' {
		refuse("#", "must be a JSON object with job_ids")
	}
	for _, m := range rawjson.Members(body) {
		if m.Name != "job_ids" {
			refuse(job.Pointer(m.Name), "is not a known field; the only one is job_ids")
			continue
		}
		found = true
		elements := rawjson.Elements(m.Value)
		if len(elements) < 1 || len(elements) > service.MaxCancel {
			refuse("#/job_ids", "must be a list of 1 to "+strconv.Itoa(service.MaxCancel)+" ids")
			continue
		}
		for i, e := range elements {
			id, ok := readID(e)
			if !ok {
				refuse("#/job_ids/"+strconv.Itoa(i), "must be a job's integer id or UUID")
			}
			ids = append(ids, id)
		}
	}
	if !found && problems.Len() == 0 {
		refuse("#/job_ids", "is required")
	}
	return ids, problems.Err()
}

// readID reads an id that is a number or, as in forms, a string.
func readID(v rawjson.Value) (job.Ref, bool) {
	if v.Kind() == '0' {
		return job.ParseRef(string(v))
	}
	return job.ParseRef(rawjson.Text(v))
}
