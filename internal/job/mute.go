package job

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// MaxMuteNote is the maximum length of the note of a mute, in characters.
	MaxMuteNote = 500
	// MaxMute is how far ahead a mute may end.
	MaxMute = 366 * 24 * time.Hour
	// MaxMutes is the maximum number of schedules of an account that are muted at once.
	MaxMutes = 1000
	// UntilRecovered is the until of a mute that the next success ends.
	UntilRecovered = "recovered"
)

// Mute keeps the failures of a schedule from being sent by alerts. The schedule goes on
// running.
type Mute struct {
	Account  int64
	Schedule uuid.UUID
	// Until is when the mute ends; zero if no time ends it.
	Until time.Time
	// FailingSince is when the failures began that were acknowledged: the mute ends when
	// the schedule succeeds. Zero for a mute that no success ends.
	FailingSince time.Time
	Note         *string // nil for none
	MutedAt      time.Time
}

// Acknowledged reports whether the next success of the schedule ends the mute.
func (m *Mute) Acknowledged() bool { return !m.FailingSince.IsZero() }

// NewMute is what a request says about a mute.
type NewMute struct {
	Until     time.Time // zero for no time
	Recovered bool      // the next success ends it
	Note      *string
}

var muteFields = []string{"until", "note"}

// ReadMute reads the body of a request to mute a schedule at a time. The error is a fault
// that lists every problem.
func ReadMute(body rawjson.Value, now time.Time) (*NewMute, error) {
	r, err := newReader(body, `must be a JSON object with until and note, as in {"until": "recovered"}`, ReadOptions{Now: now})
	if err != nil {
		return nil, err
	}
	m := &NewMute{}
	for _, member := range rawjson.Members(body) {
		switch {
		case member.Name == "until":
			r.readMuteUntil(m, member.Value)
		case member.Name != "note":
			r.refuseUnknown(member.Name, muteFields)
		case rawjson.IsNull(member.Value):
		case member.Value.Kind() != '"':
			r.refuse("#/note", "must be a string or null")
		default:
			if note := rawjson.Text(member.Value); r.checkText("note", note, 0, MaxMuteNote) && note != "" {
				m.Note = &note
			}
		}
	}
	return m, r.problems.Err()
}

func (r *reader) readMuteUntil(m *NewMute, v rawjson.Value) {
	const rule = `must be a time with its offset, as in 2026-12-01T09:00:00Z, "recovered", or null`
	text := rawjson.Text(v)
	switch {
	case rawjson.IsNull(v):
		return
	case v.Kind() != '"':
		r.refuse("#/until", rule)
		return
	case text == UntilRecovered:
		m.Recovered = true
		return
	}
	at, err := ReadInstant(text)
	switch {
	case err != nil:
		r.refuse("#/until", rule)
	case !at.After(r.opts.Now):
		r.refuse("#/until", "must be in the future")
	case at.After(r.opts.Now.Add(MaxMute)):
		r.refuse("#/until", "must be at most a year ahead; null mutes until you unmute")
	default:
		m.Until = at.UTC().Truncate(time.Microsecond)
	}
}

// AppendMute appends the record of a mute, null for nil.
func AppendMute(b []byte, m *Mute) []byte {
	if m == nil {
		return append(b, `null`...)
	}
	b = append(b, `{"until":`...)
	if m.Acknowledged() {
		b = append(b, `"`+UntilRecovered+`"`...)
	} else {
		b = appendTime(b, m.Until, layoutMicros)
	}
	b = append(b, `,"note":`...)
	if m.Note == nil {
		b = append(b, `null`...)
	} else {
		b = rawjson.AppendText(b, *m.Note)
	}
	return append(appendTime(append(b, `,"muted_at":`...), m.MutedAt, layoutMicros), '}')
}
