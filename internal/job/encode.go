package job

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"encoding/base64"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The three formats of times in records, all in UTC.
const (
	layoutMicros  = "2006-01-02T15:04:05.000000Z"
	layoutSeconds = "2006-01-02T15:04:05Z"
	layoutNoZone  = "2006-01-02T15:04:05"
)

// FormatTime formats t as records show times: in UTC, with six decimals and Z.
func FormatTime(t time.Time) string { return t.UTC().Format(layoutMicros) }

func appendTime(b []byte, t time.Time, layout string) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, layout)
	return append(b, '"')
}

func appendID(b []byte, id uuid.UUID) []byte {
	if id == uuid.Nil {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = append(b, id.String()...)
	return append(b, '"')
}

func appendOptional(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return rawjson.AppendText(b, *s)
}

// AppendJob appends the job's record. Conflict is true only in the response to a
// duplicate create.
func AppendJob(b []byte, j *Job, conflict bool) []byte {
	b = append(b, `{"id":`...)
	b = appendID(b, j.ID)
	b = append(b, `,"idempotency_key":`...)
	b = appendOptional(b, j.Key)
	b = append(b, `,"inserted_at":`...)
	b = appendTime(b, j.InsertedAt, layoutNoZone)
	b = append(b, `,"name":`...)
	b = appendOptional(b, j.Name)
	b = append(b, `,"description":`...)
	b = appendOptional(b, j.Description)
	b = append(b, `,"user_id":`...)
	b = appendID(b, j.Owner.ID)
	b = append(b, `,"schedule_id":`...)
	b = appendID(b, j.ScheduleID)
	b = append(b, `,"job_id":`...)
	b = strconv.AppendInt(b, j.Number, 10)
	b = append(b, `,"job":{"attempted_at":`...)
	b = appendTime(b, j.AttemptedAt, layoutMicros)
	b = append(b, `,"cancelled_at":`...)
	b = appendTime(b, j.CancelledAt, layoutMicros)
	b = append(b, `,"completed_at":`...)
	b = appendTime(b, j.CompletedAt, layoutMicros)
	b = append(b, `,"discarded_at":`...)
	b = appendTime(b, j.DiscardedAt, layoutMicros)
	b = append(b, `,"has_confict":`...)
	b = strconv.AppendBool(b, conflict)
	b = append(b, `,"id":`...)
	b = strconv.AppendInt(b, j.Number, 10)
	b = append(b, `,"inserted_at":`...)
	b = appendTime(b, j.InsertedAt, layoutMicros)
	b = append(b, `,"scheduled_at":`...)
	b = appendTime(b, j.ScheduledAt, layoutMicros)
	b = append(b, `,"state":"`...)
	b = append(b, j.State.String()...)
	b = append(b, `"},"args":`...)
	b = append(b, j.Args...)
	return append(b, '}')
}

// AppendSchedule appends the schedule's record.
func AppendSchedule(b []byte, s *Schedule) []byte {
	b = append(b, `{"id":`...)
	b = appendID(b, s.ID)
	b = append(b, `,"name":`...)
	b = appendOptional(b, s.Name)
	b = append(b, `,"description":`...)
	b = appendOptional(b, s.Description)
	b = append(b, `,"inserted_at":`...)
	b = appendTime(b, s.InsertedAt, layoutNoZone)
	b = append(b, `,"disabled_at":`...)
	b = appendTime(b, s.DisabledAt, layoutSeconds)
	b = append(b, `,"user_id":`...)
	b = appendID(b, s.Owner.ID)
	b = append(b, `,"frequency":`...)
	b = append(b, frequencyOf(s.Args)...)
	b = append(b, `,"args":`...)
	b = append(b, s.Args...)
	return append(b, '}')
}

// AppendScheduleState appends the $state and $previous that a schedule's runs
// share.
func AppendScheduleState(b []byte, s *Schedule) []byte {
	state, previous := s.State, s.Previous
	if state == nil {
		state = emptyObject
	}
	if previous == nil {
		previous = rawjson.Value(`null`)
	}
	b = append(b, `{"state":`...)
	b = append(b, state...)
	b = append(b, `,"previous":`...)
	b = append(b, previous...)
	return append(b, '}')
}

func frequencyOf(args rawjson.Value) rawjson.Value {
	spec := ReadSpec(args)
	switch {
	case spec.RepeatEvery.Kind() == '[':
		return rawjson.Object([]rawjson.Member{{Name: "repeat_every", Value: spec.RepeatEvery}})
	case spec.RepeatEvery != nil:
		pair := rawjson.Array([]rawjson.Value{spec.RepeatEvery, rawjson.Value(`"seconds"`)})
		return rawjson.Object([]rawjson.Member{{Name: "repeat_every", Value: pair}})
	case spec.Timezone == "" || isUTC(spec.Timezone):
		return rawjson.Object([]rawjson.Member{{Name: "cron", Value: rawjson.Quote(spec.Cron)}})
	default:
		return rawjson.Object([]rawjson.Member{{Name: "cron", Value: rawjson.Quote(spec.Cron)},
			{Name: "timezone", Value: rawjson.Quote(spec.Timezone)}})
	}
}

func isUTC(zone string) bool {
	return slices.Contains([]string{"UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"}, zone)
}

// AppendLog appends the log's record, without what only the dashboard shows. The result is
// valid JSON also if the stored payload is not.
func AppendLog(b []byte, l *Log) []byte {
	b = append(b, `{"event":`...)
	b = rawjson.AppendText(b, l.Event)
	b = append(b, `,"id":`...)
	b = appendID(b, l.ID)
	b = append(b, `,"inserted_at":`...)
	b = appendTime(b, l.InsertedAt, layoutMicros)
	b = append(b, `,"job_id":`...)
	b = strconv.AppendInt(b, l.Job, 10)
	b = append(b, `,"payload":`...)
	b = appendWithoutTimings(b, l.Event, readable(l.Payload))
	b = append(b, `,"user_id":`...)
	b = appendID(b, l.Owner.ID)
	return append(b, '}')
}

// AppendResponse appends the members (without braces) that describe a response:
// status, headers, body, duration_ms, truncated and, for a body that is not text,
// encoding. For a body that is withheld, body is null, with withheld beside it.
func AppendResponse(b []byte, r *Response, took time.Duration) []byte {
	b = append(b, `"status":`...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, `,"headers":`...)
	b = appendHeaders(b, r.shownHeader())
	b = append(b, `,"body":`...)
	b, binary := appendBody(b, r)
	if binary {
		b = append(b, `,"encoding":"base64"`...)
	}
	if r.Withheld && !r.Redacted {
		b = append(b, `,"withheld":true`...)
	}
	b = append(b, `,"duration_ms":`...)
	b = AppendMillis(b, took)
	b = append(b, `,"truncated":`...)
	return strconv.AppendBool(b, r.Truncated)
}

// shownHeader returns the header as it is shown.
func (r *Response) shownHeader() http.Header {
	if !r.Redacted {
		return r.Header
	}
	shown := make(http.Header, len(r.Header))
	for name := range r.Header {
		shown[name] = []string{RedactedText}
	}
	return shown
}

// AppendFailure appends the members (without braces) kind and message.
func AppendFailure(b []byte, f *Failure) []byte {
	b = append(b, `"kind":`...)
	b = rawjson.AppendText(b, string(f.Kind))
	b = append(b, `,"message":`...)
	return rawjson.AppendText(b, f.Message)
}

// AppendMillis appends a duration in milliseconds, exact to the microsecond.
func AppendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', -1, 64)
}

