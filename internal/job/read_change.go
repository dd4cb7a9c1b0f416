package job

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Timing is a new due time for a job.
type Timing struct {
	At    time.Time // as requested; may be in the past
	field rawjson.Member
}

var timingFields = []string{"schedule_in", "scheduled_at"}

// ReadTiming reads a request for a new due time: schedule_in or scheduled_at. Its
// error is a fault that lists every problem.
func ReadTiming(body rawjson.Value, now time.Time) (*Timing, error) {
	r, err := newReader(body, "must be a JSON object with schedule_in or scheduled_at", ReadOptions{Now: now})
	if err != nil {
		return nil, err
	}
	r.take(rawjson.Members(body), timingFields)
	at, given := r.readStart()
	if !given && r.problems.Len() == 0 {
		r.refuse("#", "must have schedule_in or scheduled_at")
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	t := &Timing{At: at}
	for _, name := range timingFields {
		if v, ok := r.fields[name]; ok {
			t.field = rawjson.Member{Name: name, Value: v}
		}
	}
	return t, nil
}

// Field returns the name of the member with the due time.
func (t *Timing) Field() string { return t.field.Name }

// In returns args with this due time instead of the previous one.
func (t *Timing) In(args rawjson.Value) rawjson.Value {
	return replaced(args, timingFields, t.field)
}

// replaced returns args with the members named names replaced by by, which is
// appended if there are none.
func replaced(args rawjson.Value, names []string, by ...rawjson.Member) rawjson.Value {
	var members []rawjson.Member
	done := false
	for _, m := range rawjson.Members(args) {
		if !slices.Contains(names, m.Name) {
			members = append(members, m)
		} else if !done {
			members, done = append(members, by...), true
		}
	}
	if !done {
		members = append(members, by...)
	}
	return rawjson.Object(members)
}

// Again returns the body of a create request for a new job that makes the same
// request as j, once and at once.
func Again(j *Job) rawjson.Value {
	members := rawjson.Members(replaced(j.Args, []string{"schedule_in", "scheduled_at", "repeat_every", "cron", "timezone"}))
	for name, text := range map[string]*string{"name": j.Name, "description": j.Description} {
		if text != nil {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(*text)})
		}
	}
	return rawjson.Object(members)
}
