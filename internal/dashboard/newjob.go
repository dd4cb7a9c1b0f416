package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// jobForm is the form for a new job: what was typed, and what it comes to.
type jobForm struct {
	values url.Values
	// asJSON: the whole request is written as JSON, in one field.
	asJSON bool

	body     rawjson.Value     // the request it makes; what could not be read is left out
	problems map[string]string // by field of the form; each completes "LABEL …"
	others   []string          // sentences about what is no field of the form
	checked  bool              // it was looked through, so that problems are to be shown
	preview  *preview
	origin   string
}

// value gives what was typed into a field.
func (f *jobForm) value(name string) string { return f.values.Get(name) }

// The fields of the form, with what they begin with.
func emptyForm() url.Values {
	return url.Values{"method": {"post"}, "body_kind": {"json"}, "zone": {"UTC"}, "metadata": {"true"}}
}

// newJob shows the form, empty or with another job's request.
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
	f.preview = s.check(f)
	f.checked = false
	return c.render(http.StatusOK, newJobPage(f))
}

const exampleJSON = `{
  "method": "post",
  "url": "https://example.com/hook",
  "schedule_in": [30, "minutes"],
  "body": {"hello": "world"}
}`

// readForm reads what was sent.
func (c *call) readJobForm() *jobForm {
	return &jobForm{values: c.r.PostForm, asJSON: c.r.PostForm.Get("as") == "json", origin: edge.Origin(c.r)}
}

// previewJob shows what the form comes to, while it is filled in.
func (s *Server) previewJob(c *call) error {
	f := c.readJobForm()
	f.preview = s.check(f)
	return c.render(http.StatusOK, previewPart(f))
}

// createJob takes the form: it creates the job, or shows the form again with
// what is wrong, with what it comes to, or as JSON.
func (s *Server) createJob(c *call) error {
	f := c.readJobForm()
	f.preview, f.checked = s.check(f), true
	switch c.r.PostForm.Get("go") {
	case "check":
		return c.render(http.StatusOK, newJobPage(f))
	case "json":
		f.values = url.Values{"json": {ui.Pretty(f.body)}}
		f.asJSON = true
		f.preview = s.check(f)
		return c.render(http.StatusOK, newJobPage(f))
	}
	if len(f.problems) > 0 || len(f.others) > 0 {
		return c.render(http.StatusUnprocessableEntity, newJobPage(f))
	}
	j, conflict, err := s.Manager.Create(c.r.Context(), c.owner(), f.body, nil)
	if fault.CodeOf(err) == fault.Invalid && err != nil {
		f.blame(err)
		return c.render(http.StatusUnprocessableEntity, newJobPage(f))
	}
	if fault.CodeOf(err) == fault.TooMany && err != nil {
		f.others = append(f.others, capital(err.Error()))
		return c.render(c.statusOf(err), newJobPage(f))
	}
	if err != nil {
		return err
	}
	done := "created"
	if conflict {
		done = "held"
	}
	return c.redirect("/jobs/%d?done=%s", j.Number, done)
}

// check turns the form into a request, looks for everything wrong with it, and
// gives what it comes to; nil when that can't be told.
func (s *Server) check(f *jobForm) *preview {
	now := s.Manager.Now()
	f.problems = map[string]string{}
	if f.asJSON {
		f.assembleJSON()
	} else {
		f.assemble(now)
	}
	if f.body == nil {
		return nil
	}
	_, err := job.Read(f.body, job.ReadOptions{Now: now, CheckHost: s.Manager.CheckHost})
	if err != nil {
		f.blame(err)
	}
	return s.preview(f)
}

// assembleJSON reads the request that is written as JSON.
func (f *jobForm) assembleJSON() {
	v, err := rawjson.Read([]byte(f.value("json")))
	if err != nil {
		f.problems["json"] = "is not readable as JSON: " + err.Error()
		return
	}
	f.body = v
}

// assemble makes the request of the form's fields, in the order of the form.
func (f *jobForm) assemble(now time.Time) {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) {
		if v != nil {
			members = append(members, rawjson.Member{Name: name, Value: v})
		}
	}
	text := func(name string) rawjson.Value {
		if v := strings.TrimSpace(f.value(name)); v != "" {
			return rawjson.Quote(v)
		}
		return nil
	}
	add("method", text("method"))
	add("url", text("url"))
	add("query", f.query())
	headers := f.headers()
	body := f.jobBody(&headers)
	if len(headers) > 0 {
		add("headers", rawjson.Object(headers))
	}
	add("body", body)
	timing, why := readWhen(f.value("when"), f.value("zone"), now)
	if why != "" {
		f.problems["when"] = why
	}
	members = append(members, timing.Members()...)
	add("name", text("name"))
	add("description", text("description"))
	add("idempotency_key", text("idempotency_key"))
	add("retries", f.number("retries"))
	add("timeout", f.number("timeout"))
	if f.value("metadata") != "true" {
		add("metadata", rawjson.Value(`false`))
	}
	add("callback_url", text("callback_url"))
	add("webhook_url", text("webhook_url"))
	f.body = rawjson.Object(members)
}

// number gives a number as it was typed; what is none is handed on as text, of
// which the API says what it wants.
func (f *jobForm) number(name string) rawjson.Value {
	text := strings.TrimSpace(f.value(name))
	if text == "" {
		return nil
	}
	if v, err := rawjson.Read([]byte(text)); err == nil && v.Kind() == '0' {
		return v
	}
	return rawjson.Quote(text)
}

