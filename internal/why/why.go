package why

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Action is what can be done next.
type Action string

// The actions.
const (
	Wait     Action = "wait"     // until the job is final
	Edit     Action = "edit"     // the job, before its first attempt
	Rerun    Action = "rerun"    // create the job anew
	Enable   Action = "enable"   // the schedule
	Rehearse Action = "rehearse" // see what the schedule will do
	Runs     Action = "runs"     // list those of the schedule
	LastRun  Action = "last_run" // explain the schedule's last run
)

// Actions are all actions.
var Actions = []Action{Wait, Edit, Rerun, Enable, Rehearse, Runs, LastRun}

// Explanation explains a state.
type Explanation struct {
	Because string   // sentences
	Remedy  string   // a sentence that says how to mend it; "" if nothing is wrong
	Then    []Action // what can be done, the likeliest first
}

// Words say how to write what is known.
type Words struct {
	Moment func(time.Time) string
	Now    time.Time
	// Names: names that people chose, and messages, may stand in the sentences. They
	// must not where a reader could take them for instructions.
	Names bool
}

// Job is what is known about a job. Times that are not known are zero.
type Job struct {
	Number   int64
	State    string    // as the API writes it
	Due      time.Time // of the first attempt
	Next     time.Time // of the attempt that follows a failure
	Began    time.Time // the attempt under way
	Ended    time.Time // when the job became final
	Deadline time.Time // until when the target reports the outcome, if that is awaited
	Attempts int       // that began
	Failure  *Failure  // of the last attempt; nil if it did not fail
	Blocks   []Block   // what holds the job back now
}

// Failure is how an attempt failed.
type Failure struct {
	Kind    job.Kind
	Status  int // of the response; 0 for none
	Message string
}

// Explain explains the state of a job.
func (j *Job) Explain(w Words) Explanation {
	e := Explanation{Because: "Job " + strconv.FormatInt(j.Number, 10) + " is " + j.State}
	switch j.State {
	case job.Available.String():
		j.pending(&e, w)
	case job.Executing.String():
		e.Because += j.executing(w)
		e.Then = []Action{Wait}
	case job.Retryable.String():
		e.Because += ": " + counted(j.Attempts, "attempt") + " failed, and the next one is " + w.at("due at", "due since", j.Next) + "." +
			j.Failure.sentence(w)
		e.Because += sentences(j.Blocks, j.Number, w)
		e.Remedy, e.Then = j.Failure.remedy(), []Action{Wait}
	case job.Discarded.String():
		e.Because += j.since(w) + ": it failed for good after " + counted(j.Attempts, "attempt") + "." + j.Failure.sentence(w)
		e.Remedy, e.Then = j.Failure.remedy(), []Action{Rerun}
	case job.Cancelled.String():
		e.Because += j.since(w) + ", after " + counted(j.Attempts, "attempt") + "."
		e.Then = []Action{Rerun}
	default:
		e.Because += j.since(w) + ", after " + counted(j.Attempts, "attempt") + "."
	}
	return e
}

// pending explains a job that waits for its first attempt.
func (j *Job) pending(e *Explanation, w Words) {
	e.Because += ": it is " + w.at("due at", "due since", j.Due) + "."
	switch {
	case len(j.Blocks) > 0:
		e.Because += sentences(j.Blocks, j.Number, w)
		e.Then = []Action{Wait}
	case !j.Due.IsZero() && j.Due.Before(w.Now):
		e.Because += " No limit applies: it starts as soon as the service has a free slot."
		e.Then = []Action{Wait}
	default:
		e.Then = []Action{Wait, Edit}
	}
}

func (j *Job) executing(w Words) string {
	if !j.Deadline.IsZero() {
		return ": its target has accepted it, and reports the outcome by " + w.Moment(j.Deadline) + "."
	}
	text := ": an attempt is under way"
	if !j.Began.IsZero() {
		text += " since " + w.Moment(j.Began)
	}
	if j.Attempts > 1 {
		text += ", number " + strconv.Itoa(j.Attempts)
	}
	return text + "."
}

// since says when a job became final.
func (j *Job) since(w Words) string {
	if j.Ended.IsZero() {
		return ""
	}
	return " since " + w.Moment(j.Ended)
}

// at writes a time after what is said of one to come, or of one that has passed.
func (w Words) at(later, passed string, t time.Time) string {
	if t.IsZero() {
		return later + " an unknown time"
	}
	if t.Before(w.Now) {
		return passed + " " + w.Moment(t)
	}
	return later + " " + w.Moment(t)
}

// sentence says how the last attempt failed.
func (f *Failure) sentence(w Words) string {
	if f == nil {
		return ""
	}
	if f.Kind == job.KindStatus || f.Kind == "" {
		if f.Status == 0 {
			return ""
		}
		return " The target responded with status " + strconv.Itoa(f.Status) + "."
	}
	if remedies[f.Kind] == "" {
		return ""
	}
	text := " The last one failed: " + string(f.Kind)
	if f.Status != 0 {
		text += ", status " + strconv.Itoa(f.Status)
	}
	if w.Names && f.Message != "" {
		text += " (" + strings.TrimSuffix(f.Message, ".") + ")"
	}
	return text + "."
}

func (f *Failure) remedy() string {
	switch {
	case f == nil:
		return ""
	case f.Kind == "" && f.Status != 0:
		return remedies[job.KindStatus]
	}
	return remedies[f.Kind]
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Schedule is what is known about a schedule.
type Schedule struct {
	ID       string
	Disabled time.Time // zero: it is enabled
	Next     time.Time // the due time of its next run; zero if there is none
	LastRun  int64     // its number; 0 if there is none
	State    string    // of the last run
	Failures int       // runs in a row that failed
}

// Explain explains the state of a schedule.
func (s *Schedule) Explain(w Words) Explanation {
	e := Explanation{Because: "Schedule " + s.ID}
	if !s.Disabled.IsZero() {
		e.Because += " is disabled or has ended since " + w.Moment(s.Disabled) + "."
		e.Remedy = "Enable it; if that is refused, it has ended, and an edit must give it a future."
		e.Then = []Action{Enable, Runs}
	} else {
		e.Because += " is active; its next run is " + w.at("due at", "due since", s.Next) + "."
		e.Then = []Action{Rehearse, Runs}
	}
	if s.LastRun != 0 {
		e.Because += " Its last run, job " + strconv.FormatInt(s.LastRun, 10) + ", is " + s.State + "."
	}
	if s.Failures > 0 {
		e.Because += " " + failed(s.Failures)
		e.Then = []Action{LastRun, Runs}
	}
	return e
}

func failed(n int) string {
	if n == 1 {
		return "The last run failed."
	}
	return "The last " + strconv.Itoa(n) + " runs failed."
}
