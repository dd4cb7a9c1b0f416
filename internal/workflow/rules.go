package workflow

import (
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
)

// refuse returns the fault for what breaks a bound: the run can't go on.
func refuse(message string) error { return fault.New(fault.Stale, message) }

// ReasonEnded is the reason of the fault for a call that continues a run which has ended.
const ReasonEnded = "workflow_ended"

// ValidID reports whether a text may be the id of a run: up to MaxID bytes of UTF-8 that
// every store can keep.
func ValidID(id string) bool {
	return id != "" && len(id) <= MaxID && utf8.ValidString(id) && !strings.ContainsRune(id, 0)
}

// NoRun returns the fault for a run that does not exist.
func NoRun(id string) error { return fault.New(fault.NotFound, "workflow run "+id+" not found") }

// over returns the fault for a call that continues a run which has ended.
func over(r *Run) error {
	return &fault.Error{Code: fault.Invalid, Reason: ReasonEnded,
		Message: "workflow run " + r.ID + " has ended: it is " + r.State.String() + ", and nothing can be added to it"}
}

// TooManyRuns returns the fault for an account with as many live runs as it may have.
func TooManyRuns() error {
	return &fault.Error{
		Code: fault.TooMany, RetryAfter: 10 * time.Second,
		Message: "the account has its maximum of " + strconv.Itoa(MaxLive) +
			" workflow runs under way; wait until some have ended, or cancel some",
	}
}

// Start begins a run with its first step. live is how many runs of the account are under
// way.
func Start(r *Run, first *Step, live int) error {
	if live >= MaxLive {
		return TooManyRuns()
	}
	r.State, r.Rows, r.Floor, r.Open = Started, 0, 0, 0
	return r.add(first)
}

// Append adds steps that are stored together to a run. Known are the records among those
// with the same keys that are stored already; of several steps with one key, the first
// counts. It returns the steps to store, with their positions, and the keys of plans that
// are settled by them.
func Append(r *Run, steps []*Step, known map[Key]*Step) (added []*Step, settled []Key, err error) {
	if !r.State.Live() {
		return nil, nil, over(r)
	}
	floor, known := r.Rows, maps.Clone(known)
	if known == nil {
		known = map[Key]*Step{}
	}
	for _, s := range steps {
		if known[s.Key()] != nil || s.Kind != Result && known[Key{s.Run, Result, s.Number}] != nil {
			continue
		}
		if err := r.add(s); err != nil {
			return nil, nil, err
		}
		added, known[s.Key()] = append(added, s), s
		switch {
		case s.Kind == Plan:
			r.Floor = max(r.Floor, floor)
		case s.Concurrent > 1:
			settled = append(settled, Key{s.Run, Plan, s.Number})
		default:
			r.Floor = max(r.Floor, s.Position)
		}
		if s.Kind == Result { // what became it is not open any more
			for _, kind := range []Kind{Call, Wait, Invoke} {
				if k := (Key{s.Run, kind, s.Number}); known[k] != nil && !known[k].Settled {
					r.close(kind)
					settled = append(settled, k)
				}
			}
		}
	}
	if len(added) == 1 && added[0].Concurrent <= 1 {
		r.WakesAt = time.Time{}
		if s := added[0]; s.Kind == Result && s.DueAt.After(s.CreatedAt) {
			r.WakesAt = s.DueAt
		}
	}
	return added, settled, nil
}

// close counts the end of a call or wait whose result was stored.
func (r *Run) close(kind Kind) {
	r.Open--
	if kind != Call {
		r.Waits--
	}
}

// Accepts returns the fault for a run that has ended, which takes nothing more.
func Accepts(r *Run) error {
	if r.State.Live() {
		return nil
	}
	return over(r)
}

// Keep keeps an event for a wait that comes later. kept is how many events with its name
// are kept already.
func Keep(r *Run, notice *Step, kept int) error {
	switch {
	case kept >= MaxKept:
		return refuse("workflow run " + r.ID + " has " + strconv.Itoa(MaxKept) + " events " + strconv.Quote(notice.WaitsFor) +
			" that it has not waited for; no more are kept")
	case r.Rows >= MaxSteps:
		return refuse("workflow run " + r.ID + " has " + strconv.Itoa(MaxSteps) + " records; no events are kept for it any more")
	case r.Bytes+int64(len(notice.Body)) > MaxRunBytes/2:
		return refuse("the steps and events of workflow run " + r.ID + " have more than 8 MiB together; no events are kept for it any more")
	}
	notice.Number = r.Rows
	return r.add(notice)
}

// add takes a step into the run, if it may have it.
func (r *Run) add(s *Step) error {
	switch {
	case s.Number > MaxSteps && s.Kind != Notice:
		return refuse("workflow run " + r.ID + " has more than " + strconv.Itoa(MaxSteps) + " steps; invoke further runs from it")
	case r.Rows >= maxRows:
		return refuse("workflow run " + r.ID + " has too many steps")
	case len(s.Body) > MaxStepBytes:
		return refuse("the step " + strconv.Quote(s.Name) + " of workflow run " + r.ID +
			" has more than 1 MiB; store large results elsewhere and return where they are")
	case r.Bytes+int64(len(s.Body)) > MaxRunBytes && !s.Reserved:
		return refuse("the steps of workflow run " + r.ID +
			" have more than 16 MiB together; store large results elsewhere and return where they are")
	}
	s.Account, s.Run, s.Position = r.Account, r.ID, r.Rows
	r.Rows++
	r.Bytes += int64(len(s.Body))
	if s.Kind == Notice {
		return nil
	}
	r.Open++
	if s.Kind == Wait || s.Kind == Invoke {
		r.Waits++
	}
	return nil
}

// Finish ends a run whose route has returned, with its result. It reports false if that
// was known.
func Finish(r *Run, result []byte, now time.Time) (changed bool, err error) {
	switch {
	case r.State == Succeeded:
		return false, nil
	case !r.State.Live():
		return false, over(r)
	}
	if len(result) > MaxStepBytes {
		return false, refuse("the result of workflow run " + r.ID +
			" has more than 1 MiB; store large results elsewhere and return where they are")
	}
	r.Result = result
	r.end(Succeeded, now)
	return true, nil
}

// Cancel ends a run, and reports false if it has ended.
func Cancel(r *Run, now time.Time) bool {
	if !r.State.Live() {
		return false
	}
	r.end(Cancelled, now)
	return true
}

func (r *Run) end(s State, now time.Time) {
	r.State, r.EndedAt, r.Unreported = s, now, r.Invoker != nil
}

// TimesOut reports whether a message that is about to be sent is the end of a wait.
func TimesOut(m Message, r *Run, of, result *Step) bool {
	return m.Kind == Wait && !m.Failure && r != nil && r.State.Live() && of != nil && result == nil
}

// Decision is what becomes of a message that is about to be sent.
type Decision int

// The decisions.
const (
	// Send sends it.
	Send Decision = iota
	// Skip completes its job without a request: what it was to do is done.
	Skip
)

// Decide decides about a message. The run is nil if it is gone; of is the record that the
// message is of, result the one with its result: nil if there is none. It is the job's id.
func Decide(m Message, id uuid.UUID, r *Run, of, result *Step) Decision {
	switch {
	case r == nil:
		return Skip
	case m.Failure:
		if r.State != Failed || r.Failure != id {
			return Skip
		}
	case !r.State.Live():
		return Skip
	case m.Callback || m.Kind == Call:
		if result != nil {
			return Skip
		}
	case of == nil || of.Settled || of.Position < r.Floor:
		return Skip
	}
	return Send
}
