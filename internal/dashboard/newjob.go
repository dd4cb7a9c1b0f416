package dashboard

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// newJob shows the form, empty or with the request of another job.
func (s *Server) newJob(c *call) error {
	f := &jobForm{values: emptyForm(), asJSON: c.param("as") == "json", origin: edge.Origin(c.r)}
	if from := c.param("from"); from != "" {
		if err := s.fillFrom(c, f, from); err != nil {
			return err
		}
	}
	if f.asJSON && f.value("json") == "" {
		f.values.Set("json", exampleJSON)
	}
	f.read(s.Store.Now())
	s.check(c, f)
	return c.render(http.StatusOK, newJobPage(f))
}

const exampleJSON = `{
  "method": "post",
  "url": "https://example.com/hook",
  "schedule_in": [30, "minutes"],
  "body": {"hello": "world"}
}`

// readJobForm reads the form that was sent.
func (s *Server) readJobForm(c *call) *jobForm {
	f := &jobForm{values: c.r.PostForm, asJSON: c.r.PostForm.Get("as") == "json", origin: edge.Origin(c.r)}
	f.read(s.Store.Now())
	return f
}

// previewJob shows when the job would run, while the form is filled in.
func (s *Server) previewJob(c *call) error {
	f := s.readJobForm(c)
	s.check(c, f)
	return c.render(http.StatusOK, previewPart(f))
}

// createJob creates the job, or shows the form again: with its problems, with its
// preview, or as JSON.
func (s *Server) createJob(c *call) error {
	f := s.readJobForm(c)
	f.checked = true
	switch c.r.PostForm.Get("go") {
	case "check":
		s.check(c, f)
		return c.render(http.StatusOK, newJobPage(f))
	case "json":
		asJSON := &jobForm{values: url.Values{"json": {ui.Pretty(f.body)}}, asJSON: true, checked: true, origin: f.origin}
		asJSON.read(s.Store.Now())
		s.check(c, asJSON)
		return c.render(http.StatusOK, newJobPage(asJSON))
	}
	if len(f.problems) > 0 {
		s.check(c, f)
		return c.render(http.StatusUnprocessableEntity, newJobPage(f))
	}
	j, conflict, err := s.Manager.Create(c.r.Context(), c.owner(), f.body, nil)
	switch {
	case err != nil && fault.CodeOf(err) == fault.Invalid:
		s.check(c, f)
		if !f.wrong() { // what only Create refuses
			f.blame(err)
		}
		return c.render(http.StatusUnprocessableEntity, newJobPage(f))
	case err != nil && fault.CodeOf(err) == fault.TooMany:
		s.check(c, f)
		f.others = append(f.others, capital(err.Error()))
		return c.render(c.statusOf(err), newJobPage(f))
	case err != nil:
		return err
	}
	done := "created"
	if conflict {
		done = "held"
	}
	return c.redirect("/jobs/%d?done=%s", j.Number, done)
}

// check finds everything wrong with the request, and when it would run.
func (s *Server) check(c *call, f *jobForm) {
	if f.body == nil {
		return
	}
	found, err := s.Manager.Preview(c.r.Context(), c.owner(), f.body, nil)
	if err != nil {
		f.blame(err)
	}
	if found != nil && f.problems["when"] == "" {
		f.preview = &preview{found, f.zone()}
	}
}

// fillFrom fills the form with the request of an existing job.
func (s *Server) fillFrom(c *call, f *jobForm, from string) error {
	number, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return noJob
	}
	j, err := s.Store.JobGet(c.r.Context(), c.owner(), store.JobID{Number: number})
	if err != nil {
		return err
	}
	for _, m := range rawjson.Members(job.Again(j)) {
		if field := job.FieldNamed(m.Name); field != nil {
			f.fill(field, m.Value)
		}
	}
	return nil
}
