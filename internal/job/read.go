package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Draft is a valid create request.
type Draft struct {
	Key, Name, Description *string
	KeyInHeader            bool   // the key was sent in the header Idempotency-Key
	RequestID              string // "" if the request has none
	Args                   rawjson.Value
	Hidden                 Hidden // of Args
	Spec                   Spec   // Args, parsed, with what is hidden
	// Awaited are the jobs that the job waits for, each once.
	Awaited     []AwaitedJob
	ScheduledAt time.Time // the first due time requested
	DueAt       time.Time // when it fires; not before now
	Frequency   schedule.Frequency
	// Grid is the due times of the schedule that the request creates, and
	// ScheduleID its id, on which they depend; nil and uuid.Nil for a one-off job.
	Grid       *schedule.Grid
	ScheduleID uuid.UUID
	// Existing is the schedule that the draft must replace, at this revision; nil if
	// it may replace any or create one.
	Existing *Existing
}

// ReadOptions are options for Read.
type ReadOptions struct {
	Now time.Time
	// Schedule is the schedule that the request changes; uuid.Nil for a new one.
	Schedule uuid.UUID
	// Replaces returns the schedule that a complete request replaces, or nil. It is
	// called if there would be no due time for a new schedule. It may be nil.
	Replaces func() *Schedule
	// Account is for which Sealer hides what redact names. A nil Sealer is Plain.
	Account uuid.UUID
	Sealer  Sealer
	// HeaderKey is the value of the header Idempotency-Key; nil if there is none.
	HeaderKey *string
	// CheckHost returns why a host, with or without a port, may not be a target,
	// or "" if it may. Nil permits every host.
	CheckHost func(host string) string
	// HasLimit reports whether a limit is defined. Nil accepts every key.
	HasLimit func(key string) bool
	// Targets returns the targets of a group, and whether it is defined. Nil accepts every
	// name.
	Targets func(group string) (targets []Target, defined bool)
	// NoGroup says why the request can't name a group; "" if it can.
	NoGroup string
	// FindJobs returns the jobs with some names, nil for those that don't exist. A nil
	// FindJobs accepts every name.
	FindJobs func([]JobName) []*AwaitedJob
	// NoAfter says why the request can't name jobs to wait for; "" if it can.
	NoAfter string
	// Then reads the then of a batch: a one-off job that waits for the batch's others.
	Then bool
	// AllowHTTP permits URLs of http.
	AllowHTTP bool
	// NoCompletion refuses the field completion: the service has no public URL.
	NoCompletion bool
	// NoIssuer refuses tokens: the service has no public URL, or no key to encrypt keys
	// with.
	NoIssuer bool
	// CheckSecret returns why the secret with a name may not be used as a kind of secret
	// for a URL, or "" if it may. The URL is "" if it is invalid. Nil permits every
	// secret.
	CheckSecret func(name, target string, kind SecretKind) string
}

// reader reads a request's fields and collects all its problems.
type reader struct {
	opts     ReadOptions
	fields   map[string]rawjson.Value // given and not null
	timing   timing
	run      bool // the request changes one run of a schedule: its time is exact, not on a grid
	problems fault.Problems
	draft    Draft
	before   Hidden // of the record that is changed or replaced, and that opened
	opened   parts
}

// Read reads a create request. Its error is a fault that lists every problem.
func Read(body rawjson.Value, opts ReadOptions) (*Draft, error) {
	draft, err := ReadPartly(body, opts)
	if err != nil {
		return nil, err
	}
	return draft, nil
}

// ReadPartly is like Read, but if the times of a request that is refused are right,
// it returns a draft with ScheduledAt, DueAt and Frequency beside the error.
func ReadPartly(body rawjson.Value, opts ReadOptions) (*Draft, error) {
	r, err := newReader(body, "must be a JSON object with the fields of a job", opts)
	if err != nil {
		return nil, err
	}
	members := rawjson.Members(body)
	r.take(members, createFields)
	return r.finish(members)
}

// finish checks the fields and returns the draft of a request with these members.
// If only the times of a request that it refuses are right, it returns both a
// draft, without args, and the error.
func (r *reader) finish(members []rawjson.Member) (*Draft, error) {
	r.requireURL()
	r.readFields()
	r.readHeaderKey()
	r.setDue()
	r.checkTogether()
	r.checkRecurrence()
	r.checkThen()
	r.checkSize()
	if err := r.problems.Err(); err != nil {
		if r.timing.wrong {
			return nil, err
		}
		return &r.draft, err
	}
	if err := r.setArgs(members); err != nil {
		return nil, err
	}
	return &r.draft, nil
}

// newReader returns a reader of an object. If the body is not an object, the
// error says what it must be.
func newReader(body rawjson.Value, must string, opts ReadOptions) (*reader, error) {
	opts.Now = opts.Now.UTC().Truncate(time.Microsecond)
	r := &reader{opts: opts, fields: make(map[string]rawjson.Value, 12), timing: timing{start: opts.Now, zone: time.UTC}}
	if body.Kind() != '{' {
		r.refuse("#", "%s", must)
	}
	return r, r.problems.Err()
}

// readFields checks the values of all fields that are given.
func (r *reader) readFields() {
	for _, f := range table {
		if v, ok := r.fields[f.Name]; ok && f.read != nil {
			r.noting(f, func() { f.read(r, f, v) })
		}
	}
}

// has reports whether a field is given, in the body or in a header.
func (r *reader) has(name string) bool {
	_, ok := r.fields[name]
	return ok || name == keyField && r.opts.HeaderKey != nil
}

// checkTogether verifies the rules that involve several fields.
func (r *reader) checkTogether() {
	for _, f := range table {
		if v, ok := r.fields[f.Name]; ok {
			r.noting(f, func() { r.checkBeside(f, v) })
		}
	}
}

