package view

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Operations is the list of operations on many jobs.
type Operations struct {
	Operations  []*job.Operation
	First, Next string
}

// Operation is the page of an operation.
type Operation struct {
	*job.Operation
	Self   string // the address of the live part
	Notice string
	// Created is the address of the list of the jobs created while jobs were run again, and
	// Outcome their number by state, at least if OutcomePartly is set; "" and nil for other
	// actions.
	Created       string
	Outcome       map[job.State]int64
	OutcomePartly bool
}

// outcome says how the jobs that were created have ended so far.
func (d *Operation) outcome() string {
	var words []string
	for _, s := range []job.State{job.Available, job.Executing, job.Retryable, job.Completed, job.Discarded, job.Cancelled} {
		if n := d.Outcome[s]; n > 0 {
			words = append(words, ui.Count(n)+" "+strings.ToLower(ui.StateLabel(s)))
		}
	}
	text := strings.Join(words, ", ")
	if d.OutcomePartly {
		text = "at least " + text
	}
	return text
}

// OperationCall is a request that matching jobs make, and one of them.
type OperationCall struct {
	Method, URL string
	Job         int64
}

// NewOperation is the form for an operation.
type NewOperation struct {
	Values   url.Values
	Problems map[string]string // of texts that can't be read; each completes "LABEL …"
	Err      error             // why the operation was refused
}

// CountedOperation is an operation that has not been started: how many jobs it
// would concern.
type CountedOperation struct {
	*NewOperation
	Matched     string
	Any         bool
	Filter, Set rawjson.Value
	Hidden      url.Values // the inputs of the form
	// Calls are the requests of the newest jobs that match, and Schedule the one that the
	// filter names; nil if it names none.
	Calls    []OperationCall
	Schedule *job.Schedule
}

// does says what the operation does to which jobs, with times in the zone of now.
func (d *CountedOperation) does(now time.Time) string {
	return actionWords(job.Action(d.Values.Get("action"))) + ": " + filterSentence(now, d.Filter, d.Schedule) + "."
}

// filterSentence describes a filter in plain words, with times in the zone of now. of is
// the schedule that it names, if that is known.
func filterSentence(now time.Time, filter rawjson.Value, of *job.Schedule) string {
	state, more := "", []string{}
	for _, m := range rawjson.Members(filter) {
		text := rawjson.Text(m.Value)
		switch m.Name {
		case "state":
			for _, c := range operationStates {
				if c.Value == text && text != "" {
					state = strings.ToLower(c.Label) + " "
				}
			}
			continue
		case "since", "until":
			at, err := job.ReadInstant(text)
			if err != nil {
				break
			}
			text = ui.ExactIn(at, now.Location())
			more = append(more, map[string]string{"since": "created from ", "until": "created before "}[m.Name]+text)
			continue
		case "schedule_id":
			if of != nil {
				more = append(more, "of "+ScheduleTitle(of))
				continue
			}
		case "host":
			more = append(more, "that call "+text)
			continue
		}
		if words := filterWords(rawjson.Object([]rawjson.Member{m})); words != "every job" {
			more = append(more, "with "+words)
		}
	}
	if state == "" && len(more) == 0 {
		return "every job"
	}
	return strings.TrimSpace("all " + state + "jobs " + strings.Join(more, ", "))
}

var operationActions = []ui.Choice{
	{Value: string(job.CancelJobs), Label: "Cancel unfinished jobs"},
	{Value: string(job.RerunJobs), Label: "Run finished jobs again, as new jobs"},
	{Value: string(job.RunJobs), Label: "Run scheduled jobs now"},
	{Value: string(job.RescheduleJobs), Label: "Reschedule jobs"},
}

var operationStates = []ui.Choice{
	{Value: "", Label: "Any state"}, {Value: "scheduled", Label: "Scheduled or retrying"}, {Value: "available", Label: "Scheduled"},
	{Value: "executing", Label: "Running"},
	{Value: "retryable", Label: "Retrying"}, {Value: "completed", Label: "Completed"}, {Value: "discarded", Label: "Failed"},
	{Value: "cancelled", Label: "Cancelled"},
}

// input returns an input of the form; pointer is that of its value in the request.
func (d *NewOperation) input(name, label, pointer, hint string) ui.Input {
	return ui.Input{Name: name, Label: label, Hint: hint, Value: d.Values.Get(name),
		Error: cmp.Or(d.Problems[name], ProblemAt(d.Err, pointer))}
}

