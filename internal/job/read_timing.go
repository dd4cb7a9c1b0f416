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

// timing is what a reader has read of when a job runs.
type timing struct {
	start time.Time // now, unless the request has a time
	given bool      // the request has a time
	zone  *time.Location
	wrong bool // a field that says when has a problem

	until  time.Time // when the schedule ends; zero for no end
	jitter time.Duration
	offset time.Duration
	except schedule.Dates
}

// setDue sets the due times of the draft from the timing that was read.
func (r *reader) setDue() {
	r.draft.ScheduledAt = r.timing.start
	switch {
	case r.run:
		r.checkRunEnd()
	case r.draft.Frequency != nil:
		r.setGrid()
	}
	r.draft.DueAt = schedule.Later(r.draft.ScheduledAt, r.opts.Now)
	if len(r.draft.Awaited) > 0 {
		r.draft.DueAt = WaitingDue
	}
}

// checkRunEnd refuses a time of a schedule's run that is after the schedule's end.
func (r *reader) checkRunEnd() {
	if r.timing.until.IsZero() || !r.timing.start.After(r.timing.until) {
		return
	}
	for _, name := range firstTimes {
		if r.has(name) {
			r.refuse(Pointer(name), "must not be after %s, the ends_at of its schedule", FormatTime(r.timing.until))
		}
	}
}

func readScheduleIn(r *reader, f *Field, v rawjson.Value) {
	r.timing.given = true
	if delay, ok := r.duration(f, v, 0, MaxAhead); ok {
		r.timing.start = r.opts.Now.Add(delay)
	}
}

func readScheduledAt(r *reader, f *Field, v rawjson.Value) {
	r.timing.given = true
	if at, ok := r.instant(f, v); ok {
		r.timing.start = at
	}
}

// instant reads a time, which is at most MaxAhead from now.
func (r *reader) instant(f *Field, v rawjson.Value) (time.Time, bool) {
	t, ok := r.anyInstant(f, v)
	if ok && t.After(r.opts.Now.Add(MaxAhead)) {
		r.refuse(Pointer(f.Name), "must be at most %s ahead", durationText(MaxAhead))
		return t, false
	}
	return t, ok
}

// anyInstant reads a time, however far ahead.
func (r *reader) anyInstant(f *Field, v rawjson.Value) (time.Time, bool) {
	var t time.Time
	var err error
	switch v.Kind() {
	case '"':
		t, err = schedule.ParseInstant(rawjson.Text(v))
	case '0':
		t, err = schedule.ParseUnix(string(v))
	default:
		r.refuse(Pointer(f.Name), "must be a datetime string or a unix timestamp")
		return t, false
	}
	switch {
	case err != nil:
		r.refuse(Pointer(f.Name), "%s", err)
	case !t.After(time.Time{}):
		r.refuse(Pointer(f.Name), "must be after the beginning of the year 1")
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

func readRepeatEvery(r *reader, f *Field, v rawjson.Value) {
	if interval, ok := r.duration(f, v, time.Second, MaxAhead); ok {
		r.draft.Frequency = schedule.Interval{Every: interval}
	}
}

func readTimezone(r *reader, f *Field, v rawjson.Value) {
	zone, err := schedule.LoadZone(rawjson.Text(v))
	if err != nil || v.Kind() != '"' {
		if name := schedule.SuggestZone(rawjson.Text(v)); name != "" {
			r.refuse(Pointer(f.Name), "must be an IANA time zone; did you mean %s?", name)
		} else {
			r.refuse(Pointer(f.Name), "must be an IANA time zone, as in Europe/Berlin")
		}
		return
	}
	r.timing.zone = zone
}

// readCron reads an expression in the zone that was read before it.
func readCron(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '"' {
		r.refuse(Pointer(f.Name), "must be a string of five fields, as in 0 9 * * 1-5")
		return
	}
	cron, err := schedule.ParseCron(rawjson.Text(v), r.timing.zone)
	if err != nil {
		r.refuse(Pointer(f.Name), "%s", err)
		return
	}
	r.draft.Frequency = cron
}
