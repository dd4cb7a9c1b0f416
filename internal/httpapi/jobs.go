package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var jobOrders = []string{"inserted_at", "scheduled_at", "attempted_at", "completed_at", "cancelled_at", "discarded_at", "state", "job_id",
	"id"}

func (s *Server) createJob(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	created, err := s.Service.CreateAll(c.r.Context(), c.owner, body, headerKey(c.r.Header),
		func(jobs int) error { return s.charge(c, 1, jobs) })
	if err != nil {
		return err
	}
	conflict, status := created.Conflict, http.StatusOK
	if !conflict {
		status = http.StatusCreated
	}
	add := c.preferredJob()
	if created.Group {
		return writeItems(c, status, created.Jobs, func(b []byte, j **job.Job) []byte { return add(b, *j, conflict) })
	}
	j := created.Jobs[0]
	c.span.Created(j.Number)
	if !conflict {
		c.Header().Set("Location", "/api/jobs/"+strconv.FormatInt(j.Number, 10))
	}
	return c.writeRecord(status, func(b []byte) []byte { return add(b, j, conflict) })
}

func (s *Server) preview(c *call) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	p, err := s.Service.Preview(c.r.Context(), c.owner, body, headerKey(c.r.Header))
	if err != nil {
		return err
	}
	return c.writeRecord(http.StatusOK, func(b []byte) []byte {
		b = rawjson.AppendText(append(b, `{"words":`...), p.Words)
		b = append(b, `,"next":[`...)
		for i, at := range p.Next {
			if i > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, job.FormatTime(at))
		}
		return append(b, `]}`...)
	})
}

// readOptionalJob reads a body with fields of a job; an empty object if there is no
// body, whatever its media type.
func (c *call) readOptionalJob() (rawjson.Value, error) {
	first := make([]byte, 1)
	n, err := io.ReadFull(c.r.Body, first)
	if n == 0 && (err == io.EOF || err == nil) {
		return rawjson.Value(`{}`), nil
	}
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:n]), c.r.Body), c.r.Body}
	return c.readBody()
}

var unquoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// headerKey returns the value of Idempotency-Key, plain or as a quoted string
// (RFC 8941, section 3.3.3), or nil if there is no such header.
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
	q := c.query()
	selection := q.Filters(job.OfJobs)
	selection.Query.ListQuery = q.list("jobs", c.owner, jobOrders)
	text := q.search()
	if selection.ErrorKind != "" {
		q.excludes("error_kind", "offset", "order_by")
	}
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	page, err := s.findJobs(c, &selection, text)
	if err != nil {
		return err
	}
	return writePage(c, "jobs", page, c.appendJob)
}

// findJobs reads a page of the jobs that filters and a search select.
func (s *Server) findJobs(c *call, of *job.Selection, text string) (job.Page[*job.Job], error) {
	switch ctx := c.r.Context(); {
	case of.ErrorKind != "":
		return s.Service.JobsOfKind(ctx, c.owner, of, text)
	case text != "":
		return s.Service.Search(ctx, c.owner, of.Query, text)
	default:
		return s.Service.Jobs(ctx, c.owner, of.Query)
	}
}

func (s *Server) countJobs(c *call) error {
	q := c.query()
	selection := q.Filters(job.OfJobs)
	if err := fault.Refuse(q.Problems); err != nil {
		return err
	}
	counts, partial, err := s.Service.CountsOf(c.r.Context(), c.owner, &selection, service.CountLimit)
	if err != nil {
		return err
	}
	return c.writeJSON(http.StatusOK, appendCounts(nil, counts, partial))
}

func appendCounts(b []byte, counts map[job.State]int64, partial bool) []byte {
	b = append(b, `{"data":{`...)
	for i, state := range []job.State{job.Available, job.Executing, job.Retryable, job.Completed, job.Cancelled, job.Discarded} {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendText(b, state.String()), ':')
		b = strconv.AppendInt(b, counts[state], 10)
	}
	b = append(b, `},"limit":`...)
	b = strconv.AppendInt(b, service.CountLimit, 10)
	if partial {
		b = append(b, `,"partial":true`...)
	}
	return append(b, '}')
}
