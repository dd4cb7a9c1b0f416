package job

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Timing is another due time for a job.
type Timing struct {
	At    time.Time // as asked for; may be past
	field rawjson.Member
}

var timingFields = []string{"schedule_in", "scheduled_at"}

// ReadTiming reads a request for another due time: schedule_in or scheduled_at.
// The error is a fault that lists every problem.
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

// Field names the member that the due time was given in.
func (t *Timing) Field() string { return t.field.Name }

// In gives args with this due time in place of the one they had.
func (t *Timing) In(args rawjson.Value) rawjson.Value {
	return replaced(args, timingFields, t.field)
}

// replaced gives args with members in place of those that have one of the names;
// at the end when there are none.
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

// Again gives the body of a create request that makes the same request as a job
// once, at once.
func Again(j *Job) rawjson.Value {
	members := rawjson.Members(replaced(j.Args, []string{"schedule_in", "scheduled_at", "repeat_every", "cron", "timezone"}))
	for name, text := range map[string]*string{"name": j.Name, "description": j.Description} {
		if text != nil {
			members = append(members, rawjson.Member{Name: name, Value: rawjson.Quote(*text)})
		}
	}
	return rawjson.Object(members)
}
