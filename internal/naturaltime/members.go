package naturaltime

import (
	"math"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
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

// Once returns the time that a Timing without a recurrence stands for, now if it has
// none; false for a recurrence, and for a span of more years than a time can hold.
func (t Timing) Once(now time.Time) (time.Time, bool) {
	switch {
	case t.Every != nil || t.Cron != "":
		return time.Time{}, false
	case t.In != nil:
		unit, known := schedule.UnitSeconds(t.In.Unit)
		micros, err := schedule.ParseAmount(t.In.Amount, unit)
		if !known || err != nil || micros > math.MaxInt64/1000 {
			return time.Time{}, false
		}
		return now.Add(time.Duration(micros) * time.Microsecond), true
	case !t.At.IsZero():
		return t.At, true
	}
	return now, true
}
