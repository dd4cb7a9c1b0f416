package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// editForm is the form for a record.
type editForm struct {
	jobForm
	target *editable
	before url.Values // the texts for the record as it is
}

// newEditForm returns the form for a record: with the texts that were entered and,
// where nothing was, those of the record as it is. Credentials in headers are masked.
func newEditForm(c *call, e *editable, given url.Values) *editForm {
	filled := newJobForm(c, emptyForm(), false)
	for _, m := range rawjson.Members(job.MaskCredentials(e.request)) {
		if field := job.FieldNamed(m.Name); field != nil {
			filled.fill(field, m.Value)
		}
	}
	filled.Values.Set("when", e.when)
	filled.Values.Set("zone", e.zone)
	f := &editForm{jobForm: *filled, target: e, before: filled.Values}
	if given != nil {
		f.jobForm = *newJobForm(c, entered(given, f.before), false)
		f.Checked = true
	}
	f.Places = e.places
	return f
}

// markParameter is the input with the marks of the texts that the form began with.
const markParameter = "was"

// entered returns the texts of a form that was sent. An input that still has the
// text that the form began with gets that of the record as it is, so that saving the
// form does not undo what others have changed meanwhile.
func entered(given, before url.Values) url.Values {
	began := map[string]string{}
	for _, mark := range strings.Fields(given.Get(markParameter)) {
		name, sum, _ := strings.Cut(mark, "=")
		began[name] = sum
	}
	values := url.Values{}
	for name, texts := range given {
		if name != markParameter && name != "go" && name != "revision" {
			values[name] = texts
		}
	}
	for name, sum := range began {
		if mark(values.Get(name)) == sum {
			values.Set(name, before.Get(name))
		}
	}
	return values
}

// marks returns the marks of a form's texts for markParameter.
func marks(texts url.Values) string {
	var all []string
	add := func(name string) { all = append(all, name+"="+mark(texts.Get(name))) }
	for _, field := range job.Fields() {
		add(field.Name)
	}
	for _, name := range []string{"body_kind", "when", "zone"} {
		add(name)
	}
	return strings.Join(all, " ")
}

// mark identifies a text.
func mark(text string) string {
	sum := sha256.Sum256([]byte(plain(text)))
	return hex.EncodeToString(sum[:8])
}

// plain returns a text as browsers may send it, in one form.
func plain(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// same reports whether an input has the text for the record as it is.
func (f *editForm) same(name string) bool {
	return plain(f.value(name)) == plain(f.before.Get(name))
}

// patch returns the merge patch with the fields whose inputs have other texts than
// the record.
func (f *editForm) patch(now time.Time) rawjson.Value {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) {
		if v == nil {
			v = rawjson.Value(`null`)
		}
		members = append(members, rawjson.Member{Name: name, Value: v})
	}
	var request rawjson.Value
	if f.EditsRequest() {
		request = rawjson.Object(f.readRequest())
	}
	newText := f.value("body_kind") == "text" && (!f.same("body") || !f.same("body_kind")) // it may need a content type
	for _, field := range job.Fields() {
		name := field.Name
		switch {
		case field.In&f.target.places == 0 || field.Form.Label == "" || job.IsTiming(name):
		case field.Form.Section == job.RequestSection:
			if !f.same(name) || name == "body" && !f.same("body_kind") || name == "headers" && newText {
				add(name, rawjson.Get(request, name))
			}
		case f.same(name):
		case field.Kind == job.BooleanValue && f.value(name) != "true":
			add(name, rawjson.Value(`false`))
		case field.Kind == job.BooleanValue:
			add(name, rawjson.Value(`true`))
		default:
			add(name, field.Value(f.value(name)))
		}
	}
	members = append(members, f.times(now)...)
	return job.KeepCredentials(rawjson.Object(members), f.target.args)
}

// times returns the members for new times; none if the inputs are as they were.
func (f *editForm) times(now time.Time) []rawjson.Member {
	if f.same("when") && (f.same("zone") || !f.target.recurs) {
		return nil
	}
	timing, problem := readWhen(f.value("when"), f.value("zone"), now)
	recurs := timing.Every != nil || timing.Cron != ""
	switch {
	case problem != "":
	case f.target.recurs && !recurs:
		problem = "must recur, as in “every 5 minutes” or “every weekday at 9:00”"
	case !f.target.recurs && recurs:
		problem = "is a recurrence; create a new schedule instead"
	}
	if problem != "" {
		f.Problems["when"] = problem
		return nil
	}
	members := timing.Members()
	switch {
	case f.target.recurs && timing.Zone == "":
		members = append(members, rawjson.Member{Name: "timezone", Value: rawjson.Value(`null`)})
	case len(members) == 0: // now
		members = []rawjson.Member{{Name: "schedule_in", Value: rawjson.Value(`0`)}}
	}
	return members
}

// page returns the view model of the form.
func (f *editForm) page() *view.Edit {
	f.Sentences = f.sentences()
	return &view.Edit{NewJob: &f.NewJob, Editing: f.target.Editing, Revision: f.target.revision, Was: marks(f.before)}
}
