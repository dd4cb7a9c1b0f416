package job

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Edit is a change of a schedule.
type Edit struct {
	// Frequency is the new frequency; nil if it stays.
	Frequency schedule.Frequency

	timing            []rawjson.Member
	name, description *string
	given             map[string]bool // the fields to change
}

var (
	frequencyFields = []string{"repeat_every", "cron", "timezone"}
	editFields      = append([]string{"name", "description"}, frequencyFields...)
)

// ReadEdit reads a change of a schedule. Null removes a name or description; for
// other fields null means absent. Its error is a fault that lists every problem.
func ReadEdit(body rawjson.Value, now time.Time) (*Edit, error) {
	r, err := newReader(body, "must be a JSON object with the fields to change", ReadOptions{Now: now})
	if err != nil {
		return nil, err
	}
	e := &Edit{given: map[string]bool{}}
	members := rawjson.Members(body)
	r.take(members, editFields)
	for _, m := range members {
		_, set := r.fields[m.Name]
		e.given[m.Name] = set || m.Name == "name" || m.Name == "description"
		if set && m.Name != "name" && m.Name != "description" {
			e.timing = append(e.timing, m)
		}
	}
	r.readFields()
	r.checkTogether()
	e.name, e.description, e.Frequency = r.draft.Name, r.draft.Description, r.draft.Frequency
	if r.problems.Len() == 0 && e.Frequency == nil && !e.given["name"] && !e.given["description"] {
		r.refuse("#", "must have at least one of name, description, repeat_every and cron")
	}
	return e, r.problems.Err()
}

// Apply changes a schedule's own fields. The caller sets where its grid begins.
func (e *Edit) Apply(s *Schedule) {
	if e.given["name"] {
		s.Name = e.name
	}
	if e.given["description"] {
		s.Description = e.description
	}
	if e.Frequency != nil {
		changes := e.timing
		for _, name := range frequencyFields {
			if !e.given[name] {
				changes = append(changes, rawjson.Member{Name: name, Value: null})
			}
		}
		s.Args = Merge(s.Args, changes)
	}
}

// ReadState reads a schedule's $state. Its error is a fault.
func ReadState(body rawjson.Value) (rawjson.Value, error) {
	var problems []fault.Problem
	switch {
	case body.Kind() != '{':
		problems = append(problems, fault.Problem{Pointer: "#", Detail: "must be a JSON object"})
	case len(body) > MaxState:
		problems = append(problems, fault.Problem{
			Pointer: "#", Detail: "must have at most " + strconv.Itoa(MaxState) + " bytes without white space, it has " + strconv.Itoa(len(body)),
		})
	}
	return body, fault.Refuse(problems)
}
