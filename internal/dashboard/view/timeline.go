package view

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// moment is an entry of a job's timeline.
type moment struct {
	tone, icon, title string
	at                time.Time // zero if it is not known
	text              string
	link, linkText    string
	compare           string    // the address where the attempt is compared; "" for none
	parts             []segment // of the attempt
}

// timeline returns what happened to a job and what is still to come, in order.
func (d *Job) timeline(href func(format string, args ...any) string) []moment {
	past := []moment{{tone: "calm", icon: "plus", title: "Created", at: d.Job.InsertedAt}}
	if due := d.due(); d.dueAtOnce() {
		past[0].title = "Created, due at once"
	} else if !d.Job.ScheduledAt.After(d.Now) {
		past = append(past, due)
	}
	for i := range d.Attempts {
		past = append(past, d.attemptMoment(i, href))
	}
	past = append(past, d.failedDeliveries()...)
	if end, ok := d.end(); ok {
		past = append(past, end)
	}
	slices.SortStableFunc(past, func(a, b moment) int { return a.at.Compare(b.at) })
	return append(past, d.toCome()...)
}

// dueAtOnce reports whether the job was due when it was created, to the second.
func (d *Job) dueAtOnce() bool {
	wait := d.Job.ScheduledAt.Sub(d.Job.InsertedAt)
	return wait >= 0 && wait < time.Second && !d.Job.ScheduledAt.After(d.Now)
}

func (d *Job) due() moment {
	m := moment{tone: "calm", icon: "clock", title: "Due", at: d.Job.ScheduledAt}
	if d.Job.ScheduledAt.After(d.Now) {
		m.tone = "soon"
	} else if d.Job.ScheduledAt.Before(d.Job.InsertedAt) {
		m.text = "In the past when the job was created, so it was due immediately."
	}
	return m
}

func (d *Job) attemptMoment(i int, href func(string, ...any) string) moment {
	a, first, place := &d.Attempts[i], i == 0, i+1
	name := "Attempt " + strconv.Itoa(a.Number)
	m := moment{at: a.StartedAt}
	switch {
	case a.Outcome == nil && d.Job.State.Final():
		m.tone, m.icon, m.title = "calm", "minus", name+" was aborted"
	case a.Outcome == nil && a.Awaited:
		m.tone, m.icon, m.title = "busy", "play", name+": accepted; waiting for the result"
	case a.Outcome == nil:
		m.tone, m.icon, m.title = "busy", "play", name+" is running"
	case a.succeeded() && a.Awaited && !a.Responded:
		m.tone, m.icon, m.title = "good", "check", name+": the target reported its result"
	case a.succeeded():
		m.tone, m.icon, m.title = "good", "check", fmt.Sprintf("%s: response %d", name, a.Status)
	case a.Responded && a.Kind != "":
		m.tone, m.icon, m.title = "bad", "cross", fmt.Sprintf("%s: response %d, %s", name, a.Status, ui.Cause(a.Kind))
	case a.Responded:
		m.tone, m.icon, m.title = "bad", "cross", fmt.Sprintf("%s: response %d", name, a.Status)
	case a.interrupted():
		m.tone, m.icon, m.title = "warn", "warning", name+" was interrupted"
	default:
		m.tone, m.icon, m.title = "bad", "cross", name+" failed: "+ui.Cause(a.Kind)
	}
	if late := a.StartedAt.Sub(d.Job.ScheduledAt); first && late >= 0 && !d.Job.ScheduledAt.Before(d.Job.InsertedAt) {
		m.text = "Started " + ui.Millis(late) + " after it was due. "
	}
	if a.Outcome == nil {
		return m
	}
	m.text += "Took " + ui.Millis(a.Duration) + "."
	if a.Message != "" {
		m.text += " " + ui.Sentence(a.Message)
	}
	m.parts = segments(a, d.longest())
	if !first {
		m.compare = href("/jobs/%d/compare?b=%d", d.Job.Number, place)
	}
	m.link, m.linkText = href("/jobs/%d/logs/%s", d.Job.Number, a.Outcome.ID), "View log"
	return m
}

