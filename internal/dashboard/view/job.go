package view

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Job is the page of a job.
type Job struct {
	Job        *job.Job
	Spec       job.Spec
	Schedule   *job.Schedule // nil for a one-off job, and if the schedule is deleted
	Logs       []*job.Log    // oldest first
	Hidden     Hidden
	Deliveries []*job.Delivery
	Attempts   []Attempt
	// Body and Curl are the request as it was sent last, or as it would be sent
	// now; TooLarge is why it can't be sent, "" if it can.
	Body     []byte
	Curl     string
	TooLarge string
	// Completion is that of the latest attempt; nil if there is none.
	Completion *job.Completion
	// WaitingFor has what holds the job back now: keys of limits, and job:NUMBER.
	WaitingFor []string
	// Because says why the job is in its state, and Remedy how to mend what is wrong;
	// "" for nothing to say.
	Because, Remedy string
	Now             time.Time
	Notice          string
	// Around is how late other runs of the schedule started. Origins are the numbers of the
	// jobs that this one repeats, the nearest first; Reruns those of the jobs that repeat it,
	// Children those that it became.
	Around                    []time.Duration
	Origins, Reruns, Children []int64
	// Group is the group that the run names, or of whose run the job is a part; "" if none.
	Group string
	Begun bool   // the notice is about an action without a result yet
	Self  string // the address of the live part
	// When is the due time that was entered and refused because of WhenProblem.
	When, WhenProblem string
	// Reschedule is what a due time changes that was entered to see that; nil for none. Live is
	// set where it is shown while somebody types.
	Reschedule *Reschedule
	Live       bool
}

// started returns the number of attempts that started. A final job has left the
// queue, which counts them, so its logs are counted too.
func (d *Job) started() int {
	n := d.Job.Attempt
	for i := range d.Attempts {
		if !d.Attempts[i].interrupted() {
			n = max(n, d.Attempts[i].Number)
		}
	}
	return n
}

// response returns the last attempt with a response; nil if there is none.
func (d *Job) response() *Attempt {
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		if d.Attempts[i].Responded {
			return &d.Attempts[i]
		}
	}
	return nil
}

// Linked is how many jobs of a chain are linked at most.
const Linked = 5

func cancelQuestion(j *job.Job) string {
	switch {
	case j.State == job.Executing:
		return "Cancel this job? The running request is aborted."
	case j.ScheduleID != uuid.Nil:
		return "Cancel this run? The schedule's next run stays."
	default:
		return "Cancel this job? Its request will not be sent."
	}
}

// Text returns a complete text of the page, which may show only its beginning: the
// body, headers or curl command of the request, or the args; false for others.
func (d *Job) Text(of string) (string, bool) {
	switch of {
	case "body":
		return bodyText(d.Body), true
	case "headers":
		return ui.Pretty(d.Spec.Headers), true
	case "curl":
		return d.Curl, true
	case "args":
		return ui.Pretty(d.Job.Args), true
	}
	return "", false
}

// textAt returns the address of a result of Text.
func (d *Job) textAt(href func(format string, args ...any) string, of string) string {
	return href("/jobs/%d/text/%s", d.Job.Number, of) + revealed(d.Hidden)
}

// bodyText returns a body as text, indented if it is JSON, or the base64 of one that
// is not text.
func bodyText(body []byte) string {
	if v, err := rawjson.Read(body); err == nil {
		return ui.Pretty(v)
	}
	if !job.IsText(body) {
		return base64.StdEncoding.EncodeToString(body)
	}
	return string(body)
}

// ScheduleTitle returns the name of a schedule, or the beginning of its id.
func ScheduleTitle(s *job.Schedule) string {
	if s.Name != nil && *s.Name != "" {
		return ui.Shorten(*s.Name, 60)
	}
	return "Schedule " + s.ID.String()[:8]
}

// waitingPath returns the page of what a job waits for: a limit, or a job as job:NUMBER.
func waitingPath(name string) string {
	if number, ok := strings.CutPrefix(name, "job:"); ok {
		return "/jobs/" + number
	}
	return (&Limit{Key: name}).path("")
}
