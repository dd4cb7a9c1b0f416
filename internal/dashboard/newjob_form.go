package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// jobForm is the form for a new job, with the request that it describes. The values
// in the request derive from the table of fields in package job.
type jobForm struct {
	view.NewJob
	body rawjson.Value // the request, without what could not be read; nil if nothing could
	// unreadable is set if a text could not be read, so that the request lacks it.
	unreadable bool
	others     []string // problems of what has no input, as sentences
	origin     string
	key        string        // for commands
	copied     rawjson.Value // the args of the job that the form is a copy of; nil for none
}

// complete returns the request with the credentials of the job it is a copy of.
func (f *jobForm) complete() rawjson.Value { return job.KeepCredentials(f.body, f.copied) }

// value returns the text of an input.
func (f *jobForm) value(name string) string { return f.Values.Get(name) }

// emptyForm returns the inputs' initial texts.
func emptyForm() url.Values {
	values := url.Values{"body_kind": {"json"}, "zone": {"UTC"}}
	for _, field := range job.Fields() {
		if field.Form.Default != "" {
			values.Set(field.Name, field.Form.Default)
		}
	}
	return values
}

// read builds the request from the texts, in the order of the table of fields.
func (f *jobForm) read(now time.Time) {
	f.Problems = map[string]string{}
	if f.AsJSON {
		f.readJSON()
		f.unreadable = len(f.Problems) > 0
		return
	}
	members := append(f.readRequest(), f.readWhen(now)...)
	for _, field := range job.Fields() {
		if field.Form.Section < job.MoreSection {
			continue
		}
		if v := f.readField(field); v != nil {
			members = append(members, rawjson.Member{Name: field.Name, Value: v})
		}
	}
	f.body = rawjson.Object(members)
	f.unreadable = len(f.Problems) > 0
}

// readField returns the value of an input, or nil if the request does not need it.
func (f *jobForm) readField(field *job.Field) rawjson.Value {
	if field.Kind != job.BooleanValue {
		if text := f.value(field.Name); text != field.Form.Default {
			return field.Value(text)
		}
		return nil
	}
	on, initially := f.value(field.Name) == "true", field.Form.Default == "true"
	switch {
	case on == initially:
		return nil
	case on:
		return rawjson.Value(`true`)
	}
	return rawjson.Value(`false`)
}

// readJSON reads the request that is written as JSON.
func (f *jobForm) readJSON() {
	v, err := rawjson.Read([]byte(f.value("json")))
	if err != nil {
		f.Problems["json"] = "is not valid JSON: " + err.Error()
		return
	}
	f.body = v
}

// readRequest returns the members for method, url, query, headers and body.
func (f *jobForm) readRequest() []rawjson.Member {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) {
		if v != nil {
			members = append(members, rawjson.Member{Name: name, Value: v})
		}
	}
	text := func(name string) rawjson.Value { return job.FieldNamed(name).Value(f.value(name)) }
	add("method", text("method"))
	add("url", text("url"))
	add("query", f.query())
	headers := f.headers()
	body := f.jobBody(&headers)
	if len(headers) > 0 {
		add("headers", rawjson.Object(headers))
	}
	add("body", body)
	return members
}

// readWhen returns the members for the time.
func (f *jobForm) readWhen(now time.Time) []rawjson.Member {
	timing, problem := readWhen(f.value("when"), f.value("zone"), now)
	if problem != "" {
		f.Problems["when"] = problem
	}
	return timing.Members()
}

// query returns the query: an object if it is written as one, else a string.
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
		f.Problems["query"] = "begins like JSON but is not valid: " + err.Error()
		return nil
	}
	return v
}

// maxHeaderLines is how many lines the form's field for headers may have.
const maxHeaderLines = 1000

// headers reads lines of "Name: value". A name that occurs twice gets both values.
func (f *jobForm) headers() []rawjson.Member {
	text := f.value("headers")
	if len(text) > job.MaxRequestHeaders || strings.Count(text, "\n") >= maxHeaderLines {
		f.Problems["headers"] = fmt.Sprintf("must have at most %d lines and %d bytes", maxHeaderLines, job.MaxRequestHeaders)
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
			f.Problems["headers"] = "must be lines of Name: value; this is not: " + ui.Shorten(line, 60)
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

// jobBody reads the body: JSON, or text, for which it adds a content type unless
// there is one.
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
		f.Problems["body"] = "is not valid JSON: " + err.Error()
		return nil
	}
	return v
}

// blame assigns each problem of the request to its input.
func (f *jobForm) blame(err error) {
	if f.AsJSON {
		f.others = nil
		for _, p := range fault.ProblemsOf(err) {
			f.others = append(f.others, p.Sentence())
		}
		if more := fault.MoreOf(err); more > 0 {
			f.others = append(f.others, "and "+ui.Plural(more, "more problem", "more problems"))
		}
		return
	}
	for _, field := range job.Fields() {
		if field.Form.Label == "" {
			continue
		}
		if problem := view.ProblemAt(err, job.Pointer(field.Name)); problem != "" && f.Problems[field.Name] == "" {
			f.Problems[field.Name] = problem
		}
	}
	if problem := timingProblem(err); problem != "" && f.Problems["when"] == "" {
		f.Problems["when"] = "is understood, but " + problem
	}
}

// wrong reports whether there is a problem.
func (f *jobForm) wrong() bool { return len(f.Problems) > 0 || len(f.others) > 0 }

// page returns the view model of the form.
func (f *jobForm) page() *view.NewJob {
	f.Sentences = f.sentences()
	f.AtOnce = !slices.ContainsFunc(rawjson.Members(f.body), func(m rawjson.Member) bool { return job.IsTiming(m.Name) })
	if f.body != nil && !f.unreadable {
		f.Curl = createCurl(f.origin, f.key, f.body)
	}
	return &f.NewJob
}

// sentences returns every problem as a sentence, in the order of the inputs.
func (f *jobForm) sentences() []string {
	var sentences []string
	add := func(name, label string) {
		if problem := f.Problems[name]; problem != "" {
			sentences = append(sentences, label+" "+problem)
		}
	}
	timed := false
	for _, field := range job.Fields() {
		if job.IsTiming(field.Name) && !timed {
			timed = true
			add("when", "When")
		} else {
			add(field.Name, field.Form.Label)
		}
	}
	add("json", "The request")
	return append(sentences, f.others...)
}

// fill sets the text of an input to a value of another request.
func (f *jobForm) fill(field *job.Field, v rawjson.Value) {
	text := field.Text(v)
	switch {
	case field.Name == "headers":
		text = headerLines(v)
	case field.Name == "body" && v.Kind() == '"':
		f.Values.Set("body_kind", "text")
	case field.Name == "body":
		text = ui.Pretty(v)
	case field.Kind == job.BooleanValue && text != "true":
		text = "" // an unchecked checkbox
	}
	f.Values.Set(field.Name, text)
}

// valueText returns a string's text, and any other value as JSON.
func valueText(v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	return string(v)
}

// headerLines returns headers as text of the form.
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
