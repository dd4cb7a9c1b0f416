package dashboard

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// linesShown is how many lines an input of several lines shows.
const linesShown = 3

// fieldInput returns the input of a field of a job, as the table of fields
// describes it. problem completes "LABEL …".
func fieldInput(field *job.Field, value, problem string) ui.Input {
	i := ui.Input{
		Name: field.Name, Label: field.Form.Label, Hint: field.Form.Hint, Placeholder: field.Form.Placeholder, Mono: field.Form.Mono,
		Value: value, Error: problem,
	}
	if field.Kind == job.LinesValue {
		i.Rows = linesShown
	}
	return i
}

// input returns an input of the form that stands for no single field.
func (f *jobForm) input(name, label string) ui.Input {
	return ui.Input{Name: name, Label: label, Value: f.value(name), Error: f.shown(name)}
}

// field returns the input of a field.
func (f *jobForm) field(name string) ui.Input {
	return fieldInput(job.FieldNamed(name), f.value(name), f.shown(name))
}

// shown returns the problem of an input, if problems are shown.
func (f *jobForm) shown(name string) string {
	if !f.checked {
		return ""
	}
	return f.problems[name]
}

func with(i ui.Input, change func(*ui.Input)) ui.Input {
	change(&i)
	return i
}

// section returns the fields of a section that have wide inputs, and those whose
// inputs are narrow and stand side by side.
func section(of job.Section) (wide, narrow []*job.Field) {
	for _, field := range job.Fields() {
		if field.Form.Section != of {
			continue
		}
		switch field.Kind {
		case job.WholeValue, job.NumberValue, job.DurationValue, job.InstantValue:
			narrow = append(narrow, field)
		default:
			wide = append(wide, field)
		}
	}
	return wide, narrow
}

// isOpen reports whether an input of a section has text that it does not begin
// with, or a problem.
func (f *jobForm) isOpen(of job.Section) bool {
	for _, field := range job.Fields() {
		if field.Form.Section == of && (f.value(field.Name) != field.Form.Default || f.problems[field.Name] != "") {
			return true
		}
	}
	return false
}

// anySet reports whether one of the inputs has text or a problem.
func (f *jobForm) anySet(names ...string) bool {
	for _, name := range names {
		if f.value(name) != "" || f.problems[name] != "" {
			return true
		}
	}
	return false
}

// choices returns the values that a field offers, and nothing where it is optional.
func choices(field *job.Field) []ui.Choice {
	var all []ui.Choice
	if field.Form.Default == "" {
		all = append(all, ui.Choice{Label: "default"})
	}
	for _, value := range field.Form.Choices {
		all = append(all, ui.Choice{Value: value, Label: choiceLabel(field, value)})
	}
	return all
}

func choiceLabel(field *job.Field, value string) string {
	if field.Name == "method" {
		return strings.ToUpper(value)
	}
	return value
}

// keyboard selects the keyboard of small screens for a kind of value.
func keyboard(field *job.Field) templ.Attributes {
	switch field.Kind {
	case job.WholeValue:
		return templ.Attributes{"inputmode": "numeric"}
	case job.NumberValue:
		return templ.Attributes{"inputmode": "decimal"}
	}
	return nil
}

var whenExamples = []string{"now", "in 30 minutes", "tomorrow at 9:00", "every 5 minutes", "every weekday at 9:00", "every monday at 8:30", "every month on the 1st at 6:00"}

func bodyAttributes(f *jobForm) templ.Attributes {
	if f.value("body_kind") == "text" {
		return nil
	}
	return templ.Attributes{"data-json": "body-state"}
}

// zoneAttributes makes a script set the input of a fresh form to the browser's zone.
func zoneAttributes(f *jobForm) templ.Attributes {
	if f.checked {
		return nil
	}
	return templ.Attributes{"data-zone": true}
}

// atOnce reports whether the request has no time.
func (f *jobForm) atOnce() bool {
	for _, m := range rawjson.Members(f.body) {
		if job.IsTiming(m.Name) {
			return false
		}
	}
	return true
}
