package cli

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// detailsView is the part of a job's details that is shown.
type detailsView struct {
	Job         jobView       `json:"job"`
	Revision    int64         `json:"revision"`
	Attempts    []attemptView `json:"attempts"`
	NextAttempt *string       `json:"next_attempt_at"`
	WaitingFor  []string      `json:"waiting_for"`
	RerunOf     *int64        `json:"rerun_of"`
	Reruns      []int64       `json:"reruns"`
	Completion  *struct {
		Awaiting bool     `json:"awaiting"`
		Deadline *string  `json:"deadline"`
		Progress *float64 `json:"progress"`
	} `json:"completion"`
	Deliveries struct {
		Pending int64 `json:"pending"`
		Failed  int64 `json:"failed"`
	} `json:"deliveries"`
}

type attemptView struct {
	Attempt  int64    `json:"attempt"`
	Started  string   `json:"started_at"`
	Duration *float64 `json:"duration_ms"`
	Status   *int     `json:"status"`
	Error    *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
	RetryAt *string `json:"retry_at"`
}

// details reads the details of a job.
func (c *serviceFlags) details(env *environment, id string) (*detailsView, error) {
	record, err := c.record(env, http.MethodGet, jobPath(id)+"/details", nil)
	if err != nil {
		return nil, err
	}
	d, err := decoded[detailsView](record)
	return &d, err
}

// result says what came of an attempt: the status, the failure, or that it is
// under way.
func (a *attemptView) result() string {
	var parts []string
	if a.Status != nil {
		parts = append(parts, strconv.Itoa(*a.Status))
	}
	if a.Error != nil && (a.Error.Kind != "status" || a.Status == nil) {
		parts = append(parts, a.Error.Kind+": "+a.Error.Message)
	}
	if len(parts) == 0 {
		return "under way"
	}
	return strings.Join(parts, ", ")
}

// took returns how long an attempt took; "" while it is under way.
func (a *attemptView) took() string {
	if a.Duration == nil {
		return ""
	}
	return milliseconds(*a.Duration)
}

// milliseconds formats a duration in milliseconds, with a fraction if it is short.
func milliseconds(ms float64) string {
	digits := 0
	if ms < 10 {
		digits = 1
	}
	return strconv.FormatFloat(ms, 'f', digits, 64) + " ms"
}

// last returns the latest attempt; nil if there is none.
func (d *detailsView) last() *attemptView {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

// progress says in a line how far the job is.
func (d *detailsView) progress(to terminal) string {
	text := "job " + d.Job.number() + " is " + d.Job.Job.State
	last := d.last()
	switch {
	case !d.Job.pending():
		if last != nil {
			text += ": " + strings.TrimSuffix(last.result()+" in "+last.took(), " in ")
		}
	case d.Completion != nil && d.Completion.Awaiting:
		text += ", and its target reports later"
		if d.Completion.Progress != nil {
			text += fmt.Sprintf(": %g %%", *d.Completion.Progress)
		}
	case d.Job.Job.State == "executing":
		if last != nil {
			text += fmt.Sprintf(", attempt %d", last.Attempt)
		}
	default:
		if last != nil && last.Error != nil {
			text += fmt.Sprintf(" after attempt %d (%s)", last.Attempt, last.result())
		}
		if d.NextAttempt != nil {
			text += ", due " + to.moment(*d.NextAttempt)
		}
		if len(d.WaitingFor) > 0 {
			text += ", waiting for " + strings.Join(d.WaitingFor, ", ")
		}
	}
	return printable(text)
}

// print shows the job, why it is in its state, and the beginning of its last response.
func (d *detailsView) print(out io.Writer, to terminal, because, response string) error {
	f, j := facts{to: to}, &d.Job
	f.add("job", j.number())
	f.add("id", j.ID)
	f.add("name", orNothing(j.Name))
	f.painted("state", to.state(j.Job.State))
	f.add("why", because)
	f.add("request", j.Args.String())
	f.add("tags", strings.Join(j.Args.Tags, ", "))
	f.add("key", orNothing(j.Key))
	f.add("schedule", orNothing(j.Schedule))
	f.add("created", to.moment(j.Job.Inserted))
	f.add("due", to.moment(j.Job.Scheduled))
	for name, at := range map[string]*string{"completed": j.Job.Completed, "cancelled": j.Job.Cancelled, "discarded": j.Job.Discarded} {
		if at != nil && j.Job.State == name {
			f.add(name, to.moment(*at))
		}
	}
	if d.NextAttempt != nil && *d.NextAttempt != j.Job.Scheduled {
		f.add("next attempt", to.moment(*d.NextAttempt))
	}
	f.add("waiting for", strings.Join(d.WaitingFor, ", "))
	if d.RerunOf != nil {
		f.add("rerun of", strconv.FormatInt(*d.RerunOf, 10))
	}
	var reruns []string
	for _, n := range d.Reruns {
		reruns = append(reruns, strconv.FormatInt(n, 10))
	}
	f.add("reruns", strings.Join(reruns, ", "))
	if d.Deliveries.Pending+d.Deliveries.Failed > 0 {
		f.add("deliveries", fmt.Sprintf("%d pending, %d failed", d.Deliveries.Pending, d.Deliveries.Failed))
	}
	f.add("response", response)
	if err := f.print(out); err != nil || len(d.Attempts) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	t := table{columns: []column{{title: "ATTEMPT"}, {title: "STARTED"}, {title: "TOOK"}, {title: "RESULT", shrink: true},
		{title: "RETRY"}}}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		retry := ""
		if a.RetryAt != nil {
			retry = to.moment(*a.RetryAt)
		}
		t.add(strconv.FormatInt(a.Attempt, 10), to.moment(a.Started), a.took(), a.result(), retry)
	}
	return t.print(out, to)
}

// orNothing returns the text, or "" for nil.
func orNothing(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
