package job

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

var emptyObject = rawjson.Value(`{}`)

// Dynamic holds what the dynamic fields stand for in one run.
type Dynamic struct {
	Job      rawjson.Value // $job
	State    rawjson.Value // $state
	Previous rawjson.Value // $previous
}

// NewDynamic makes the dynamic fields of a job; schedule is nil for a one-off.
func NewDynamic(number int64, s *Schedule) Dynamic {
	d := Dynamic{Job: rawjson.Value(`{"id":` + strconv.FormatInt(number, 10) + `}`), State: emptyObject, Previous: emptyObject}
	if s == nil {
		return d
	}
	if s.State != nil {
		d.State = s.State
	}
	if s.Previous != nil {
		d.Previous = s.Previous
	}
	return d
}

// Resolve replaces, at any depth, each string that as a whole is a dynamic
// field by its value, null where nothing is there, and takes one $ off an
// escaped one. Member names are left alone.
func (d Dynamic) Resolve(v rawjson.Value) rawjson.Value {
	if !bytes.Contains(v, []byte(`"$`)) {
		return v
	}
	switch v.Kind() {
	case '"':
		return d.resolveText(v)
	case '[':
		elements := rawjson.Elements(v)
		for i := range elements {
			elements[i] = d.Resolve(elements[i])
		}
		return rawjson.Array(elements)
	case '{':
		members := rawjson.Members(v)
		for i := range members {
			members[i].Value = d.Resolve(members[i].Value)
		}
		return rawjson.Object(members)
	default:
		return v
	}
}

func (d Dynamic) resolveText(v rawjson.Value) rawjson.Value {
	text := rawjson.Text(v)
	if strings.HasPrefix(text, "$$") && isDynamic(strings.TrimLeft(text, "$")) {
		return rawjson.Quote(text[1:])
	}
	name, ok := strings.CutPrefix(text, "$")
	if !ok || !isDynamic(name) {
		return v
	}
	path := strings.Split(name, ".")
	root := map[string]rawjson.Value{"job": d.Job, "state": d.State, "previous": d.Previous}[path[0]]
	if found := rawjson.Lookup(root, path[1:]); found != nil {
		return found
	}
	return rawjson.Value(`null`)
}

// isDynamic reports whether the text behind the $ is a dotted path into one of
// the three fields, without empty steps.
func isDynamic(name string) bool {
	root, rest, dotted := strings.Cut(name, ".")
	if root != "job" && root != "state" && root != "previous" {
		return false
	}
	return !dotted || !strings.Contains("."+rest+".", "..")
}

// AddTo gives the body with the three fields as its last members. A body that
// is no object comes back as it is.
func (d Dynamic) AddTo(body rawjson.Value) rawjson.Value {
	if body.Kind() != '{' {
		return body
	}
	members := rawjson.Members(body)
	kept := members[:0]
	for _, m := range members {
		if m.Name != "$job" && m.Name != "$previous" && m.Name != "$state" {
			kept = append(kept, m)
		}
	}
	return rawjson.Object(append(kept,
		rawjson.Member{Name: "$job", Value: d.Job},
		rawjson.Member{Name: "$previous", Value: d.Previous},
		rawjson.Member{Name: "$state", Value: d.State}))
}

// MergeState gives the schedule's state with the members of set merged in.
func MergeState(state, set rawjson.Value) rawjson.Value {
	merged := rawjson.Members(state)
	for _, m := range rawjson.Members(set) {
		replaced := false
		for i := range merged {
			if merged[i].Name == m.Name {
				merged[i].Value, replaced = m.Value, true
			}
		}
		if !replaced {
			merged = append(merged, m)
		}
	}
	return rawjson.Object(merged)
}