// filter returns the input of a filter.
func (d *NewOperation) filter(f *job.Filter) ui.Input {
	return with(d.input(f.Name, f.Label, "#/filter/"+f.InFilter(), f.Hint), func(i *ui.Input) { i.Placeholder = f.Placeholder })
}

// timeInput returns the input for the new time.
func (d *NewOperation) timeInput() ui.Input {
	i := d.input("when", "New time", "#/set/schedule_in", "Of each job, or of the first if they are spread. Empty is now.")
	i.Error = cmp.Or(i.Error, ProblemAt(d.Err, "#/set/scheduled_at"))
	i.Placeholder = "in 30 minutes"
	return i
}

// sentence returns why the operation was refused; "" if it was not.
func (d *NewOperation) sentence() string {
	const marked = "Nothing was started. Correct the marked fields."
	f, refused := d.Err.(*fault.Error)
	switch {
	case refused && f.Code == fault.Conflict:
		return "Another operation is running. Wait until it is finished, or stop it."
	case !refused && len(d.Problems) > 0:
		return marked
	case !refused:
		return ""
	}
	for _, p := range f.Problems {
		switch p.Pointer {
		case "#/filter":
			return "No filter is set, which selects every job. Check the box to confirm."
		case "#/set":
			return ui.Sentence("The new values " + p.Detail)
		}
		if _, field, _ := strings.Cut(p.Pointer, "#/set/"); field != "" && field != "spread" && !job.IsTiming(field) {
			return ui.Sentence("In the other fields, " + p.Sentence())
		}
	}
	if len(f.Problems) > 0 {
		return marked
	}
	return ui.Sentence(f.Message)
}

// actionWords says what an operation does.
func actionWords(action job.Action) string {
	switch action {
	case job.CancelJobs:
		return "Cancel jobs"
	case job.RerunJobs:
		return "Run jobs again"
	case job.RunJobs:
		return "Run jobs now"
	}
	return "Reschedule jobs"
}

// filterWords describes a filter in one line.
func filterWords(filter rawjson.Value) string {
	var words []string
	for _, m := range rawjson.Members(filter) {
		text := rawjson.Text(m.Value)
		if m.Value.Kind() != '"' {
			text = string(m.Value)
		}
		if m.Value.Kind() == '[' {
			var tags []string
			for _, e := range rawjson.Elements(m.Value) {
				tags = append(tags, rawjson.Text(e))
			}
			text = strings.Join(tags, " and ")
		}
		if !rawjson.IsNull(m.Value) && text != "" {
			words = append(words, strings.ReplaceAll(m.Name, "_", " ")+" "+text)
		}
	}
	if len(words) == 0 {
		return "every job"
	}
	return strings.Join(words, ", ")
}

// skipped is how many jobs an operation left alone for one reason.
type skipped struct {
	Why   string
	Count int64
}

var skipWords = map[job.Skip]string{
	job.SkipFinal: "already final", job.SkipUnfinished: "not final yet", job.SkipStarted: "already started",
	job.SkipRetrying: "waiting for a retry",
	job.SkipHasRerun: "run again before", job.SkipInvalid: "not valid with the new values",
	job.SkipOverLimit: "over a limit of the account",
	job.SkipRemoved:   "deleted", job.SkipFailed: "can't be changed",
}

// skips returns the reasons, the most frequent first.
func (d *Operation) skips() []skipped {
	var all []skipped
	for reason, n := range d.Skipped {
		all = append(all, skipped{cmp.Or(skipWords[reason], string(reason)), n})
	}
	slices.SortFunc(all, func(a, b skipped) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Why, b.Why)) })
	return all
}

func (d *Operation) running() bool { return d.State == job.OperationRunning }

// found returns how many jobs were found, so far or in all.
func (d *Operation) found() string {
	text := ui.Count(d.Matched)
	if d.running() && d.ScanAfter != 0 {
		return text + " so far"
	}
	return text
}

// polled returns the attributes of a part that the browser fetches again every
// other second.
func polled(on bool, self string) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"hx-get": self, "hx-trigger": "every 2s", "hx-swap": "outerHTML"}
}

// hiddenNames returns the names of hidden inputs in order, without the button that
// was pressed.
func hiddenNames(values url.Values) []string {
	var names []string
	for name := range values {
		if name != "go" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
