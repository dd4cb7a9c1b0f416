package mcp

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// input is an argument of a tool.
type input struct {
	name     string
	schema   rawjson.Value // JSON Schema
	required bool
	place    place
}

// place is where an argument goes in the call.
type place int

const (
	inOwn place = iota // the tool's run reads it
	inPath
	inQuery
	inBody
)

// inputs returns the inputs of each tool, by its name.
var inputs = sync.OnceValue(func() map[string][]input {
	d := readDocument()
	all := map[string][]input{}
	for i := range tools {
		all[tools[i].name] = d.inputs(&tools[i])
	}
	return all
})

// inputs returns a tool's inputs: the ids of the path, its own, filters, parameters and
// fields.
func (d *document) inputs(t *tool) []input {
	var all []input
	for name := range strings.SplitSeq(t.call.path, "{") {
		if name, _, found := strings.Cut(name, "}"); found {
			all = append(all, input{name, ids[name], t.many == "", inPath})
		}
	}
	if t.many != "" {
		all = append(all, d.manyInputs()...)
	}
	all = append(all, t.own...)
	if t.call.filters != 0 {
		for _, f := range job.FiltersOf(t.call.filters) {
			all = append(all, input{f.Name, d.parameter(&t.call, f.Name, f.Repeats()), false, inQuery})
		}
	}
	for _, name := range t.call.parameters {
		all = append(all, input{name, d.parameter(&t.call, name, false), false, inQuery})
	}
	if t.call.fields != 0 {
		keepNull := t.call.fields&(job.EditJob|job.EditSchedule) != 0
		for _, f := range job.Fields() {
			if f.In&t.call.fields != 0 {
				all = append(all, input{f.Name, d.property("JobRequest", f.Name, keepNull), false, inBody})
			}
		}
	}
	for _, name := range d.properties(t.call.body) {
		all = append(all, input{name, d.property(t.call.body, name, false), false, inBody})
	}
	return all
}

// schemaOf returns the JSON Schema of a tool's arguments.
func schemaOf(t *tool) rawjson.Value {
	var properties []rawjson.Member
	var required []rawjson.Value
	for _, in := range inputs()[t.name] {
		properties = append(properties, rawjson.Member{Name: in.name, Value: in.schema})
		if in.required {
			required = append(required, rawjson.Quote(in.name))
		}
	}
	members := []rawjson.Member{{Name: "type", Value: rawjson.Quote("object")}, {Name: "properties", Value: rawjson.Object(properties)}}
	if len(required) > 0 {
		members = append(members, rawjson.Member{Name: "required", Value: rawjson.Array(required)})
	}
	return rawjson.Object(append(members, rawjson.Member{Name: "additionalProperties", Value: rawjson.Value("false")}))
}

// arguments are the arguments of a call of a tool, which are checked for their names.
type arguments struct {
	given  []rawjson.Member
	places map[string]place
}

// readArguments reads the arguments of a tool. The error says what to change.
func readArguments(t *tool, text []byte) (*arguments, error) {
	a := &arguments{places: map[string]place{}}
	all := inputs()[t.name]
	var names []string
	for _, in := range all {
		names = append(names, in.name)
		a.places[in.name] = in.place
	}
	if len(text) > 0 && string(text) != "null" {
		v, err := rawjson.Read(text)
		if err != nil {
			return nil, complain("the arguments can't be read: %v", err)
		}
		if v.Kind() != '{' {
			return nil, complain("the arguments must be a JSON object")
		}
		a.given = rawjson.Members(v)
	}
	keepNull := t.call.fields&(job.EditJob|job.EditSchedule) != 0
	a.given = slices.DeleteFunc(a.given, func(m rawjson.Member) bool {
		return rawjson.IsNull(m.Value) && !(keepNull && a.places[m.Name] == inBody)
	})
	for _, m := range a.given {
		if _, known := a.places[m.Name]; known {
			continue
		}
		if near, ok := job.Nearest(m.Name, names); ok {
			return nil, complain("%s has no argument %q; did you mean %s?", t.name, clip(m.Name, 64), near)
		}
		return nil, complain("%s has no argument %q; it takes %s", t.name, clip(m.Name, 64), strings.Join(names, ", "))
	}
	for _, in := range all {
		if in.required && a.get(in.name) == nil {
			return nil, complain("%s needs the argument %s", t.name, in.name)
		}
	}
	return a, nil
}

// get returns an argument, or nil.
func (a *arguments) get(name string) rawjson.Value {
	for _, m := range a.given {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// text returns an argument that is a string or a number as text; "" if it isn't given.
func (a *arguments) text(name string) (string, error) {
	v := a.get(name)
	switch v.Kind() {
	case '"':
		return rawjson.Text(v), nil
	case '0', 't', 'f':
		return string(v), nil
	}
	if v == nil {
		return "", nil
	}
	return "", complain("%s must be a string or a number", name)
}

// maxID bounds an id in a path: key: and 255 characters.
const maxID = 1100

// path returns a path with the ids that the arguments give.
func (a *arguments) path(pattern string) (string, error) {
	for {
		before, rest, found := strings.Cut(pattern, "{")
		if !found {
			return pattern, nil
		}
		name, after, _ := strings.Cut(rest, "}")
		id, err := a.text(name)
		if err != nil {
			return "", err
		}
		if id == "" || id == "." || id == ".." || len(id) > maxID {
			return "", complain("%s must be an id, or key: and an idempotency key", name)
		}
		pattern = before + url.PathEscape(id) + after
	}
}

// query returns the query of a call.
func (a *arguments) query(fixed string) (string, error) {
	values := url.Values{}
	for _, m := range a.given {
		if a.places[m.Name] != inQuery {
			continue
		}
		if m.Value.Kind() != '[' {
			text, err := a.text(m.Name)
			if err != nil {
				return "", err
			}
			values.Set(m.Name, text)
			continue
		}
		for _, element := range rawjson.Elements(m.Value) {
			if element.Kind() != '"' {
				return "", complain("%s must have strings only", m.Name)
			}
			values.Add(m.Name, rawjson.Text(element))
		}
	}
	query := values.Encode()
	if fixed != "" && query != "" {
		query += "&"
	}
	return query + fixed, nil
}

// body returns the body of a call; nil if the tool's call has none.
func (a *arguments) body(c *call) []byte {
	if c.fields == 0 && c.body == "" {
		return nil
	}
	return rawjson.Object(slices.DeleteFunc(slices.Clone(a.given), func(m rawjson.Member) bool { return a.places[m.Name] != inBody }))
}
