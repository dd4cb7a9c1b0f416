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

// Dynamic holds the values of the dynamic fields for one job.
type Dynamic struct {
	Job      rawjson.Value // $job
	State    rawjson.Value // $state
	Previous rawjson.Value // $previous
	// Conceals is set if $previous is sent but not shown.
	Conceals bool
	shows    bool // it is RedactedText, at any path
}

// shown returns the values for what is shown of a request.
func (d Dynamic) shown() Dynamic {
	if d.Conceals {
		d.Previous, d.shows = redacted, true
	}
	return d
}

// NewDynamic returns the dynamic fields of a job; the schedule is nil for a
// one-off job.
func NewDynamic(number int64, s *Schedule) Dynamic {
	d := Dynamic{Job: rawjson.Value(`{"id":` + strconv.FormatInt(number, 10) + `}`), State: emptyObject, Previous: emptyObject}
	if s == nil {
		return d
	}
	if s.State != nil {
		d.State = s.State
	}
	if s.Previous != nil {
		d.Previous, d.Conceals = s.Previous, s.HiddenPrevious != ""
	}
	return d
}

// Resolve returns v with each string that consists of a dynamic field replaced by
// its value, at any depth. A field without a value becomes null; an escaped field
// loses one $. Member names stay as they are. If the result would exceed most
// bytes, Resolve stops and returns nil and false.
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
		if by := d.resolveText(text, values); by != nil {
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

// upTo returns v and true if v has at most most bytes.
func upTo(most int, v rawjson.Value) (rawjson.Value, bool) {
	if len(v) > most {
		return nil, false
	}
	return v, true
}

// resolveText returns the replacement of a string, or nil if it stays.
func (d Dynamic) resolveText(v rawjson.Value, values map[string]*rawjson.Index) rawjson.Value {
	text := rawjson.Text(v)
	if strings.HasPrefix(text, "$$") && isDynamic(strings.TrimLeft(text, "$")) {
		return rawjson.Quote(text[1:])
	}
	name, ok := strings.CutPrefix(text, "$")
	if !ok || !isDynamic(name) {
		return nil
	}
	path := strings.Split(name, ".")
	if d.shows && path[0] == "previous" {
		return redacted
	}
	if found := values[path[0]].Find(path[1:]); found != nil {
		return found
	}
	return null
}

// isDynamic reports whether the text after the $ is a dotted path into one of the
// three fields, without empty steps.
func isDynamic(name string) bool {
	root, rest, dotted := strings.Cut(name, ".")
	if root != "job" && root != "state" && root != "previous" {
		return false
	}
	return !dotted || !strings.Contains("."+rest+".", "..")
}

// AddTo returns the body with the three fields added as its last members. It
// returns a body that is not an object unchanged. It returns false if the result
// would exceed most bytes.
func (d Dynamic) AddTo(body rawjson.Value, most int) (rawjson.Value, bool) {
	if body.Kind() != '{' {
		return upTo(most, body)
	}
	out := bounded{most: most}
	if size := len(body) + len(d.Job) + len(d.Previous) + len(d.State) + len(`,"$job":,"$previous":,"$state":`); size <= most {
		out.b = make([]byte, 0, size)
	}
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

// addMember appends a member to the object being written to out.
func addMember(out *bounded, name, value rawjson.Value) {
	if len(out.b) > 1 {
		add(out, ",")
	}
	add(out, name)
	add(out, ":")
	add(out, value)
}

// MergeState returns the schedule's state with the members of set merged in. Ok
// is false if the result exceeds MaxState bytes. Size is the size of the result,
// or the size of set if set alone exceeds the limit.
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
