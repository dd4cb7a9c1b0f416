package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

// withJob responds with the record of the job that do returns.
func (c *call) withJob(status int, do func(context.Context, job.Owner, store.JobID) (*job.Job, error)) error {
	id, ok := service.ParseJobID(c.r.PathValue("job_id"))
	if !ok {
		return fault.NoSuch("job")
	}
	j, err := do(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		c.Header().Set("Location", "/api/jobs/"+strconv.FormatInt(j.Number, 10))
	}
	return c.writeRecord(status, func(b []byte) []byte { return job.AppendJob(b, j, false) })
}

func (s *Server) getJob(c *call) error    { return c.withJob(http.StatusOK, s.Store.JobGet) }
func (s *Server) cancelJob(c *call) error { return c.withJob(http.StatusOK, s.Manager.Cancel) }
func (s *Server) runJob(c *call) error    { return c.withJob(http.StatusOK, s.Manager.RunNow) }
func (s *Server) rerunJob(c *call) error  { return c.withJob(http.StatusCreated, s.Manager.Rerun) }

func (s *Server) rescheduleJob(c *call) error {
	return c.withJob(http.StatusOK, func(ctx context.Context, owner job.Owner, id store.JobID) (*job.Job, error) {
		// An unknown id is reported before problems of the body.
		if _, err := s.Store.JobGet(ctx, owner, id); err != nil {
			return nil, err
		}
		body, err := c.readBody()
		if err != nil {
			return nil, err
		}
		return s.Manager.Reschedule(ctx, owner, id, body)
	})
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
	jobs, err := s.Manager.CancelMany(c.r.Context(), c.owner, ids)
	if err != nil {
		return err
	}
	return writeList(c, jobs, func(b []byte, j *job.Job) []byte { return job.AppendJob(b, j, false) })
}

// readJobIDs reads {"job_ids": [...]}.
func readJobIDs(body rawjson.Value) ([]store.JobID, error) {
	var problems fault.Problems
	refuse := func(pointer, detail string) {
		problems.Add(fault.Problem{Pointer: pointer, Detail: detail})
	}
	var ids []store.JobID
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
func readID(v rawjson.Value) (store.JobID, bool) {
	if v.Kind() == '0' {
		return service.ParseJobID(string(v))
	}
	return service.ParseJobID(rawjson.Text(v))
}
