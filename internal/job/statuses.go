package job

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/retry"
)

// Limits of the options that say what a response means.
const (
	// MaxStatuses is how many elements success and no_retry have at most.
	MaxStatuses = 100
	// MaxBackoff is how many waits backoff has at most.
	MaxBackoff = 20
	// MinWait and MaxWait bound each of these waits.
	MinWait = time.Second
	MaxWait = 24 * time.Hour
)

// Statuses is a set of HTTP statuses.
type Statuses []statusRange

// statusRange is a range of statuses, both ends included.
type statusRange struct{ first, last int }

// DefaultSuccess is the statuses of success unless a job says otherwise: 2xx.
var DefaultSuccess = Statuses{{200, 299}}

// Contains reports whether a status is in the set.
func (s Statuses) Contains(status int) bool {
	return slices.ContainsFunc(s, func(r statusRange) bool { return status >= r.first && status <= r.last })
}

// Failures is a set of failures: statuses of responses that are no success, and
// kinds of failures.
type Failures struct {
	Statuses Statuses
	Kinds    []Kind
}

// Contains reports whether the outcome of a failed attempt is in the set. A
// response has its status and, if nothing else failed, the kind [KindStatus].
func (f *Failures) Contains(o *Outcome) bool {
	switch {
	case o.Failure != nil:
		return slices.Contains(f.Kinds, o.Failure.Kind) || o.Response != nil && f.Statuses.Contains(o.Response.Status)
	case o.Response != nil:
		return f.Statuses.Contains(o.Response.Status) || slices.Contains(f.Kinds, KindStatus)
	default:
		return false
	}
}

// statusOf parses a status (404) or a class of them ("4xx").
func statusOf(v rawjson.Value) (statusRange, bool) {
	text := string(v)
	if v.Kind() == '"' {
		text = rawjson.Text(v)
	}
	if len(text) != 3 || text[0] < '1' || text[0] > '5' {
		return statusRange{}, false
	}
	hundreds := 100 * int(text[0]-'0')
	if v.Kind() == '"' {
		return statusRange{hundreds, hundreds + 99}, text[1:] == "xx"
	}
	tens, ones := text[1]-'0', text[2]-'0'
	status := hundreds + 10*int(tens) + int(ones)
	return statusRange{status, status}, tens <= 9 && ones <= 9
}

// statusesOf reads a validated list.
func statusesOf(v rawjson.Value) Statuses {
	s := Statuses{}
	for _, element := range rawjson.Elements(v) {
		if r, ok := statusOf(element); ok {
			s = append(s, r)
		}
	}
	return s
}

// failuresOf reads a validated list.
func failuresOf(v rawjson.Value) Failures {
	f := Failures{Statuses: statusesOf(v)}
	for _, element := range rawjson.Elements(v) {
		if kind := Kind(rawjson.Text(element)); slices.Contains(attemptKinds, kind) {
			f.Kinds = append(f.Kinds, kind)
		}
	}
	return f
}

// waitsOf reads a validated list.
func waitsOf(v rawjson.Value) []time.Duration {
	elements := rawjson.Elements(v)
	waits := make([]time.Duration, 0, len(elements))
	for _, element := range elements {
		waits = append(waits, DurationOf(element))
	}
	return waits
}

const oneStatus = "must be a status from 100 to 599, or a class as in \"4xx\""

func readSuccess(r *reader, f *Field, v rawjson.Value) {
	for i, element := range r.list(f, v, 1, MaxStatuses, "statuses and classes, as in [200, \"3xx\", 404]") {
		if _, ok := statusOf(element); !ok {
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "%s", oneStatus)
		}
	}
}

func readNoRetry(r *reader, f *Field, v rawjson.Value) {
	for i, element := range r.list(f, v, 0, MaxStatuses, "statuses, classes and error kinds, as in [\"4xx\", 501, \"tls\"]") {
		_, status := statusOf(element)
		if !status && (element.Kind() != '"' || !slices.Contains(attemptKinds, Kind(rawjson.Text(element)))) {
			r.refuse(Pointer(f.Name, strconv.Itoa(i)), "%s, or an error kind: %s", oneStatus, kindNames)
		}
	}
}

func readBackoff(r *reader, f *Field, v rawjson.Value) {
	for i, element := range r.list(f, v, 1, MaxBackoff, "waits, as in [10, [1, \"minute\"], 300]") {
		pointer := Pointer(f.Name, strconv.Itoa(i))
		wait, ok := ReadDuration(element, pointer, 0, MaxAhead, func(pointer, detail string) { r.refuse(pointer, "%s", detail) })
		if ok && (wait < MinWait || wait > MaxWait) {
			r.refuse(pointer, "must be from %s to %s", durationText(MinWait), durationText(MaxWait))
		}
	}
}

func readRetryDelay(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '"' {
		r.refuse(Pointer(f.Name), "must be a string")
		return
	}
	if _, err := retry.ParseExpression(rawjson.Text(v)); err != nil {
		r.refuse(Pointer(f.Name), "%s", err)
	}
}

// list reads a list of least to most elements, which is to contain what. It
// returns nil if the value is not one.
func (r *reader) list(f *Field, v rawjson.Value, least, most int, what string) []rawjson.Value {
	if v.Kind() != '[' {
		r.refuse(Pointer(f.Name), "must be a list of %s", what)
		return nil
	}
	elements := rawjson.Elements(v)
	if n := len(elements); n < least || n > most {
		r.refuse(Pointer(f.Name), "must have %d to %d elements, it has %d", least, most, n)
		return nil
	}
	return elements
}

// kindNames lists what no_retry accepts beside statuses.
var kindNames = func() string {
	names := make([]string, len(attemptKinds))
	for i, kind := range attemptKinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}()
