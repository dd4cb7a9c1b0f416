package view

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// stepsShown is how many steps of a run its page shows. With more, it would have more than
// 100 KiB.
const stepsShown = 100

// Waterfall has the steps of a run with what each took, to scale.
type Waterfall struct {
	Rows []WaterfallRow
	// Found is how many steps the records that were read have, Records how many records
	// that are. Cut: the run has more.
	Found, Records int
	Cut            bool
	Start, End     time.Time
	// Next is the job that carries out the step whose record is not there yet, and Since
	// when it could begin; uuid.Nil if another step is open, or that is not known.
	Next  uuid.UUID
	Since time.Time
}

// WaterfallRow is a step of a run.
type WaterfallRow struct {
	Number     int
	Name, Kind string
	State      stepState
	Start, End time.Time
	Job        uuid.UUID // that carried the step out; uuid.Nil if it is not known
}

// stepState is what became of a step.
type stepState int

const (
	stepCompleted stepState = iota
	stepRunning
	stepRetrying
	stepSleeping
	stepWaiting
	stepCopied  // from the run that this one repeats
	stepEnded   // the run ended before it
	stepUnknown // its further records were not read
)

// stepLook is how a state is shown.
type stepLook struct{ tone, icon, label string }

var stepLooks = [...]stepLook{
	stepCompleted: {"good", "check", "Completed"}, stepRunning: {"busy", "play", "Running"},
	stepRetrying: {"bad", "clock", "Waiting for a retry"}, stepSleeping: {"calm", "clock", "Sleeping"},
	stepWaiting: {"calm", "clock", "Waiting"}, stepCopied: {"calm", "copy", "Copied"}, stepEnded: {"calm", "minus", "Not completed"},
	stepUnknown: {"calm", "info", "Not read"},
}

// openKinds are the kinds of steps whose records are there before their results.
var openKinds = map[workflow.Kind]string{workflow.Call: "Call", workflow.Wait: "Wait", workflow.Invoke: "Invoke"}

// NewWaterfall lays out the records of a run, in their order. A step in a sequence began
// when what came before it ended; others began with their first record.
func NewWaterfall(r *workflow.Run, records []*workflow.Step, now time.Time) *Waterfall {
	w := &Waterfall{Start: r.CreatedAt, End: now, Records: len(records), Cut: len(records) < r.Rows}
	if !r.State.Live() {
		w.End = r.EndedAt
	}
	if w.End.Before(w.Start) {
		w.End = w.Start
	}
	var rows []*WaterfallRow
	known := map[int]*WaterfallRow{}
	before, message := r.CreatedAt, uuid.Nil // the end of what came before, and the job that goes on from there
	for _, s := range records {
		if s.Kind == workflow.Notice {
			continue
		}
		if s.Kind == workflow.Initial {
			before, message = laterOf(before, s.DueAt), s.Message
			continue
		}
		row := known[s.Number]
		if row == nil {
			row = &WaterfallRow{Number: s.Number, Name: s.Name, Kind: "Run", Start: s.CreatedAt, Job: s.Message}
			if s.Kind == workflow.Result {
				row.Start, row.Job = earlierOf(before, s.CreatedAt), message
			}
			row.State, row.End = w.open(r, s.Kind), w.End
			known[s.Number], rows = row, append(rows, row)
		}
		row.take(r, s, w.End)
		if s.Kind == workflow.Result {
			before, message = laterOf(before, s.DueAt, s.CreatedAt), s.Message
		}
	}
	if r.State.Live() && !w.Cut && !slices.ContainsFunc(rows,
		func(row *WaterfallRow) bool { return row.State > stepCompleted && row.State <= stepWaiting }) {
		w.Next, w.Since = message, before
	}
	w.Found = len(rows)
	for _, row := range rows[:min(len(rows), stepsShown)] {
		w.Rows = append(w.Rows, *row)
	}
	return w
}

// Begin adds the step that the job Next carries out, if it has begun. What the step is
// called is known once it is stored.
func (w *Waterfall) Begin(j *job.Job) {
	state, begun := map[job.State]stepState{job.Executing: stepRunning, job.Retryable: stepRetrying}[j.State]
	if !begun || len(w.Rows) >= stepsShown {
		return
	}
	number := 1
	for _, row := range w.Rows {
		number = max(number, row.Number+1)
	}
	w.Found++
	w.Rows = append(w.Rows, WaterfallRow{
		Number: number, Name: "Next step", Kind: "Run", State: state, Start: earlierOf(w.Since, w.End), End: w.End, Job: j.ID,
	})
}

