package workflow

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Bounds of runs.
const (
	// MaxSteps is how many steps a run may have, parallel ones included.
	MaxSteps = 10_000
	// maxRows is how many records they may take: each parallel step has one more for its
	// plan, and each call, wait and invocation one more; events that are kept have the rest.
	maxRows = 4 * MaxSteps
	// MaxKept is how many events with one name are kept for a run.
	MaxKept = 100
	// MaxEvent is the greatest length of an event's name, in bytes, MaxEventBytes that of
	// its data.
	MaxEvent      = 255
	MaxEventBytes = MaxStepBytes / 2
	// MinSecret is the least length of the event of a webhook, in bytes: whoever knows it
	// can call the webhook.
	MinSecret = 16
	// MaxStepBytes bounds the body of a step, MaxRunBytes those of a run together.
	MaxStepBytes = 1 << 20
	MaxRunBytes  = 16 << 20
	// NoBodies, in place of a bound of bytes, reads records without their bodies.
	NoBodies = -1
	// MaxParallel is how many steps may be planned in one call.
	MaxParallel = 1000
	// MaxLive is how many runs of an account may be under way. It may be exceeded by
	// those that are started at the same moment.
	MaxLive = 10_000
	// MaxID and MaxName are the greatest lengths of a run's id and a step's name, in bytes.
	MaxID   = 200
	MaxName = 1000
	// MaxURL is the greatest length of a workflow's URL, in bytes.
	MaxURL = 2048
)

// Stuck is the error of a run that has nothing under way.
const Stuck = "the route responded without storing a step or ending the run: is it served by the workflow SDK, and is each step awaited?"

// RunHeader is the header field with a run's id, in its messages and in the report of its
// failure.
const RunHeader = "Upstash-Workflow-Runid"

// State is the state of a run.
type State int

// The states of runs. Waiting is not stored: see [Run.Shown].
const (
	Started State = iota + 1
	Waiting
	Succeeded
	Failed
	Cancelled
)

var stateNames = map[State]string{Started: "started", Waiting: "waiting", Succeeded: "succeeded", Failed: "failed", Cancelled: "cancelled"}

// StateNames returns the names of all states.
func StateNames() (names []string) {
	for s := Started; s <= Cancelled; s++ {
		names = append(names, s.String())
	}
	return names
}

// String returns the name of a state.
func (s State) String() string { return stateNames[s] }

// StateNamed returns the state with a name; 0 if there is none.
func StateNamed(name string) State {
	for s, n := range stateNames {
		if n == name {
			return s
		}
	}
	return 0
}

// Live reports whether a run is under way.
func (s State) Live() bool { return s == Started || s == Waiting }

// Run is a workflow run.
type Run struct {
	Account   int64
	ID        string // unique within the account
	URL       string // of the workflow's route
	State     State  // as stored: Started, Succeeded, Failed or Cancelled
	CreatedAt time.Time
	EndedAt   time.Time
	// Template has the fields of the job that each message is, but for its step and time.
	Template rawjson.Value
	Labels   rawjson.Value // a list of texts; nil for none
	// FlowControl and CallerIP are shown to clients; "" if there is none.
	FlowControl string
	CallerIP    string
	// Lazy: the route reads the steps itself if a message has no body.
	Lazy bool
	// Rows is how many records of steps there are, Bytes how many bytes their bodies have.
	Rows  int
	Bytes int64
	// Floor: what messages of steps at positions below it were to do is done.
	Floor int
	// Open is how many messages, calls and waits are under way. A live run without any
	// can't proceed: it has failed.
	Open int
	// Waits is how many of Open wait for something other than a request; WakesAt is when
	// a sleep ends.
	Waits   int
	WakesAt time.Time
	// Result is what the route returned; nil if it has not returned. Error says why the
	// run failed, if no response does.
	Result []byte
	Error  string
	// FailedJob is the job whose end has failed the run; Failure the one that reports
	// that to the failure function. uuid.Nil for none.
	FailedJob uuid.UUID
	Failure   uuid.UUID
	// Invoker is the run that waits for this one's end: see [Invoker]; nil for none.
	Invoker rawjson.Value
	// Unreported: the invoker does not know of the end yet.
	Unreported bool
	// Archived: a client has dealt with the failure.
	Archived bool
	// Origin is the failed run that this one resumes or restarts; "" for none.
	Origin string
}

// Shown returns the state that clients see.
func (r *Run) Shown(now time.Time) State {
	if r.State == Started && (r.Open > 0 && r.Open == r.Waits || r.WakesAt.After(now)) {
		return Waiting
	}
	return r.State
}

// Selection selects runs for lists.
type Selection struct {
	State State  // as clients see it; 0 for all
	Label string // that they have; "" for all
	Now   time.Time
}

