package alert

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Record adds to changes what they mean to alerts: the end of a job or of the workflow run
// that it belongs to, points that a schedule has passed over, and the end of a schedule.
func Record(c *store.Changes) {
	if c == nil || c.Job == nil {
		return
	}
	if run, step := job.RunOf(c.Job.Args); run != "" {
		recordRun(c, run, step)
		return
	}
	c.Outcomes = append(c.Outcomes, outcomesOf(c)...)
}

// recordRun adds what the end of a message of a workflow run means. The message itself is
// not an outcome: a step that succeeds is not the success of the run, and the report of a
// failure is not the end of the failures, but counts if it can't be made.
func recordRun(c *store.Changes, run, step string) {
	report := step == workflow.FailureText && c.Job.State == job.Discarded
	if _, ok := store.RunEndOf(c); !ok && !report {
		return
	}
	detail := attempted(c)
	if detail.Name == "" {
		detail.Name = "workflow run " + run
	}
	if report {
		c.Outcomes = append(c.Outcomes, outcome(c.Job, store.AlertFailed, detail))
		return
	}
	failed := detail
	if failed.Error == nil {
		failed.Error = &notify.Error{Kind: string(job.KindAnswer), Message: workflow.Stuck}
	}
	c.RunOutcome = &store.RunOutcome{AlertOutcome: outcome(c.Job, store.AlertSucceeded, detail),
		Failed: outcome(c.Job, store.AlertFailed, failed).Detail}
}

func outcomesOf(c *store.Changes) []store.AlertOutcome {
	var outcomes []store.AlertOutcome
	switch c.Job.State {
	case job.Completed:
		outcomes = append(outcomes, outcome(c.Job, store.AlertSucceeded, attempted(c)))
	case job.Discarded:
		outcomes = append(outcomes, outcome(c.Job, store.AlertFailed, attempted(c)))
	}
	if skipped(c.Logs) || c.Next != nil && skipped(c.Next.Logs) {
		// The next job has no number yet; this one is why points were passed over.
		outcomes = append(outcomes, outcome(c.Job, store.AlertSkipped, DetailOf(c.Job)))
	}
	if why := ending(c.Logs); why != "" {
		detail := attempted(c)
		detail.Reason = why
		outcomes = append(outcomes, outcome(c.Job, store.AlertEnded, detail))
	}
	return outcomes
}

// ending returns why a schedule has ended with the job, or "" if it has not.
func ending(logs []job.Log) string {
	for i := range logs {
		if logs[i].Event == job.EventEnded {
			return rawjson.Text(rawjson.Get(logs[i].Payload, "reason"))
		}
	}
	return ""
}

// skipped reports whether one of the logs says that a schedule has passed over
// points.
func skipped(logs []job.Log) bool {
	return slices.ContainsFunc(logs, func(l job.Log) bool { return l.Event == job.EventSkipped })
}

// lastLog returns the log of an attempt's outcome, or nil.
func lastLog(logs []job.Log) *job.Log {
	for i := range logs {
		if logs[i].Event == job.EventResponse || logs[i].Event == job.EventError {
			return &logs[i]
		}
	}
	return nil
}

func outcome(j *job.Job, kind store.AlertOutcomeKind, detail notify.Detail) store.AlertOutcome {
	o := store.AlertOutcome{Owner: j.Owner, Job: j.Number, Schedule: j.ScheduleID, Kind: kind,
		Tags: strings.Join(job.LabelsOf(j.Args).Tags, " ")}
	switch j.State {
	case job.Completed:
		o.At = j.CompletedAt
	case job.Discarded:
		o.At = j.DiscardedAt
	case job.Cancelled:
		o.At = j.CancelledAt
	default:
		o.At = j.DueAt
	}
	encoded, err := json.Marshal(detail)
	if err != nil {
		panic(err) // can't happen: only strings and numbers
	}
	o.Detail = encoded
	return o
}

// attempted returns what messages show of a job and its last attempt.
func attempted(c *store.Changes) notify.Detail {
	d := DetailOf(c.Job)
	if log := lastLog(c.Logs); log != nil {
		addLog(&d, c.Job.State == job.Discarded, log)
	}
	return d
}

// DetailOf returns what messages show of a job without an attempt.
func DetailOf(j *job.Job) notify.Detail {
	d := notify.Detail{URL: rawjson.Text(rawjson.Get(j.Args, "url"))}
	if j.Name != nil {
		d.Name = *j.Name
	}
	return d
}

// addLog adds the outcome of an attempt from its log.
func addLog(d *notify.Detail, failed bool, log *job.Log) {
	failure := log.Payload
	if log.Event == job.EventResponse {
		if status, err := strconv.Atoi(string(rawjson.Get(log.Payload, "status"))); err == nil {
			d.Status = &status
		}
		d.Excerpt = excerpt(log.Payload)
		failure = rawjson.Get(log.Payload, "error")
	}
	if !failed {
		return
	}
	if failure.Kind() == '{' {
		d.Error = &notify.Error{Kind: rawjson.Text(rawjson.Get(failure, "kind")),
			Message: notify.Cut(rawjson.Text(rawjson.Get(failure, "message")), notify.MaxError)}
	} else if d.Status != nil {
		d.Error = &notify.Error{Kind: string(job.KindStatus), Message: "the target responded with " + strconv.Itoa(*d.Status)}
	}
}

// excerpt returns the beginning of a response's body, if it is text.
func excerpt(payload rawjson.Value) string {
	body := rawjson.Get(payload, "body")
	switch {
	case rawjson.IsNull(body), !rawjson.IsNull(rawjson.Get(payload, "encoding")):
		return ""
	case body.Kind() == '"':
		return notify.Cut(rawjson.Text(body), notify.MaxExcerpt)
	}
	return notify.Cut(string(body[:min(len(body), notify.MaxExcerpt)]), notify.MaxExcerpt)
}
