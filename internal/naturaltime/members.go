package naturaltime

import (
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Members returns a timing as fields of a request that creates a job: those of
// schedule_in, scheduled_at, repeat_every, cron and timezone that are set.
func (t Timing) Members() []rawjson.Member {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) { members = append(members, rawjson.Member{Name: name, Value: v}) }
	if t.In != nil {
		add("schedule_in", t.In.value())
	}
	if !t.At.IsZero() {
		add("scheduled_at", rawjson.Quote(t.At.Format(time.RFC3339Nano)))
	}
	if t.Every != nil {
		add("repeat_every", t.Every.value())
	}
	if t.Cron != "" {
		add("cron", rawjson.Quote(t.Cron))
	}
	if t.Zone != "" {
		add("timezone", rawjson.Quote(t.Zone))
	}
	return members
}

func (s *Span) value() rawjson.Value {
	return rawjson.Array([]rawjson.Value{rawjson.Value(s.Amount), rawjson.Quote(s.Unit)})
}
