package view

import (
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// NewJob is the form for a new job. Its inputs and labels derive from the table of
// fields in package job.
type NewJob struct {
	// Command is a curl command that can't be read for the reason CommandProblem.
	Command, CommandProblem string
	Values                  url.Values        // the text of each input
	AsJSON                  bool              // the whole request is one text, in the input "json"
	Problems                map[string]string // by input; each completes "LABEL …"
	Checked                 bool              // the form was sent, so problems are shown
	Switching               bool              // the form was to be turned into JSON
	// Sentences are all problems, for the summary above the form.
	Sentences []string
	AtOnce    bool     // the request has no time
	Preview   *Preview // nil if the time is not valid
	// Places are where the fields of the form can be given; 0 is any.
	Places job.Places
	Curl   string // a command that creates the job; "" if a field can't be read
}

// Preview is when a job would run.
type Preview struct {
	Words string
	Next  []time.Time
	Zone  *time.Location // in which the times are shown
}

// refusal is the title of the list of problems.
func (f *NewJob) refusal() string {
	if f.Switching {
		return "The form can't be turned into JSON yet. Correct these fields:"
	}
	return "Nothing was created. Correct these fields:"
}

// unreadable says why there is no curl command.
func (f *NewJob) unreadable() string {
	if len(f.Sentences) == 0 {
		return "The request is not valid yet."
	}
	return ui.Sentence(f.Sentences[0])
}

// value returns the text of an input.
func (f *NewJob) value(name string) string { return f.Values.Get(name) }

// linesShown is how many lines a textarea shows.
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

// input returns an input that is not one field of a job.
func (f *NewJob) input(name, label string) ui.Input {
	return ui.Input{Name: name, Label: label, Value: f.value(name), Error: f.shown(name)}
}

// field returns the input of a field.
func (f *NewJob) field(name string) ui.Input {
	return fieldInput(job.FieldNamed(name), f.value(name), f.shown(name))
}

// shown returns the problem of an input, if problems are shown.
func (f *NewJob) shown(name string) string {
	if !f.Checked {
		return ""
	}
	return f.Problems[name]
}

func with(i ui.Input, change func(*ui.Input)) ui.Input {
	change(&i)
	return i
}

// section returns the fields of a section with wide inputs, and those with narrow
// inputs, which are shown side by side.
func (f *NewJob) section(of job.Section) (wide, narrow []*job.Field) {
	for _, field := range job.Fields() {
		if field.Form.Section != of || f.Places != 0 && field.In&f.Places == 0 {
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

// EditsRequest reports whether the form has the inputs of the request.
func (f *NewJob) EditsRequest() bool {
	return f.Places == 0 || job.FieldNamed("url").In&f.Places != 0
}

// isOpen reports whether an input of a section differs from its default or has a
// problem.
func (f *NewJob) isOpen(of job.Section) bool {
	for _, field := range job.Fields() {
		if field.Form.Section == of && (f.value(field.Name) != field.Form.Default || f.Problems[field.Name] != "") {
			return true
		}
	}
	return false
}

// anySet reports whether one of the inputs has text or a problem.
func (f *NewJob) anySet(names ...string) bool {
	for _, name := range names {
		if f.value(name) != "" || f.Problems[name] != "" {
			return true
		}
	}
	return false
}

// choices returns the choices of a field, and "default" if it is optional.
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

var whenExamples = []string{"now", "in 30 minutes", "tomorrow at 9:00", "every 5 minutes", "every weekday at 9:00", "every monday at 8:30",
	"every month on the 1st at 6:00"}

func bodyAttributes(f *NewJob) templ.Attributes {
	if f.value("body_kind") == "text" {
		return nil
	}
	return templ.Attributes{"data-json": "body-state"}
}

// zoneAttributes makes a script set the input of a fresh form to the browser's zone.
func zoneAttributes(f *NewJob) templ.Attributes {
	if f.Checked {
		return nil
	}
	return templ.Attributes{"data-zone": true}
}
