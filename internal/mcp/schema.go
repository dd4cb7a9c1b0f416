package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/api"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Schemas of arguments are those of the API document, shortened: agents read all of them
// before they begin.
const (
	maxAbout  = 160 // bytes of a description
	maxNest   = 5   // levels of a schema; below, the API's errors say what is wrong
	maxSchema = 400 // bytes of a schema, without the description, if it has several levels
)

// schema is a JSON Schema.
type schema = map[string]any

// document is what is needed of the API document.
type document struct {
	Paths map[string]map[string]struct {
		Parameters []schema `json:"parameters"`
	} `json:"paths"`
	Components struct {
		Schemas    map[string]schema `json:"schemas"`
		Parameters map[string]schema `json:"parameters"`
	} `json:"components"`
}

// readDocument reads the API document. It is embedded, so a failure is a defect that any
// test finds: it panics.
func readDocument() *document {
	var loose struct {
		Paths      map[string]map[string]json.RawMessage
		Components json.RawMessage
	}
	d := &document{}
	err := json.Unmarshal(api.JSON(), &loose)
	if err == nil {
		err = json.Unmarshal(loose.Components, &d.Components)
	}
	if err != nil {
		panic("mcp: the API document can't be read: " + err.Error())
	}
	d.Paths = map[string]map[string]struct {
		Parameters []schema `json:"parameters"`
	}{}
	for path, item := range loose.Paths {
		methods := map[string]struct {
			Parameters []schema `json:"parameters"`
		}{}
		for method, text := range item {
			var operation struct {
				Parameters []schema `json:"parameters"`
			}
			if method != "parameters" && json.Unmarshal(text, &operation) == nil {
				methods[strings.ToUpper(method)] = operation
			}
		}
		d.Paths[path] = methods
	}
	return d
}

// ids are the schemas of ids in paths.
var ids = map[string]rawjson.Value{
	"job_id":      rawjson.Value(`{"type":["integer","string"],"description":"The job: its number or id, or key: and its idempotency key."}`),
	"schedule_id": rawjson.Value(`{"type":"string","description":"The schedule: its id, or key: and its idempotency key."}`),
}

// parameter returns the schema of a query parameter of a call.
func (d *document) parameter(c *call, name string, repeats bool) rawjson.Value {
	for _, p := range d.Paths[c.path][c.method].Parameters {
		if ref, ok := p["$ref"].(string); ok {
			p = d.Components.Parameters[ref[strings.LastIndexByte(ref, '/')+1:]]
		}
		if p["name"] != name {
			continue
		}
		own, _ := p["schema"].(schema)
		s := d.small(own, false)
		if repeats && s["type"] != "array" {
			s = schema{"type": "array", "items": s}
		}
		s["description"] = about(p)
		return encode(s)
	}
	panic("mcp: the API document has no parameter " + name + " of " + c.method + " " + c.path)
}

// property returns the schema of a member of a body. keepNull: null has a meaning.
func (d *document) property(of, name string, keepNull bool) rawjson.Value {
	members, _ := d.Components.Schemas[of]["properties"].(schema)
	own, ok := members[name].(schema)
	if !ok {
		panic("mcp: the API document has no " + of + "." + name)
	}
	s := d.small(own, keepNull)
	if text := about(own); text != "" {
		s["description"] = text
	}
	return encode(s)
}

// properties returns the names of the members of a body; nil for no schema.
func (d *document) properties(of string) []string {
	if of == "" {
		return nil
	}
	var names []string
	members, _ := d.Components.Schemas[of]["properties"].(schema)
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// small returns a schema with as many levels as fit into maxSchema.
func (d *document) small(from schema, keepNull bool) schema {
	for most := maxNest; ; most-- {
		if s := d.reduce(from, most, keepNull); most == 1 || len(encode(s)) <= maxSchema {
			return s
		}
	}
}

// kept are the keywords that are copied.
var kept = []string{"type", "enum", "const", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "required", "default",
	"format"}

// reduce returns a schema without references, examples and descriptions, and with at most
// some levels.
func (d *document) reduce(from schema, levels int, keepNull bool) schema {
	if ref, ok := from["$ref"].(string); ok {
		return d.reduce(d.Components.Schemas[ref[strings.LastIndexByte(ref, '/')+1:]], levels, keepNull)
	}
	s := schema{}
	for _, word := range kept {
		if v, ok := from[word]; ok {
			s[word] = v
		}
	}
	if !keepNull {
		dropNull(s)
	}
	if levels == 0 {
		delete(s, "required")
		if s["type"] == nil {
			return schema{}
		}
		return s
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		alternatives, _ := from[word].([]any)
		if len(alternatives) == 0 || onlyRequires(alternatives) {
			continue
		}
		var all []any
		for _, a := range alternatives {
			one, _ := a.(schema)
			if one["type"] == "null" && !keepNull || one["const"] == job.RedactedText {
				continue
			}
			all = append(all, d.reduce(one, levels-1, keepNull))
		}
		if len(all) == 1 {
			for word, v := range all[0].(schema) {
				s[word] = v
			}
			continue
		}
		s["anyOf"] = all
	}
	if items, ok := from["items"].(schema); ok {
		s["items"] = d.reduce(items, levels-1, keepNull)
	}
	if members, ok := from["properties"].(schema); ok {
		all := schema{}
		for name, member := range members {
			if one, ok := member.(schema); ok {
				all[name] = d.reduce(one, levels-1, keepNull)
			}
		}
		s["properties"] = all
	}
	if rest, ok := from["additionalProperties"].(schema); ok {
		s["additionalProperties"] = d.reduce(rest, levels-1, keepNull)
	}
	return s
}

// dropNull removes null from the types and values of a schema: arguments are left out
// instead.
func dropNull(s schema) {
	if types, ok := s["type"].([]any); ok {
		types = slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })
		if s["type"] = types; len(types) == 1 {
			s["type"] = types[0]
		}
	}
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}
}

// onlyRequires reports whether alternatives say no more than which members are needed.
func onlyRequires(alternatives []any) bool {
	return !slices.ContainsFunc(alternatives, func(a any) bool {
		one, _ := a.(schema)
		return len(one) != 1 || one["required"] == nil
	})
}

// about returns the first sentences of a description.
func about(s schema) string {
	text, _ := s["description"].(string)
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxAbout {
		return text
	}
	end := strings.LastIndex(text[:maxAbout], ". ")
	if end < 0 {
		end = strings.LastIndex(text[:maxAbout], " ")
		return text[:max(end, 0)] + " …"
	}
	return text[:end+1]
}

func encode(s schema) rawjson.Value {
	text, err := json.Marshal(s)
	if err != nil {
		panic("mcp: a schema can't be encoded: " + err.Error())
	}
	return text
}