// failedDeliveries returns the callbacks and events without retries left, states
// that were rejected, and what the logs say about the schedule.
func (d *Job) failedDeliveries() []moment {
	var moments []moment
	for _, log := range d.Logs {
		m := moment{tone: "bad", icon: "bell", at: log.InsertedAt}
		tries := string(rawjson.Get(log.Payload, "attempts"))
		switch log.Event {
		case job.EventCallbackFailed:
			m.title = "The callback failed"
		case job.EventWebhookFailed:
			m.title = "The event " + rawjson.Text(rawjson.Get(log.Payload, "type")) + " failed"
		case job.EventStateRejected:
			m.title, m.icon, tries = rejected(log), "warning", ""
		case job.EventSkipped:
			m.tone, m.icon, m.title, m.text, tries = "calm", "warning", "Runs were skipped", SkippedText(log), ""
		case job.EventEnded:
			m.tone, m.icon, m.title, tries = "calm", "minus", "The schedule has ended: "+rawjson.Text(rawjson.Get(log.Payload, "reason")),
				""
		case job.EventOrphaned:
			m.tone, m.icon, m.title, m.text, tries = "calm", "minus", "Orphaned", "It was cancelled, because "+orphanedText(log)+".", ""
		default:
			continue
		}
		if tries != "" {
			m.text = "No 2xx after " + tries + " attempts."
		}
		moments = append(moments, m)
	}
	return moments
}

func (d *Job) end() (moment, bool) {
	j := d.Job
	switch j.State {
	case job.Completed:
		return moment{tone: "good", icon: "check", title: "Completed", at: j.CompletedAt}, true
	case job.Discarded:
		return moment{tone: "bad", icon: "cross", title: ui.StateLabel(job.Discarded), at: j.DiscardedAt, text: d.whyDiscarded()}, true
	case job.Cancelled:
		return moment{tone: "calm", icon: "minus", title: "Cancelled", at: j.CancelledAt}, true
	default:
		return moment{}, false
	}
}

func (d *Job) whyDiscarded() string {
	switch last := len(d.Attempts) - 1; {
	case last >= 0 && d.Attempts[last].Kind == string(job.KindBlocked):
		return "Jobs may not call this address, so there is no retry."
	case last >= 0 && job.Kind(d.Attempts[last].Kind).Permanent():
		return "Another attempt would fail in the same way, so there is no retry."
	case d.started() > d.Spec.Retries:
		if d.Spec.Retries == 0 {
			return "The job has no retries."
		}
		return "That was the last of " + ui.Plural(d.Spec.Retries+1, "attempt", "attempts") + "."
	case d.Job.ScheduleID == uuid.Nil:
		return ""
	default:
		return "There is no retry, because the schedule's next run is due before it."
	}
}

// toCome returns what is still to come: the due time, the next attempt, deliveries.
func (d *Job) toCome() []moment {
	var moments []moment
	j := d.Job
	if j.ScheduledAt.After(d.Now) && !j.State.Final() {
		moments = append(moments, d.due())
	}
	if j.State == job.Retryable {
		m := moment{tone: "soon", icon: "retry", title: "Attempt " + strconv.Itoa(j.Attempt+1), at: j.DueAt}
		if more := d.Spec.Retries - j.Attempt; more > 0 {
			m.text = "If it fails too, up to " + ui.Plural(more, "attempt follows", "attempts follow") + "."
		} else {
			m.text = "The last attempt."
		}
		moments = append(moments, m)
	}
	for _, delivery := range d.Deliveries {
		moments = append(moments, deliveryMoment(delivery))
	}
	if j.State.Final() {
		moments = append(moments, d.delivered()...)
	}
	return moments
}

func deliveryMoment(d *job.Delivery) moment {
	m := moment{tone: "soon", icon: "bell", title: "Callback", at: d.DueAt}
	if d.Channel == job.Webhook {
		m.title = "Event " + d.Event
	}
	switch {
	case d.DueAt.IsZero():
		m.text = "Waiting for the previous event."
	case d.Attempt > 0:
		m.text = ui.Plural(d.Attempt, "attempt", "attempts") + " without a 2xx response; retrying."
	}
	return m
}

// delivered returns the callback and the webhook if everything was delivered to
// them.
func (d *Job) delivered() []moment {
	var moments []moment
	for _, x := range []struct {
		url     string
		channel job.Channel
		failed  string
		title   string
	}{
		{d.Spec.CallbackURL, job.Callback, job.EventCallbackFailed, "The callback was delivered"},
		{d.Spec.WebhookURL, job.Webhook, job.EventWebhookFailed, "All events were delivered to the webhook"},
	} {
		open := slices.ContainsFunc(d.Deliveries, func(m *job.Delivery) bool { return m.Channel == x.channel })
		failed := slices.ContainsFunc(d.Logs, func(l *job.Log) bool { return l.Event == x.failed })
		never := x.channel == job.Callback && d.Job.State == job.Cancelled
		if x.url != "" && !open && !failed && !never {
			moments = append(moments, moment{tone: "good", icon: "bell", title: x.title})
		}
	}
	return moments
}
