package job

import (
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// CallbackOn is which ends of a job its callback reports.
type CallbackOn string

// The values of callback_on.
const (
	CallbackOnFinal   CallbackOn = "final"   // completed or discarded; the default
	CallbackOnFailure CallbackOn = "failure" // discarded
	CallbackOnSuccess CallbackOn = "success" // completed
)

var callbackOns = []string{string(CallbackOnFinal), string(CallbackOnFailure), string(CallbackOnSuccess)}

// CallsBack reports whether a job that is in a state sends a callback.
func (s *Spec) CallsBack(state State) bool {
	if s.CallbackURL == "" {
		return false
	}
	switch state {
	case Completed:
		return s.CallbackOn != CallbackOnFailure
	case Discarded:
		return s.CallbackOn != CallbackOnSuccess
	}
	return false
}

func readCallbackOn(r *reader, f *Field, v rawjson.Value) {
	if v.Kind() != '"' || !slices.Contains(callbackOns, rawjson.Text(v)) {
		r.refuse(Pointer(f.Name), "must be one of %s", strings.Join(callbackOns, ", "))
	}
}
