package dashboard

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// jobForm is the form for a new job. Its inputs, their labels and their values in
// the request derive from the table of fields in package job.
type jobForm struct {
	values url.Values // the text of each input
	asJSON bool       // the whole request is one text, in the input "json"

	body     rawjson.Value     // the request, without what could not be read; nil if nothing could
	problems map[string]string // by input; each completes "LABEL …"
	others   []string          // sentences about what has no input
	checked  bool              // the form was sent, so problems are shown
	preview  *preview
	origin   string
}

// value returns the text of an input.
func (f *jobForm) value(name string) string { return f.values.Get(name) }

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

// read makes the request from the texts, in the order of the table of fields.
func (f *jobForm) read(now time.Time) {
	f.problems = map[string]string{}
	if f.asJSON {
		f.readJSON()
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
}

// readField returns the value of an input, or nil if the request is to be without it.
func (f *jobForm) readField(field *job.Field) rawjson.Value {
	if field.Kind != job.BooleanValue {
		return field.Value(f.value(field.Name))
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
		f.problems["json"] = "is not readable as JSON: " + err.Error()
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
	timing, why := readWhen(f.value("when"), f.value("zone"), now)
	if why != "" {
		f.problems["when"] = why
	}
	return timing.Members()
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

// blame assigns each problem of the request to its input.
func (f *jobForm) blame(err error) {
	if f.asJSON {
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
		if problem := problemAt(err, job.Pointer(field.Name)); problem != "" && f.problems[field.Name] == "" {
			f.problems[field.Name] = problem
		}
	}
	if problem := timingProblem(err); problem != "" && f.problems["when"] == "" {
		f.problems["when"] = "is understood, but " + problem
	}
}

// wrong reports whether there is a problem.
func (f *jobForm) wrong() bool { return len(f.problems) > 0 || len(f.others) > 0 }

// sentences returns every problem as a sentence, in the order of the inputs.
func (f *jobForm) sentences() []string {
	var sentences []string
	add := func(name, label string) {
		if problem := f.problems[name]; problem != "" {
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
		f.values.Set("body_kind", "text")
	case field.Name == "body":
		text = ui.Pretty(v)
	case field.Kind == job.BooleanValue && text != "true":
		text = "" // a box that is not ticked
	}
	f.values.Set(field.Name, text)
}

// valueText returns a string's text, and any other value as JSON.
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