func appendHeaders(b []byte, h http.Header) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = rawjson.AppendText(b, name)
		b = append(b, ':')
		b = rawjson.AppendText(b, strings.Join(h[name], ", "))
	}
	return append(b, '}')
}

// maxEscaped is the largest size of a response's body as a JSON string, in bytes.
// A longer body is kept as base64, which never exceeds this size. Ordinary text
// stays below it: in a body of MaxResponseBody bytes, half of all characters
// would have to be escaped, or a tenth of them be control characters.
const maxEscaped = MaxResponseBody * 3 / 2

// appendBody appends a response's body: the JSON value if the response declares
// JSON and it parses, else a string, else base64. It also uses base64 for a string
// that escaping would make too long.
func appendBody(b []byte, r *Response) (_ []byte, binary bool) {
	if r.Redacted {
		return append(b, redacted...), false
	}
	if r.Withheld {
		return append(b, null...), false
	}
	if v := JSONBody(r); v != nil && !r.Verbatim {
		return append(grow(b, len(v)), v...), false
	}
	if text := wholeRunes(r); utf8.Valid(text) {
		if size := escapedLen(text); size <= maxEscaped {
			return rawjson.AppendText(grow(b, size+len(`""`)), string(text)), false
		}
	}
	b = append(grow(b, base64.StdEncoding.EncodedLen(len(r.Body))+len(`""`)), '"')
	b = base64.StdEncoding.AppendEncode(b, r.Body)
	return append(b, '"'), true
}