// query is an object when it is written as one, else a ready string.
func (f *jobForm) query() rawjson.Value {
	text := strings.TrimSpace(f.value("query"))
	switch {
	case text == "":
		return nil
	case text[0] != '{':
		return rawjson.Quote(strings.TrimPrefix(text, "?"))
	}
	v, err := rawjson.Read([]byte(text))
	if err != nil {
		f.problems["query"] = "begins like JSON but is not: " + err.Error()
		return nil
	}
	return v
}

// maxHeaderLines is how many lines the form's field for headers may have.
const maxHeaderLines = 1000

// headers reads a line "Name: value" each; a name given twice gets both values.
func (f *jobForm) headers() []rawjson.Member {
	text := f.value("headers")
	if len(text) > job.MaxRequestHeaders || strings.Count(text, "\n") >= maxHeaderLines {
		f.problems["headers"] = fmt.Sprintf("must have at most %d lines and %d bytes", maxHeaderLines, job.MaxRequestHeaders)
		return nil
	}
	var names []string // as they are written first
	values := map[string][]rawjson.Value{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			f.problems["headers"] = "must be written as Name: value, one a line; this is not: " + ui.Shorten(line, 60)
			continue
		}
		key := strings.ToLower(name)
		if values[key] == nil {
			names = append(names, name)
		}
		values[key] = append(values[key], rawjson.Quote(strings.TrimSpace(value)))
	}
	var members []rawjson.Member
	for _, name := range names {
		all := values[strings.ToLower(name)]
		m := rawjson.Member{Name: name, Value: all[0]}
		if len(all) > 1 {
			m.Value = rawjson.Array(all)
		}
		members = append(members, m)
	}
	return members
}

// jobBody reads the body: JSON, or a text that is sent as it is, for which a
// content type is added unless there is one.
func (f *jobForm) jobBody(headers *[]rawjson.Member) rawjson.Value {
	text := strings.ReplaceAll(f.value("body"), "\r\n", "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if f.value("body_kind") == "text" {
		for _, h := range *headers {
			if strings.EqualFold(h.Name, "content-type") {
				return rawjson.Quote(text)
			}
		}
		*headers = append(*headers, rawjson.Member{Name: "content-type", Value: rawjson.Quote("text/plain; charset=utf-8")})
		return rawjson.Quote(text)
	}
	v, err := rawjson.Read([]byte(text))
	if err != nil {
		f.problems["body"] = "is not readable as JSON: " + err.Error()
		return nil
	}
	return v
}

// formFields are the fields of the form that have a pointer of the same name.
var formFields = []string{"method", "url", "query", "headers", "body", "name", "description", "idempotency_key", "retries", "timeout", "metadata", "callback_url", "webhook_url"}

// blame puts each problem the API would find to its field.
func (f *jobForm) blame(err error) {
	problems := fault.ProblemsOf(err)
	if f.asJSON {
		f.others = nil
		for _, p := range problems {
			f.others = append(f.others, p.Sentence())
		}
		if more := fault.MoreOf(err); more > 0 {
			f.others = append(f.others, "and "+ui.Plural(more, "more problem", "more problems"))
		}
		return
	}
	for _, name := range formFields {
		if problem := problemAt(err, "#/"+name); problem != "" && f.problems[name] == "" {
			f.problems[name] = problem
		}
	}
	if problem := timingProblem(err); problem != "" && f.problems["when"] == "" {
		f.problems["when"] = "is understood, but " + problem
	}
}

// fillFrom fills the form with the request of a job that exists.
func (s *Server) fillFrom(c *call, f *jobForm, from string) error {
	number, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return noJob
	}
	j, err := s.Manager.Job(c.r.Context(), c.owner(), job.Ref{Number: number})
	if err != nil {
		return err
	}
	spec := job.ReadSpec(j.Args)
	set := func(name, value string) {
		if value != "" {
			f.values.Set(name, value)
		}
	}
	set("method", spec.Method)
	set("url", spec.URL)
	set("query", valueText(spec.Query))
	set("headers", headerLines(spec.Headers))
	if spec.Body.Kind() == '"' {
		set("body_kind", "text")
		set("body", rawjson.Text(spec.Body))
	} else if spec.Body != nil {
		set("body", ui.Pretty(spec.Body))
	}
	set("callback_url", spec.CallbackURL)
	set("webhook_url", spec.WebhookURL)
	if j.Name != nil {
		set("name", *j.Name)
	}
	if j.Description != nil {
		set("description", *j.Description)
	}
	set("retries", string(rawjson.Get(j.Args, "retries")))
	set("timeout", string(rawjson.Get(j.Args, "timeout")))
	if !spec.Metadata {
		f.values.Del("metadata")
	}
	return nil
}

// valueText gives a string's text and any other value as JSON.
func valueText(v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	return string(v)
}

// headerLines writes headers as the form takes them.
func headerLines(headers rawjson.Value) string {
	var b strings.Builder
	for _, m := range rawjson.Members(headers) {
		values := rawjson.Elements(m.Value)
		if values == nil {
			values = []rawjson.Value{m.Value}
		}
		for _, v := range values {
			b.WriteString(m.Name + ": " + valueText(v) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
