package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Field describes a field of the create request. Everything that depends on which
// fields exist derives from the table of them (fields.go): reading and checking
// requests, suggestions for misspelt names, Spec, forms, the flags of the command
// line, and the test that compares the API document with the table.
type Field struct {
	Name string
	In   Places
	Kind FieldKind
	Of   FieldKind // the kind of what a list or an object contains
	// Types are the JSON types that the field accepts, if its kind does not
	// determine them.
	Types []string

	// Excludes names a field that cannot be given together with this one. It must
	// name this one in turn. In a change, giving one removes the other.
	Excludes string
	// Strict: a change that gives this one does not remove the one that it excludes.
	Strict bool
	// Needs names a field without which this one cannot be given.
	Needs string
	// Column is set if the value has a column of its own in the record. It is not
	// kept in args.
	Column bool

	// read checks a value that is given and not null; nil if there is nothing to
	// check. Fields are read in the order of the table.
	read func(r *reader, f *Field, v rawjson.Value)
	// check verifies a rule that involves other fields, after all were read and the
	// draft has its times. It is called if the field is given.
	check func(r *reader, f *Field, v rawjson.Value)
	// set stores a value that was validated.
	set func(s *Spec, v rawjson.Value)

	Form Form
	Flag Flag
}

// Places are where a field can be given.
type Places uint8

// The places. An item of a batch takes what a create takes, and a PUT of a
// schedule what a change of it takes.
const (
	ForJob       Places = 1 << iota // creating a one-off job
	ForSchedule                     // creating a schedule
	EditJob                         // changing a one-off job, and repeating it
	EditSchedule                    // changing a schedule
	EditRun                         // changing a run of a schedule
)

// keyField is the field that other fields need to work on jobs with the same key.
const keyField = "idempotency_key"

// requestField identifies a create itself, not its job.
const requestField = "request_id"

// Combinations of places.
const (
	ForCreate    = ForJob | ForSchedule
	Anywhere     = ForCreate | EditJob | EditSchedule
	OnlySchedule = ForSchedule | EditSchedule
)

// FieldKind is the shape of a field's value. It determines how text becomes a value, in
// forms and on the command line.
type FieldKind int

// The kinds of values.
const (
	TextValue     FieldKind = iota // a string
	LinesValue                     // a string of several lines
	WholeValue                     // a whole number
	NumberValue                    // a number
	BooleanValue                   // true or false
	DurationValue                  // seconds, or [amount, unit]; see ReadDuration
	InstantValue                   // a datetime string or a unix timestamp
	ListValue                      // an array of the kind Of
	ObjectValue                    // an object whose members are of the kind Of
	AnyValue                       // any JSON value
)

var kindTypes = map[FieldKind][]string{
	TextValue: {"string"}, LinesValue: {"string"}, WholeValue: {"integer"}, NumberValue: {"number"}, BooleanValue: {"boolean"},
	DurationValue: {"array", "number"}, InstantValue: {"number", "string"}, ListValue: {"array"}, ObjectValue: {"object"},
	AnyValue: {"array", "boolean", "number", "object", "string"},
}

// JSONTypes returns the JSON types of the field's value, null apart, in
// alphabetical order and by the names that JSON Schema uses.
func (f *Field) JSONTypes() []string {
	if f.Types != nil {
		return f.Types
	}
	return kindTypes[f.Kind]
}

// Section is a part of the form.
type Section int

// The sections of a form.
const (
	NoSection Section = iota // the form has no input for the field
	// RequestSection and TimingSection have inputs of their own: an editor of
	// the request, and one text for all fields that say when.
	RequestSection
	TimingSection
	MoreSection     // options of any job
	ScheduleSection // options of schedules
)

// Form describes a field's input in forms.
type Form struct {
	Section     Section
	Label       string
	Hint        string // a short sentence
	Placeholder string
	Choices     []string // the values to choose from; nil for any
	Default     string   // the text for an absent field, if it is not ""
	Mono        bool     // URLs, keys and JSON
}

// Flag describes a field's flag on the command line: --NAME, with hyphens for
// underscores. A field without Help has no flag.
type Flag struct {
	Placeholder string
	Help        string
}

// Fields returns all fields of the create request, in the order in which the form
// shows them.
func Fields() []*Field { return slices.Clone(table) }

// FieldNamed returns a field, or nil if there is none with this name.
func FieldNamed(name string) *Field { return byName[name] }

var (
	table  = pointers(fields)
	byName = indexed(table)
)

func pointers(fields []Field) []*Field {
	all := make([]*Field, len(fields))
	for i := range fields {
		all[i] = &fields[i]
	}
	return all
}

func indexed(fields []*Field) map[string]*Field {
	index := make(map[string]*Field, len(fields))
	for _, f := range fields {
		index[f.Name] = f
	}
	return index
}

// namesIn returns the names of the fields that can be given in one of places.
func namesIn(places Places) []string {
	var names []string
	for _, f := range table {
		if f.In&places != 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// IsTiming reports whether a field says when a job runs.
func IsTiming(name string) bool {
	f := byName[name]
	return f != nil && f.Form.Section == TimingSection
}

// numeric reports whether digits in a form are a number in this field.
func (f *Field) numeric() bool {
	kind := f.Kind
	if kind == ListValue || kind == ObjectValue {
		kind = f.Of
	}
	return kind == WholeValue || kind == NumberValue || kind == DurationValue || kind == InstantValue
}

// Value returns the value that text stands for, or nil if it is empty. Text that
// is not of the field's kind becomes a string, which Read refuses with a sentence
// that says what the field must be.
func (f *Field) Value(text string) rawjson.Value {
	if f.Kind == LinesValue {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	if f.Kind != ListValue {
		return valueOf(f.Kind, text)
	}
	if v, err := rawjson.Read([]byte(text)); err == nil && v.Kind() == '[' {
		return v
	}
	var elements []rawjson.Value
	for element := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '\n' }) {
		if element = strings.TrimSpace(element); element != "" {
			elements = append(elements, valueOf(f.Of, element))
		}
	}
	return rawjson.Array(elements)
}

// valueOf reads text that is not empty as a value of a kind other than List.
func valueOf(kind FieldKind, text string) rawjson.Value {
	v, err := rawjson.Read([]byte(text))
	switch kind {
	case TextValue, LinesValue:
	case WholeValue, NumberValue, InstantValue:
		if err == nil && v.Kind() == '0' {
			return v
		}
	case DurationValue:
		if err == nil && (v.Kind() == '0' || v.Kind() == '[') {
			return v
		}
		if pair := strings.Fields(text); len(pair) == 2 && jsonNumber.MatchString(pair[0]) {
			return rawjson.Array([]rawjson.Value{rawjson.Value(pair[0]), rawjson.Quote(pair[1])})
		}
	default:
		if err == nil {
			return v
		}
	}
	return rawjson.Quote(text)
}

// Text returns what an input shows for a value, such that Value returns the value
// again, apart from the spelling of lists and durations.
func (f *Field) Text(v rawjson.Value) string {
	if f.Kind != ListValue || v.Kind() != '[' {
		return textOf(f.Kind, v)
	}
	var texts []string
	for _, element := range rawjson.Elements(v) {
		texts = append(texts, textOf(f.Of, element))
	}
	return strings.Join(texts, ", ")
}

func textOf(kind FieldKind, v rawjson.Value) string {
	if v.Kind() == '"' {
		return rawjson.Text(v)
	}
	if kind == DurationValue {
		if pair := rawjson.Elements(v); len(pair) == 2 {
			return string(pair[0]) + " " + rawjson.Text(pair[1])
		}
	}
	return string(v)
}
