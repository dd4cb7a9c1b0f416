package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

const conflictField = "on_conflict"

// The values of on_conflict: what a create does if another job holds its
// idempotency key.
const (
	OnConflictReturn   = "return"   // return that job; the default
	OnConflictRefuse   = "refuse"   // fail, and name that job
	OnConflictReplace  = "replace"  // give that job the new request and time
	OnConflictDebounce = "debounce" // replace, but don't put the job off beyond max_wait
)

var conflictChoices = []string{OnConflictReturn, OnConflictRefuse, OnConflictReplace, OnConflictDebounce}

// Replaces reports whether a create changes the job that holds its key.
func (s *Spec) Replaces() bool {
	return s.OnConflict == OnConflictReplace || s.OnConflict == OnConflictDebounce
}

func readOnConflict(r *reader, f *Field, v rawjson.Value) {
	if !slices.Contains(conflictChoices, rawjson.Text(v)) {
		r.refuse(Pointer(f.Name), "must be one of %s", strings.Join(conflictChoices, ", "))
	}
}

// checkOnConflict verifies what replace and debounce need.
func checkOnConflict(r *reader, f *Field, v rawjson.Value) {
	action := rawjson.Text(v)
	if action != OnConflictReplace && action != OnConflictDebounce {
		return
	}
	if r.has("repeat_every") || r.has("cron") {
		r.refuse(Pointer(f.Name), "can only be return or refuse on a recurring job; PUT /api/schedules/key:KEY replaces a schedule")
		return
	}
	if action != OnConflictDebounce {
		return
	}
	if !r.has("schedule_in") {
		r.refuse("#/schedule_in", "is required by debounce: it says how long to wait after each call")
	}
	if !r.has("max_wait") {
		r.refuse("#/max_wait", "is required by debounce: it says how far the job may be put off, from the first call")
	}
}

func readWait(r *reader, f *Field, v rawjson.Value) { r.duration(f, v, 0, MaxAhead) }

func checkMaxWait(r *reader, f *Field, _ rawjson.Value) {
	if rawjson.Text(r.fields[conflictField]) != OnConflictDebounce {
		r.refuse(Pointer(f.Name), "works only with on_conflict debounce; set that too, or leave it out")
	}
}

func checkThrottle(r *reader, f *Field, _ rawjson.Value) {
	switch rawjson.Text(r.fields[conflictField]) {
	case OnConflictReplace, OnConflictDebounce:
		r.refuse(Pointer(f.Name), "works only with on_conflict return or refuse; choose one of them, or leave it out")
	}
}
