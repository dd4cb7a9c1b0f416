package job

import (
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
	r.readFields()
	r.checkTogether()
	if !r.timing.given && r.problems.Len() == 0 {
		r.refuse("#", "must have schedule_in or scheduled_at")
	}
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	t := &Timing{At: r.timing.start}
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
	return Merge(args, []rawjson.Member{t.field})
}

// Again returns the body of a create request for a new job that makes the same
// request as j, once and at once.
func Again(j *Job) rawjson.Value {
	var without []rawjson.Member
	for _, f := range table {
		if f.In&EditJob == 0 || f.Needs == keyField || IsTiming(f.Name) {
			without = append(without, rawjson.Member{Name: f.Name, Value: null})
		}
	}
	members := rawjson.Members(Merge(j.Args, without))
	add := func(name string, text *string) {
		if text != nil {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(*text)})
		}
	}
	add("name", j.Name)
	add("description", j.Description)
	return rawjson.Object(members)
}
