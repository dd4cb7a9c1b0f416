package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Draft is a valid create request.
type Draft struct {
	Key, Name, Description *string
	URL                    string
	Args                   rawjson.Value
	ScheduledAt            time.Time // the first due time requested
	DueAt                  time.Time // when it fires; not before now
	Frequency              schedule.Frequency
}

// ReadOptions are options for Read.
type ReadOptions struct {
	Now time.Time
	// HeaderKey is the value of the header Idempotency-Key; nil if there is none.
	HeaderKey *string
	// CheckHost returns why a host, with or without a port, may not be a target,
	// or "" if it may. Nil permits every host.
	CheckHost func(host string) string
	// CheckSecret returns why the secret with a name may not be sent to a host, or
	// "" if it may. The host is "" if the URL is invalid. Nil permits every secret.
	CheckSecret func(name, host string) string
}

// reader reads a request's fields and collects all its problems.
type reader struct {
	opts     ReadOptions
	fields   map[string]rawjson.Value // present and not null
	problems fault.Problems
	draft    Draft
}

// Read reads a create request. Its error is a fault that lists every problem.
func Read(body rawjson.Value, opts ReadOptions) (*Draft, error) {
	r, err := newReader(body, "must be a JSON object with the fields of a job", opts)
	if err != nil {
		return nil, err
	}
	members := rawjson.Members(body)
	r.take(members, knownFields)
	r.readRequest()
	r.readRecord()
	r.readOptions()
	r.readTiming()
	r.checkSize()
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	r.draft.Args = r.args(members)
	return &r.draft, nil
}

// newReader returns a reader of an object. If the body is not an object, the
// error says what it must be.
func newReader(body rawjson.Value, must string, opts ReadOptions) (*reader, error) {
	opts.Now = opts.Now.UTC().Truncate(time.Microsecond)
	r := &reader{opts: opts, fields: make(map[string]rawjson.Value, 12)}
	if body.Kind() != '{' {
		r.refuse("#", "%s", must)
	}
	return r, r.problems.Err()
}

func (r *reader) refuse(pointer, format string, args ...any) {
	if r.problems.Full() {
		r.problems.Add(fault.Problem{}) // only counted
		return
	}
	r.problems.Add(fault.Problem{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

var methods = []string{"get", "post", "put", "patch", "delete"}

func (r *reader) readRequest() {
	if v, ok := r.fields["method"]; ok && !knownMethod(v) {
		r.refuse("#/method", "must be one of %s", strings.Join(methods, ", "))
	}
	if v, ok := r.fields["url"]; ok {
		r.checkURL("url", v)
		r.draft.URL = rawjson.Text(v)
	} else {
		r.refuse("#/url", "is required")
	}
	for _, name := range []string{"callback_url", "webhook_url"} {
		if v, ok := r.fields[name]; ok {
			r.checkURL(name, v)
		}
	}
	if v, ok := r.fields["headers"]; ok {
		r.checkHeaders(v)
		r.checkSecrets(v)
	}
	if v, ok := r.fields["query"]; ok {
		r.checkQuery(v)
	}
}

func knownMethod(v rawjson.Value) bool {
	text := strings.ToLower(rawjson.Text(v))
	for _, m := range methods {
		if m == text {
			return true
		}
	}
	return false
}

func (r *reader) readRecord() {
	r.draft.Name, r.draft.Description = r.readTitles()
	r.draft.Key = r.text("idempotency_key", 1, 255)
	if r.opts.HeaderKey == nil {
		return
	}
	if _, given := r.fields["idempotency_key"]; !given {
		r.draft.Key = r.checkText("idempotency_key", *r.opts.HeaderKey, 1, 255)
	} else if r.draft.Key != nil && *r.draft.Key != *r.opts.HeaderKey {
		r.refuse("#/idempotency_key", "differs from the header Idempotency-Key; give one of them, or the same in both")
	}
}

func (r *reader) readTitles() (name, description *string) {
	return r.text("name", 0, 255), r.text("description", 0, 2000)
}

// text reads an optional string of least to most characters.
func (r *reader) text(name string, least, most int) *string {
	v, ok := r.fields[name]
	if !ok {
		return nil
	}
	if v.Kind() != '"' {
		r.refuse(Pointer(name), "must be a string")
		return nil
	}
	return r.checkText(name, rawjson.Text(v), least, most)
}

func (r *reader) checkText(name, text string, least, most int) *string {
	length := utf8.RuneCountInString(text)
	switch {
	case !utf8.ValidString(text):
		r.refuse(Pointer(name), "must be valid UTF-8")
	case length < least:
		r.refuse(Pointer(name), "must have at least %d character", least)
	case length > most:
		r.refuse(Pointer(name), "must have at most %d characters, it has %d", most, length)
	case strings.ContainsRune(text, 0):
		r.refuse(Pointer(name), "must not contain the character U+0000")
	default:
		return &text
	}
	return nil
}

func (r *reader) readOptions() {
	if v, ok := r.fields["retries"]; ok {
		n, err := strconv.Atoi(string(v))
		if err != nil || n < 0 || n > MaxRetries || v.Kind() != '0' {
			r.refuse("#/retries", "must be a whole number from 0 to %d", MaxRetries)
		}
	}
	if v, ok := r.fields["timeout"]; ok {
		seconds, err := strconv.ParseFloat(string(v), 64)
		if v.Kind() != '0' || err != nil || seconds < MinTimeout.Seconds() || seconds > MaxTimeout.Seconds() {
			r.refuse("#/timeout", "must be a number of seconds from %.0f to %.0f", MinTimeout.Seconds(), MaxTimeout.Seconds())
		}
	}
	if v, ok := r.fields["metadata"]; ok && v.Kind() != 't' && v.Kind() != 'f' {
		r.refuse("#/metadata", "must be true or false")
	}
}

// args returns what is kept of the request: the members as sent, except those
// that are columns of the record, followed by the defaults.
func (r *reader) args(members []rawjson.Member) rawjson.Value {
	kept := make([]rawjson.Member, 0, len(members)+2)
	for _, m := range members {
		switch {
		case rawjson.IsNull(m.Value), m.Name == "idempotency_key", m.Name == "name", m.Name == "description":
		case m.Name == "method":
			kept = append(kept, rawjson.Member{Name: m.Name, Value: rawjson.Quote(strings.ToLower(rawjson.Text(m.Value)))})
		default:
			kept = append(kept, m)
		}
	}
	if _, given := r.fields["method"]; !given {
		kept = append(kept, rawjson.Member{Name: "method", Value: rawjson.Value(`"get"`)})
	}
	if _, given := r.fields["headers"]; !given {
		kept = append(kept, rawjson.Member{Name: "headers", Value: emptyObject})
	}
	return rawjson.Object(kept)
}
