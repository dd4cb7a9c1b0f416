package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// newJobForm returns the form with the texts of its inputs.
func newJobForm(c *call, values url.Values, asJSON bool) *jobForm {
	return &jobForm{NewJob: view.NewJob{Values: values, AsJSON: asJSON, Problems: map[string]string{}}, origin: edge.Origin(c.r),
		key: ui.From(c.r.Context()).Key()}
}

// newJob shows the form, empty or with the request of another job.
func (s *Server) newJob(c *call) error {
	f := newJobForm(c, emptyForm(), c.param("as") == "json")
	if from := c.param("from"); from != "" {
		if err := s.fillFrom(c, f, from); err != nil {
			return err
		}
		f.Values.Set("from", from)
	}
	if when := c.param("when"); when != "" && len(when) <= maxSearch {
		f.Values.Set("when", when)
	}
	if f.AsJSON && f.value("json") == "" {
		f.Values.Set("json", exampleJSON)
	}
	f.read(s.Service.Now())
	s.check(c, f)
	return c.render(http.StatusOK, view.NewJobPage(f.page()))
}

const exampleJSON = `{
  "method": "post",
  "url": "https://example.com/hook",
  "schedule_in": [30, "minutes"],
  "body": {"hello": "world"}
}`

// readJobForm reads the form that was sent.
func (s *Server) readJobForm(c *call) (*jobForm, error) {
	f := newJobForm(c, c.r.PostForm, c.r.PostForm.Get("as") == "json")
	f.read(s.Service.Now())
	return f, s.readCopied(c, f)
}

// readCopied reads the request that the form is a copy of. Its credentials are
// masked in the form and taken from it when the job is created. The public account
// copies no credentials.
func (s *Server) readCopied(c *call, f *jobForm) error {
	number, err := strconv.ParseInt(f.value("from"), 10, 64)
	if err != nil || c.viewer.public {
		return nil
	}
	copied, err := s.Service.Job(c.r.Context(), c.owner(), job.Ref{Number: number})
	switch {
	case fault.CodeOf(err) == fault.NotFound: // deleted meanwhile
		return nil
	case err == nil:
		f.copied = copied.Args
	}
	return err
}

// previewJob shows when the job would run, while the form is filled in.
func (s *Server) previewJob(c *call) error {
	f, err := s.readJobForm(c)
	if err != nil {
		return err
	}
	s.check(c, f)
	return c.render(http.StatusOK, view.PreviewPart(f.page()))
}

// pasteCommand shows the form with the request of a curl command.
func (s *Server) pasteCommand(c *call) error {
	command := c.r.PostForm.Get("curl")
	f := newJobForm(c, emptyForm(), false)
	if zone := c.r.PostForm.Get("zone"); zone != "" && len(zone) <= 64 {
		f.Values.Set("zone", zone)
	}
	members, err := crontab.Request(command)
	for _, m := range members {
		field := job.FieldNamed(m.Name)
		if m.Name == "method" {
			m.Value = rawjson.Quote(strings.ToLower(rawjson.Text(m.Value)))
			if method := rawjson.Text(m.Value); !slices.Contains(field.Form.Choices, method) {
				err = errors.New("uses the method " + ui.Shorten(method, 40) + "; jobs have " + strings.Join(field.Form.Choices, ", "))
			}
		}
		if field != nil && err == nil {
			f.fill(field, m.Value)
		}
	}
	f.read(s.Service.Now())
	if err != nil {
		f.Command, _ = ui.Clip(command, crontab.MaxCommand)
		f.CommandProblem = err.Error()
		return c.render(http.StatusUnprocessableEntity, view.NewJobPage(f.page()))
	}
	s.check(c, f)
	return c.render(http.StatusOK, view.NewJobPage(f.page()))
}

// createJob creates the job, or shows the form again: with its problems, with its
// preview, or as JSON.
func (s *Server) createJob(c *call) error {
	if c.r.PostForm.Get("go") == "curl" {
		return s.pasteCommand(c)
	}
	f, err := s.readJobForm(c)
	if err != nil {
		return err
	}
	f.Checked = true
	switch c.r.PostForm.Get("go") {
	case "check":
		s.check(c, f)
		return c.render(http.StatusOK, view.NewJobPage(f.page()))
	case "json":
		if f.unreadable {
			f.Switching = true
			s.check(c, f)
			return c.render(http.StatusUnprocessableEntity, view.NewJobPage(f.page()))
		}
		asJSON := newJobForm(c, url.Values{"json": {ui.Pretty(f.body)}, "from": f.Values["from"]}, true)
		asJSON.copied = f.copied
		asJSON.Checked = true
		asJSON.read(s.Service.Now())
		s.check(c, asJSON)
		return c.render(http.StatusOK, view.NewJobPage(asJSON.page()))
	}
	if len(f.Problems) > 0 {
		s.check(c, f)
		return c.render(http.StatusUnprocessableEntity, view.NewJobPage(f.page()))
	}
	j, conflict, err := s.Service.Create(c.r.Context(), c.owner(), f.complete(), nil)
	switch {
	case err != nil && fault.CodeOf(err) == fault.Invalid:
		s.check(c, f)
		if !f.wrong() { // what only Create refuses
			f.blame(err)
		}
		return c.render(http.StatusUnprocessableEntity, view.NewJobPage(f.page()))
	case err != nil && fault.CodeOf(err) == fault.TooMany:
		s.check(c, f)
		f.others = append(f.others, ui.Sentence(err.Error()))
		return c.render(c.statusOf(err), view.NewJobPage(f.page()))
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
	found, err := s.Service.Preview(c.r.Context(), c.owner(), f.complete(), nil)
	if err != nil {
		f.blame(err)
	}
	if found != nil && f.Problems["when"] == "" {
		f.Preview = &view.Preview{Words: found.Words, Next: found.Next, Zone: f.zone()}
	}
}

// fillFrom fills the form with the request of an existing job.
func (s *Server) fillFrom(c *call, f *jobForm, from string) error {
	number, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return noJob
	}
	j, err := s.Service.Job(c.r.Context(), c.owner(), job.Ref{Number: number})
	if err != nil {
		return err
	}
	for _, m := range rawjson.Members(job.MaskCredentials(job.Again(j))) {
		if m.Name == "headers" && c.viewer.public {
			m.Value = withoutCredentials(m.Value)
		}
		if field := job.FieldNamed(m.Name); field != nil {
			f.fill(field, m.Value)
		}
	}
	return nil
}

// withoutCredentials returns headers without those that are credentials.
func withoutCredentials(headers rawjson.Value) rawjson.Value {
	return rawjson.Object(slices.DeleteFunc(rawjson.Members(headers), func(m rawjson.Member) bool { return job.IsCredential(m.Name) }))
}

// zone returns the time zone of the request, or of the form if the request has
// none; UTC if it is unknown.
func (f *jobForm) zone() *time.Location {
	name := f.value("zone")
	if v := rawjson.Get(f.body, "timezone"); v != nil {
		name = rawjson.Text(v)
	}
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
