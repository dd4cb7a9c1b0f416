package job

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

var (
	emptyObject = rawjson.Value(`{}`)
	null        = rawjson.Value(`null`)
)

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

// Resolve returns v with each string that as a whole is a dynamic field
// replaced by its value, at any depth: null where nothing is there, and an
// escaped one without one of its $. Member names are left alone. It stops when
// the result would have more than most bytes; it is nil and ok false then.
//
// The zero Dynamic replaces nothing.
func (d Dynamic) Resolve(v rawjson.Value, most int) (resolved rawjson.Value, ok bool) {
	if d.Job == nil || !bytes.Contains(v, []byte(`"$`)) {
		return upTo(most, v)
	}
	out := bounded{most: most}
	values := map[string]*rawjson.Index{
		"job": rawjson.NewIndex(d.Job), "state": rawjson.NewIndex(d.State), "previous": rawjson.NewIndex(d.Previous),
	}
	copied := 0
	for begin, end := range rawjson.Strings(v) {
		text := v[begin:end]
		if len(text) < 3 || text[1] != '$' {
			continue
		}
		if by := resolveText(text, values); by != nil {
			add(&out, v[copied:begin])
			add(&out, by)
			copied = end
		}
		if out.over {
			return nil, false
		}
	}
	add(&out, v[copied:])
	return out.result(), !out.over
}

// upTo returns v if it has at most that many bytes.
func upTo(most int, v rawjson.Value) (rawjson.Value, bool) {
	if len(v) > most {
		return nil, false
	}
	return v, true
}

// resolveText returns what a string is replaced by; nil when it stays.
func resolveText(v rawjson.Value, values map[string]*rawjson.Index) rawjson.Value {
	text := rawjson.Text(v)
	if strings.HasPrefix(text, "$$") && isDynamic(strings.TrimLeft(text, "$")) {
		return rawjson.Quote(text[1:])
	}
	name, ok := strings.CutPrefix(text, "$")
	if !ok || !isDynamic(name) {
		return nil
	}
	path := strings.Split(name, ".")
	if found := values[path[0]].Find(path[1:]); found != nil {
		return found
	}
	return null
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

// AddTo returns the body with the three fields as its last members; a body that
// is no object comes back as it is. It is false when that has more than most bytes.
func (d Dynamic) AddTo(body rawjson.Value, most int) (rawjson.Value, bool) {
	if body.Kind() != '{' {
		return upTo(most, body)
	}
	out := bounded{most: most}
	add(&out, "{")
	c := rawjson.Walk(body)
	for c.Enter(); !out.over && c.More(); {
		name, value := c.Name(), c.Value()
		switch string(name) {
		case `"$job"`, `"$previous"`, `"$state"`:
		default:
			addMember(&out, name, value)
		}
	}
	addMember(&out, rawjson.Value(`"$job"`), d.Job)
	addMember(&out, rawjson.Value(`"$previous"`), d.Previous)
	addMember(&out, rawjson.Value(`"$state"`), d.State)
	add(&out, "}")
	return out.result(), !out.over
}

// addMember adds a member to the object that out is going to be.
func addMember(out *bounded, name, value rawjson.Value) {
	if len(out.b) > 1 {
		add(out, ",")
	}
	add(out, name)
	add(out, ":")
	add(out, value)
}

// MergeState returns the schedule's state with the members of set merged in. Ok
// is false when that has more than MaxState bytes; size is how many it has, or
// those of set when they are too many alone.
func MergeState(state, set rawjson.Value) (merged rawjson.Value, size int, ok bool) {
	if len(set) > MaxState {
		return nil, len(set), false
	}
	members := rawjson.Members(state)
	places := make(map[string]int, len(members))
	for i, m := range members {
		places[m.Name] = i
	}
	for _, m := range rawjson.Members(set) {
		if place, known := places[m.Name]; known {
			members[place].Value = m.Value
		} else {
			members = append(members, m)
		}
	}
	merged = rawjson.Object(members)
	return merged, len(merged), len(merged) <= MaxState
}
