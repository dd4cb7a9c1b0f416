package cli

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/client"
)

// details reads the details of a job.
func (c *serviceFlags) details(env *environment, id string) (*client.JobDetails, error) {
	record, err := c.record(env, http.MethodGet, jobPath(id)+"/details", nil)
	if err != nil {
		return nil, err
	}
	d, err := decoded[client.JobDetails](record)
	return &d, err
}

// attemptResult says what came of an attempt: the status, the failure, or that it is
// under way.
func attemptResult(a *client.AttemptSummary) string {
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

// attemptTook returns how long an attempt took; "" while it is under way.
func attemptTook(a *client.AttemptSummary) string {
	if a.DurationMS == nil {
		return ""
	}
	return milliseconds(*a.DurationMS)
}

// milliseconds formats a duration in milliseconds, with a fraction if it is short.
func milliseconds(ms float64) string {
	digits := 0
	if ms < 10 {
		digits = 1
	}
	return strconv.FormatFloat(ms, 'f', digits, 64) + " ms"
}

// lastAttempt returns the latest attempt; nil if there is none.
func lastAttempt(d *client.JobDetails) *client.AttemptSummary {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

// jobProgress says in a line how far the job is.
func jobProgress(d *client.JobDetails, to terminal) string {
	text := "job " + jobNumber(&d.Job) + " is " + d.Job.Job.State
	last := lastAttempt(d)
	switch {
	case d.Job.Job.Final():
		if last != nil {
			text += ": " + strings.TrimSuffix(attemptResult(last)+" in "+attemptTook(last), " in ")
		}
	case d.Completion != nil && d.Completion.Awaiting:
		text += ", and its target reports later"
		if d.Completion.Progress != nil {
			text += fmt.Sprintf(": %g %%", d.Completion.Progress.Progress)
		}
	case d.Job.Job.State == "executing":
		if last != nil {
			text += fmt.Sprintf(", attempt %d", last.Attempt)
		}
	default:
		if last != nil && last.Error != nil {
			text += fmt.Sprintf(" after attempt %d (%s)", last.Attempt, attemptResult(last))
		}
		if d.NextAttemptAt != nil {
			text += ", due " + to.moment(*d.NextAttemptAt)
		}
		if len(d.WaitingFor) > 0 {
			text += ", waiting for " + strings.Join(d.WaitingFor, ", ")
		}
	}
	return printable(text)
}

// printJob shows a job, why it is in its state, and the beginning of its last response.
func printJob(out io.Writer, to terminal, d *client.JobDetails, because, response string) error {
	f, j := facts{to: to}, &d.Job
	request := requestOf(j.Args)
	f.add("job", jobNumber(j))
	f.add("id", j.ID)
	f.add("name", orNothing(j.Name))
	f.painted("state", to.state(j.Job.State))
	f.add("why", because)
	f.add("request", request.String())
	f.add("tags", strings.Join(request.Tags, ", "))
	f.add("key", orNothing(j.IdempotencyKey))
	f.add("schedule", orNothing(j.ScheduleID))
	f.add("created", to.moment(j.Job.InsertedAt))
	f.add("due", to.moment(j.Job.ScheduledAt))
	for name, at := range map[string]*client.Time{client.Completed: j.Job.CompletedAt, client.Cancelled: j.Job.CancelledAt,
		client.Discarded: j.Job.DiscardedAt} {
		if at != nil && j.Job.State == name {
			f.add(name, to.moment(*at))
		}
	}
	if d.NextAttemptAt != nil && !d.NextAttemptAt.Equal(j.Job.ScheduledAt.Time) {
		f.add("next attempt", to.moment(*d.NextAttemptAt))
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
		t.add(strconv.Itoa(a.Attempt), to.momentOrDash(a.StartedAt), attemptTook(a), attemptResult(a), retry)
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