// noting calls check, and notes whether it found the times wrong.
func (r *reader) noting(f *Field, check func()) {
	before := r.problems.Len()
	check()
	if (IsTiming(f.Name) || f.Form.Section == ScheduleSection) && r.problems.Len() > before {
		r.timing.wrong = true
	}
}

// checkBeside verifies the rules of a field that involve others.
func (r *reader) checkBeside(f *Field, v rawjson.Value) {
	if f.Excludes != "" && r.has(f.Excludes) {
		r.refuse(Pointer(f.Name), "excludes %s; give only one of them", f.Excludes)
	}
	if f.Needs != "" && !r.has(f.Needs) {
		r.refuse(Pointer(f.Name), "works only with %s; give %s too, or leave it out", f.Needs, f.Needs)
	}
	if f.check != nil {
		f.check(r, f, v)
	}
}

// checkRecurrence refuses options of schedules on a one-off job, and the reverse.
func (r *reader) checkRecurrence() {
	recurring := r.has("repeat_every") || r.has("cron")
	for _, f := range table {
		if !r.has(f.Name) || f.Needs != "" && !r.has(f.Needs) {
			continue // what it needs is missing, which is a problem already
		}
		if !recurring && f.In&ForJob == 0 {
			r.refuse(Pointer(f.Name), "works only on a schedule; give repeat_every or cron too, or leave it out")
		} else if recurring && f.In&ForSchedule == 0 {
			r.refuse(Pointer(f.Name), "works only on a one-off job; leave it out, or leave out repeat_every and cron")
		}
	}
}

// checkThen verifies what the then of a batch may have.
func (r *reader) checkThen() {
	if !r.opts.Then {
		return
	}
	r.checkWaiting()
	for _, name := range []string{"repeat_every", "cron"} {
		if r.has(name) {
			r.refuse(Pointer(name), "can't be given in then, which is a one-off job; leave it out")
		}
	}
	if len(r.fields["body"]) > MaxRequestBody-MaxBatchSummary {
		r.refuse("#/body", "is too large: %s is added to it, which needs up to %d bytes", batchMember, MaxBatchSummary)
	}
}

func (r *reader) refuse(pointer, format string, args ...any) {
	if r.problems.Full() {
		r.problems.Add(fault.Problem{}) // only counted
		return
	}
	r.problems.Add(fault.Problem{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
}

var methods = []string{"get", "post", "put", "patch", "delete"}

func (r *reader) requireURL() {
	if !r.has("url") && !r.has(groupField) {
		r.refuse("#/url", "is required")
	}
}

func readMethod(r *reader, f *Field, v rawjson.Value) {
	if !slices.Contains(methods, strings.ToLower(rawjson.Text(v))) {
		r.refuse(Pointer(f.Name), "must be one of %s", strings.Join(methods, ", "))
	}
}

func readKey(r *reader, f *Field, v rawjson.Value) {
	text(1, 255, func(d *Draft, key string) { d.Key = &key })(r, f, v)
}

// readHeaderKey reads the idempotency key of the header.
func (r *reader) readHeaderKey() {
	const name = keyField
	if r.opts.HeaderKey == nil {
		return
	}
	r.draft.KeyInHeader = true
	if _, given := r.fields[name]; !given {
		if r.checkText(name, *r.opts.HeaderKey, 1, 255) {
			r.draft.Key = r.opts.HeaderKey
		}
	} else if r.draft.Key != nil && *r.draft.Key != *r.opts.HeaderKey {
		r.refuse(Pointer(name), "differs from the header Idempotency-Key; give one of them, or the same in both")
	}
}

// text returns a reader of a string of least to most characters, which keep puts
// into the draft if that is not where the field's set puts it. keep may be nil.
func text(least, most int, keep func(d *Draft, text string)) func(r *reader, f *Field, v rawjson.Value) {
	return func(r *reader, f *Field, v rawjson.Value) {
		if v.Kind() != '"' {
			r.refuse(Pointer(f.Name), "must be a string")
		} else if text := rawjson.Text(v); r.checkText(f.Name, text, least, most) && keep != nil {
			keep(&r.draft, text)
		}
	}
}

func (r *reader) checkText(name, text string, least, most int) bool {
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
		return true
	}
	return false
}

func readRetries(r *reader, f *Field, v rawjson.Value) {
	n, err := strconv.Atoi(string(v))
	if err != nil || n < 0 || n > MaxRetries || v.Kind() != '0' {
		r.refuse(Pointer(f.Name), "must be a whole number from 0 to %d", MaxRetries)
	}
}

func readTimeout(r *reader, f *Field, v rawjson.Value) {
	seconds, err := strconv.ParseFloat(string(v), 64)
	most := MaxTimeout
	if d := r.fields[dialectField]; d.Kind() == '{' && dialectOf(d).IsGoogle() {
		most = MaxGoogleTimeout
	}
	if v.Kind() != '0' || err != nil || seconds < MinTimeout.Seconds() || seconds > most.Seconds() {
		r.refuse(Pointer(f.Name), "must be a number of seconds from %.0f to %.0f", MinTimeout.Seconds(), most.Seconds())
	}
}

func readBoolean(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != 't' && v.Kind() != 'f' {
		r.refuse(Pointer(f.Name), "must be true or false")
	}
}

// args returns what is kept of the request: the members as sent, except those
// that are columns of the record, followed by the defaults.
func (r *reader) args(members []rawjson.Member) rawjson.Value {
	kept := make([]rawjson.Member, 0, len(members)+2)
	for _, m := range members {
		switch {
		case rawjson.IsNull(m.Value), byName[m.Name].Column:
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