// Has reports whether a run is selected.
func (s Selection) Has(r *Run) bool {
	return (s.State == 0 || r.Shown(s.Now) == s.State) && (s.Label == "" || slices.Contains(r.LabelList(), s.Label))
}

// LabelList returns the labels.
func (r *Run) LabelList() []string {
	var labels []string
	for _, label := range rawjson.Elements(r.Labels) {
		labels = append(labels, rawjson.Text(label))
	}
	return labels
}

// Kind is what a step's record is.
type Kind int

// The kinds of records.
const (
	// Initial has the payload with which the run was started.
	Initial Kind = iota
	// Plan is a parallel step that is to be carried out.
	Plan
	// Result is a step with its result. A sleep is one from its beginning.
	Result
	// Call is a request to a third party, whose response becomes a Result.
	Call
	// Wait and Invoke are waits for an event and for another run, that become a Result.
	Wait
	Invoke
	// Notice is an event that was sent to the run before it waits for it.
	Notice
)

// Step is a step of a run as stored.
type Step struct {
	Account  int64
	Run      string
	Position int // from 0
	Kind     Kind
	// Number is the step's number within the run: Plan, Result, Call, Wait and Invoke of
	// one step have the same.
	Number int
	// Concurrent is how many steps run in parallel with it, itself included.
	Concurrent int
	Name       string
	Type       string // as the SDK names it
	// Message is the id of the job that tells the route of it, or that is the call.
	Message   uuid.UUID
	Body      []byte // as the SDK has sent it, or reads it
	CreatedAt time.Time
	DueAt     time.Time // when the message is due
	// Settled: what the message was to do is done.
	Settled bool
	// WaitsFor is the event of a Wait or a Notice, or the run of an Invoke. A Result that
	// has made a webhook has the event that a call of it is. "" for others.
	WaitsFor string
	// Reserved: the record is the short end of a wait, for which a run always has space.
	// It is not stored.
	Reserved bool
}

// The types of the steps that make a webhook and wait for its calls.
const (
	CreatesWebhook = "CreateWebhook"
	AwaitsWebhook  = "WaitForWebhook"
)

// ShownWait returns WaitsFor as clients see it: not the event of a webhook, since whoever
// knows that can call it.
func (s *Step) ShownWait() string {
	if s.Kind == Result || s.Type == AwaitsWebhook {
		return ""
	}
	return s.WaitsFor
}

// Key identifies a step's record within its run: a second one with the same key is a
// duplicate.
func (s *Step) Key() Key { return Key{s.Run, s.Kind, s.Number} }

// Key is the identity of a step's record within an account.
type Key struct {
	Run    string
	Kind   Kind
	Number int
}

// The names of kinds in Key.Text.
var kindNames = [...]string{"init", "plan", "step", "call", "wait", "invoke", "notice"}

// failureName is the Text of the message that reports a failure; callbackName begins that
// of the response to a call which may be retried, lastName that of its last response.
const (
	failureName  = "failure"
	callbackName = "callback"
	lastName     = "response"
)

// FailureText is what a job says of its step if it reports a failure.
const FailureText = failureName

// Text returns the key, without its run, as a job has it.
func (k Key) Text() string {
	if k.Kind == Initial {
		return kindNames[Initial]
	}
	return kindNames[k.Kind] + ":" + strconv.Itoa(k.Number)
}

// Message is what a job of a run is for, as its args say.
type Message struct {
	Key
	// Callback: it has a response to the call Key. Last: it has the last one, of which the
	// route stores the result. Failure: it reports that the run has failed.
	Callback, Last, Failure bool
}

// ReadMessage reads what a job of a run is for. ok is false if the text says nothing.
func ReadMessage(run, text string) (m Message, ok bool) {
	if text == failureName {
		return Message{Key: Key{Run: run}, Failure: true}, true
	}
	name, number, _ := strings.Cut(text, ":")
	n, err := strconv.Atoi(number)
	if name == kindNames[Initial] && number == "" {
		return Message{Key: Key{Run: run}}, true
	}
	if err != nil || n < 0 {
		return Message{}, false
	}
	if name == callbackName || name == lastName {
		return Message{Key: Key{run, Call, n}, Callback: true, Last: name == lastName}, true
	}
	for kind, known := range kindNames {
		if name == known && Kind(kind) != Initial {
			return Message{Key: Key{run, Kind(kind), n}}, true
		}
	}
	return Message{}, false
}

// CallbackText returns what the job says that has a response to a call, the last one or
// another; "" if the text is not that of a call.
func CallbackText(call string, last bool) string {
	number, ok := strings.CutPrefix(call, kindNames[Call]+":")
	switch {
	case !ok:
		return ""
	case last:
		return lastName + ":" + number
	}
	return callbackName + ":" + number
}
