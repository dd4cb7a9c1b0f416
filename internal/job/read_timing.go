package job

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// MaxAhead is how far in the future a due time may be, and how long an interval
// may be.
const MaxAhead = 3652 * 24 * time.Hour

const tooFar = "must be at most 3,652 days ahead"

func (r *reader) readTiming() {
	start, given := r.readStart()
	r.readFrequency()
	r.draft.ScheduledAt = start
	if cron, ok := r.draft.Frequency.(*schedule.Cron); ok {
		if !given || start.Before(r.opts.Now) {
			start = r.opts.Now
		}
		r.draft.ScheduledAt = cron.First(start)
	}
	r.draft.DueAt = r.draft.ScheduledAt
	if r.draft.DueAt.Before(r.opts.Now) {
		r.draft.DueAt = r.opts.Now
	}
}

// readStart returns the requested time, and whether the request has one.
func (r *reader) readStart() (start time.Time, given bool) {
	in, hasIn := r.fields["schedule_in"]
	at, hasAt := r.fields["scheduled_at"]
	if hasIn && hasAt {
		r.refuse("#/schedule_in", "excludes scheduled_at; give only one of them")
		r.refuse("#/scheduled_at", "excludes schedule_in; give only one of them")
	}
	start = r.opts.Now
	if hasIn {
		if delay, ok := r.readSpan(in, 0, "schedule_in"); ok {
			start = start.Add(delay)
		}
	}
	if hasAt {
		if t, ok := r.readInstant(at); ok {
			start = t
		}
	}
	return start, hasIn || hasAt
}

func (r *reader) readInstant(v rawjson.Value) (time.Time, bool) {
	var t time.Time
	var err error
	switch v.Kind() {
	case '"':
		t, err = schedule.ParseInstant(rawjson.Text(v))
	case '0':
		t, err = schedule.ParseUnix(string(v))
	default:
		r.refuse("#/scheduled_at", "must be a datetime string or a unix timestamp")
		return t, false
	}
	switch {
	case err != nil:
		r.refuse("#/scheduled_at", "%s", err)
	case t.After(r.opts.Now.Add(MaxAhead)):
		r.refuse("#/scheduled_at", tooFar)
	case !t.After(time.Time{}):
		r.refuse("#/scheduled_at", "must be after the beginning of the year 1")
	default:
		return t, true
	}
	return t, false
}

// ReadInstant parses a time in a query parameter: what scheduled_at accepts, with
// numbers as digits. It accepts a space for the sign of an offset, because a plus
// in a query decodes to a space. The text of its error completes a sentence that
// begins with the parameter's name.
func ReadInstant(text string) (time.Time, error) {
	if at := strings.LastIndexByte(text, ' '); at > len("2006-01-02") {
		text = text[:at] + "+" + text[at+1:]
	}
	if number, err := rawjson.Read([]byte(text)); err == nil && number.Kind() == '0' {
		return schedule.ParseUnix(text)
	}
	return schedule.ParseInstant(text)
}

// readSpan reads seconds or [amount, unit]. Path leads to the value.
func (r *reader) readSpan(v rawjson.Value, least time.Duration, path ...string) (time.Duration, bool) {
	amount, at, unit := v, Pointer(path...), int64(1)
	if v.Kind() == '[' {
		pair := rawjson.Elements(v)
		if len(pair) != 2 {
			r.refuse(at, "must be a number of seconds or [amount, unit]")
			return 0, false
		}
		var known bool
		if unit, known = schedule.UnitSeconds(rawjson.Text(pair[1])); !known {
			r.refuse(Pointer(append(path, "1")...), "must be a unit: second, minute, hour, day or week, singular or plural")
		}
		amount, at = pair[0], Pointer(append(path, "0")...)
		if amount.Kind() != '0' {
			r.refuse(at, "must be a number")
			return 0, false
		}
		if !known {
			if amount[0] == '-' {
				r.refuse(at, "must not be negative")
			}
			return 0, false
		}
	}
	if amount.Kind() != '0' {
		r.refuse(at, "must be a number of seconds or [amount, unit]")
		return 0, false
	}
	return r.readAmount(at, string(amount), unit, least)
}

func (r *reader) readAmount(at, literal string, unit int64, least time.Duration) (time.Duration, bool) {
	micros, err := schedule.ParseAmount(literal, unit)
	switch {
	case err != nil && literal[0] != '-', micros > MaxAhead.Microseconds():
		r.refuse(at, tooFar)
	case err != nil || micros < 0 || literal[0] == '-' && micros != 0:
		r.refuse(at, "must not be negative")
	case micros < least.Microseconds():
		r.refuse(at, "must be at least one second")
	default:
		return time.Duration(micros) * time.Microsecond, true
	}
	return 0, false
}

func (r *reader) readFrequency() {
	every, hasEvery := r.fields["repeat_every"]
	cron, hasCron := r.fields["cron"]
	if hasEvery && hasCron {
		r.refuse("#/repeat_every", "excludes cron; give only one of them")
		r.refuse("#/cron", "excludes repeat_every; give only one of them")
	}
	if hasEvery {
		if interval, ok := r.readSpan(every, time.Second, "repeat_every"); ok {
			r.draft.Frequency = schedule.Interval{Every: interval}
		}
	}
	zone, ok := r.readZone(hasCron)
	if !hasCron {
		return
	}
	if cron.Kind() != '"' {
		r.refuse("#/cron", "must be a string of five fields, as in 0 9 * * 1-5")
		return
	}
	parsed, err := schedule.ParseCron(rawjson.Text(cron), zone)
	if err != nil {
		r.refuse("#/cron", "%s", err)
	} else if ok {
		r.draft.Frequency = parsed
	}
}

func (r *reader) readZone(hasCron bool) (*time.Location, bool) {
	v, ok := r.fields["timezone"]
	if !ok {
		return time.UTC, true
	}
	if !hasCron {
		r.refuse("#/timezone", "works only with cron; give cron too, or leave it out")
	}
	zone, err := schedule.LoadZone(rawjson.Text(v))
	if err != nil || v.Kind() != '"' {
		r.refuse("#/timezone", "must be an IANA time zone, as in Europe/Berlin")
		return time.UTC, false
	}
	return zone, true
}

// Frequency returns how often a spec recurs, or nil for a one-off.
func (s *Spec) Frequency() (schedule.Frequency, error) {
	if s.Cron != "" {
		zone := time.UTC
		if s.Timezone != "" {
			var err error
			if zone, err = schedule.LoadZone(s.Timezone); err != nil {
				return nil, err
			}
		}
		return schedule.ParseCron(s.Cron, zone)
	}
	if s.RepeatEvery == nil {
		return nil, nil
	}
	every, err := spanOf(s.RepeatEvery)
	return schedule.Interval{Every: every}, err
}

// spanOf parses validated seconds or [amount, unit].
func spanOf(v rawjson.Value) (time.Duration, error) {
	amount, unit := v, int64(1)
	if pair := rawjson.Elements(v); len(pair) == 2 {
		amount = pair[0]
		unit, _ = schedule.UnitSeconds(rawjson.Text(pair[1]))
	}
	micros, err := schedule.ParseAmount(string(amount), unit)
	return time.Duration(micros) * time.Microsecond, err
}
