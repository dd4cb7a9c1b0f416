package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var jobOrders = []string{"inserted_at", "scheduled_at", "attempted_at", "completed_at", "cancelled_at", "discarded_at", "state", "job_id", "id"}

func (s *Server) createJob(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	if isJSONInForm(body) {
		return fault.Refuse([]fault.Problem{{Pointer: "#", Detail: "looks like JSON that is sent as a form; send it with Content-Type: application/json"}})
	}
	j, conflict, err := s.Manager.Create(c.r.Context(), c.owner, body, headerKey(c.r.Header))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if !conflict {
		status = http.StatusCreated
		c.Header().Set("Location", "/api/jobs/"+strconv.FormatInt(j.Number, 10))
	}
	return c.writeRecord(status, func(b []byte) []byte { return job.AppendJob(b, j, conflict) })
}

// isJSONInForm reports whether a body came of a form whose first name begins
// like JSON: what curl -d sends when nobody says otherwise.
func isJSONInForm(body rawjson.Value) bool {
	return bytes.HasPrefix(body, []byte(`{"{`)) || bytes.HasPrefix(body, []byte(`{"[`))
}

var unquoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// headerKey gives the value of Idempotency-Key, plain or as a quoted string
// (RFC 8941, section 3.3.3); nil when there is no such header.
func headerKey(header http.Header) *string {
	values := header.Values("Idempotency-Key")
	if len(values) == 0 {
		return nil
	}
	text := strings.Join(values, ", ")
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = unquoted.Replace(text[1 : len(text)-1])
	}
	return &text
}

func (s *Server) listJobs(c *call) error {
	q := &query{values: c.r.URL.Query()}
	selection := store.JobQuery{
		ListQuery: q.list("jobs", c.owner, jobOrders), States: q.states(), Schedule: q.uuid("schedule_id"), Key: q.key(),
	}
	if err := fault.Refuse(q.problems); err != nil {
		return err
	}
	jobs, err := s.Store.JobList(c.r.Context(), c.owner, selection)
	if err != nil {
		return err
	}
	jobs = page(c, "jobs", selection.ListQuery, jobs, func(j *job.Job) position { return position{number: j.Number} })
	return writeList(c, jobs, func(b []byte, j *job.Job) []byte { return job.AppendJob(b, j, false) })
}

func (c *call) jobID() (store.JobID, error) {
	id, ok := readJobID(c.r.PathValue("job_id"))
	if !ok {
		return id, fault.NoSuch("job")
	}
	return id, nil
}

func (s *Server) getJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Store.JobGet(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendJob(b, j, false) })
}

func (s *Server) cancelJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	j, err := s.Manager.Cancel(c.r.Context(), c.owner, id)
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte { return job.AppendJob(b, j, false) })
}