// open returns the state of a step without a result.
func (w *Waterfall) open(r *workflow.Run, kind workflow.Kind) stepState {
	switch {
	case w.Cut:
		return stepUnknown
	case !r.State.Live():
		return stepEnded
	case kind == workflow.Wait || kind == workflow.Invoke:
		return stepWaiting
	}
	return stepRunning
}

// take adds a record to its step.
func (row *WaterfallRow) take(r *workflow.Run, s *workflow.Step, end time.Time) {
	if kind := openKinds[s.Kind]; kind != "" {
		row.Kind, row.Name = kind, s.Name
		if s.Kind == workflow.Call {
			row.Job = s.Message
		} else if row.State == stepRunning {
			row.State = stepWaiting
		}
		return
	}
	sleeps := strings.HasPrefix(s.Type, "Sleep")
	switch {
	case sleeps:
		row.Kind = "Sleep"
	case row.Kind == "Run" && (s.Type == "Call" || s.Type == "Wait" || s.Type == "Invoke"):
		row.Kind = s.Type
	}
	if s.Kind != workflow.Result {
		return
	}
	row.State, row.End, row.Name = stepCompleted, s.CreatedAt, s.Name
	switch {
	case r.Origin != "" && s.CreatedAt.Sub(r.CreatedAt) < time.Millisecond:
		row.State, row.Job = stepCopied, uuid.Nil
	case sleeps && s.DueAt.After(end):
		row.State, row.End = stepSleeping, end
		if !r.State.Live() {
			row.State = stepEnded
		}
	case sleeps && s.DueAt.After(row.End):
		row.End = s.DueAt
	}
	if row.Start.After(row.End) {
		row.Start = row.End
	}
}

func laterOf(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(t) {
			t = o
		}
	}
	return t
}

func earlierOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// hasBar reports whether it is known how long the step took.
func (row *WaterfallRow) hasBar() bool { return row.State != stepUnknown && row.State != stepCopied }

// tone returns the class of a bar: waits and sleeps have another one than work.
func (row *WaterfallRow) tone() string {
	if row.Kind == "Run" || row.Kind == "Call" {
		return "work"
	}
	return "rest"
}

// took says how long the step took, or has taken.
func (row *WaterfallRow) took() string {
	switch row.State {
	case stepUnknown, stepCopied:
		return "–"
	case stepRunning, stepRetrying, stepSleeping, stepWaiting:
		return ui.Millis(row.End.Sub(row.Start)) + " so far"
	}
	return ui.Millis(row.End.Sub(row.Start))
}

// The least share of the width that a bar takes, so that it can be seen.
const leastBar = 0.005

// bar returns where the bar of a step begins, and how wide it is.
func (w *Waterfall) bar(row *WaterfallRow) (x, width string) {
	total := float64(max(w.End.Sub(w.Start), time.Millisecond))
	share := func(t time.Time) float64 { return math.Min(1, math.Max(0, float64(t.Sub(w.Start))/total)) }
	from := math.Min(share(row.Start), 1-leastBar)
	return ui.Percentage(from), ui.Percentage(math.Max(share(row.End)-from, leastBar))
}

// summary says what the bars mean.
func (w *Waterfall) summary() string {
	return "The bars show when each step began and ended, from the start of the run to " + ui.Millis(w.End.Sub(w.Start)) +
		" after it. Waits and sleeps have a lighter tone."
}

// rest says what of the run is not shown; "" if that is nothing.
func (w *Waterfall) rest(rows int) string {
	more := w.Found - len(w.Rows)
	switch {
	case w.Cut:
		return "This page reads the first " + ui.Count(int64(w.Records)) + " of the run's " + ui.Count(int64(rows)) +
			" records, and shows the first " + ui.Plural(len(w.Rows), "step", "steps") + " of them."
	case more > 0:
		return ui.Plural(more, "further step is", "further steps are") + " not shown."
	}
	return ""
}