// grow makes room for n more bytes and what commonly follows them, so that a large
// body is not copied again for the few bytes after it.
func grow(b []byte, n int) []byte {
	const behind = 256
	if cap(b)-len(b) >= n+behind {
		return b
	}
	return append(make([]byte, 0, len(b)+n+behind), b...)
}

// escapedLen returns the size of a text as a JSON string, without quotes.
func escapedLen(text []byte) int {
	size := len(text)
	for _, c := range text {
		switch {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			size++
		case c < ' ':
			size += len(`\u0001`) - 1
		}
	}
	return size
}

// wholeRunes returns the body without a last code point that truncation cut.
func wholeRunes(r *Response) []byte {
	if !r.Truncated {
		return r.Body
	}
	for cut := 0; cut < utf8.UTFMax && cut < len(r.Body); cut++ {
		tail := r.Body[len(r.Body)-cut-1:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return r.Body[:len(r.Body)-cut-1]
			}
			break
		}
	}
	return r.Body
}

// JSONBody returns the body of a response that declares JSON and is valid JSON,
// otherwise nil. It parses the body on the first call and is not safe for
// concurrent use.
func JSONBody(r *Response) rawjson.Value {
	if r == nil {
		return nil
	}
	if r.jsonRead {
		return r.json
	}
	r.jsonRead = true
	if r.Truncated || !IsJSON(r.Header.Get("Content-Type")) {
		return nil
	}
	if v, err := rawjson.Read(r.Body); err == nil {
		r.json = v
	}
	return r.json
}

// IsJSON reports whether a media type is application/json or ends in +json.
func IsJSON(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if mediaType == "application/json" {
		return true
	}
	kind, subtype, ok := strings.Cut(mediaType, "/")
	return ok && kind != "" && strings.HasSuffix(subtype, "+json")
}

// AppendHeaderLists appends a header as an object in which each name has a list.
func AppendHeaderLists(b []byte, h http.Header) []byte {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendText(b, http.CanonicalHeaderKey(name)), ':', '[')
		for k, value := range h[name] {
			if k > 0 {
				b = append(b, ',')
			}
			b = rawjson.AppendText(b, value)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// HeaderLists returns the headers of a spec as an object in which each name, in its
// canonical form, has a list.
func HeaderLists(headers rawjson.Value) rawjson.Value {
	return AppendHeaderLists(nil, HeaderOf(headers))
}

// HeaderOf returns the headers of a spec, with their names in the canonical form.
func HeaderOf(headers rawjson.Value) http.Header {
	h := http.Header{}
	if headers.Kind() != '{' {
		return h
	}
	for _, m := range rawjson.Members(headers) {
		if m.Value.Kind() != '[' {
			h.Add(m.Name, scalarText(m.Value))
			continue
		}
		for _, element := range rawjson.Elements(m.Value) {
			h.Add(m.Name, scalarText(element))
		}
	}
	return h
}
