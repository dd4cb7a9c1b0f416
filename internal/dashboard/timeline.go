package dashboard

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

// moment is a line of a job's timeline.
type moment struct {
	tone, icon, title string
	at                time.Time // zero when it is not known
	text              string
	link, linkText    string
}

// timeline gives what happened to a job and what is to come, in order.
func (d *jobDetail) timeline(href func(format string, args ...any) string) []moment {
	past := []moment{{tone: "calm", icon: "plus", title: "Created", at: d.job.InsertedAt}}
	if due := d.due(); !d.job.ScheduledAt.After(d.now) {
		past = append(past, due)
	}
	for i := range d.attempts {
		past = append(past, d.attemptMoment(&d.attempts[i], i == 0, href))
	}
	past = append(past, d.failedMessages()...)
	if end, ok := d.end(); ok {
		past = append(past, end)
	}
	slices.SortStableFunc(past, func(a, b moment) int { return a.at.Compare(b.at) })
	return append(past, d.toCome()...)
}

func (d *jobDetail) due() moment {
	m := moment{tone: "calm", icon: "clock", title: "Due", at: d.job.ScheduledAt}
	if d.job.ScheduledAt.After(d.now) {
		m.tone = "soon"
	} else if d.job.ScheduledAt.Before(d.job.InsertedAt) {
		m.text = "Past when the job was created, so it was due at once."
	}
	return m
}

func (d *jobDetail) attemptMoment(a *attempt, first bool, href func(string, ...any) string) moment {
	name := "Attempt " + strconv.Itoa(a.number)
	m := moment{at: a.began}
	switch {
	case a.outcome == nil && d.job.State.Final():
		m.tone, m.icon, m.title = "calm", "minus", name+" was broken off"
	case a.outcome == nil:
		m.tone, m.icon, m.title = "busy", "play", name+" is under way"
	case a.succeeded():
		m.tone, m.icon, m.title = "good", "check", fmt.Sprintf("%s was answered with %d", name, a.status)
	case a.answered:
		m.tone, m.icon, m.title = "bad", "cross", fmt.Sprintf("%s was answered with %d", name, a.status)
	case a.interrupted():
		m.tone, m.icon, m.title = "warn", "warning", name+" was interrupted"
	default:
		m.tone, m.icon, m.title = "bad", "cross", name+" failed: "+a.kind
	}
	if late := a.began.Sub(d.job.ScheduledAt); first && late >= 0 && !d.job.ScheduledAt.Before(d.job.InsertedAt) {
		m.text = "Began " + ui.Millis(late) + " after it was due. "
	}
	if a.outcome == nil {
		return m
	}
	m.text += "Took " + ui.Millis(a.duration) + "."
	if a.message != "" {
		m.text += " " + capital(a.message)
	}
	m.link, m.linkText = href("/jobs/%d/logs/%s", d.job.Number, a.outcome.ID), "What came back"
	return m
}

// failedMessages are the callbacks and events that were given up.
func (d *jobDetail) failedMessages() []moment {
	var moments []moment
	for _, log := range d.logs {
		m := moment{tone: "bad", icon: "bell", at: log.InsertedAt}
		tries := string(rawjson.Get(log.Payload, "attempts"))
		switch log.Event {
		case job.EventCallbackFailed:
			m.title = "The callback was given up"
		case job.EventWebhookFailed:
			m.title = "The event " + rawjson.Text(rawjson.Get(log.Payload, "type")) + " was given up"
		case job.EventStateRejected:
			m.title, m.icon, tries = "The new $state was refused: it is too large", "warning", ""
		default:
			continue
		}
		if tries != "" {
			m.text = "No 2xx after " + tries + " tries."
		}
		moments = append(moments, m)
	}
	return moments
}

func (d *jobDetail) end() (moment, bool) {
	j := d.job
	switch j.State {
	case job.Completed:
		return moment{tone: "good", icon: "check", title: "Completed", at: j.CompletedAt}, true
	case job.Discarded:
		return moment{tone: "bad", icon: "cross", title: "Discarded", at: j.DiscardedAt, text: d.whyDiscarded()}, true
	case job.Cancelled:
		return moment{tone: "calm", icon: "minus", title: "Cancelled", at: j.CancelledAt}, true
	default:
		return moment{}, false
	}
}

func (d *jobDetail) whyDiscarded() string {
	switch last := len(d.attempts) - 1; {
	case last >= 0 && d.attempts[last].kind == string(job.KindBlocked):
		return "The address may not be called, so it is not tried again."
	case last >= 0 && job.Kind(d.attempts[last].kind).Permanent():
		return "Another attempt would fail in the same way, so it is not tried again."
	case d.begun() > d.spec.Retries:
		return "That was the last of " + ui.Plural(d.spec.Retries+1, "attempt", "attempts") + "."
	case d.job.ScheduleID == uuid.Nil:
		return ""
	default:
		return "The next try would have come too late: the schedule's next run takes its place."
	}
}

// toCome is what is ahead: the due time, the next attempt, messages.
func (d *jobDetail) toCome() []moment {
	var moments []moment
	j := d.job
	if j.ScheduledAt.After(d.now) && !j.State.Final() {
		moments = append(moments, d.due())
	}
	if j.State == job.Retryable {
		m := moment{tone: "soon", icon: "retry", title: "Attempt " + strconv.Itoa(j.Attempt+1), at: j.DueAt}
		if more := d.spec.Retries - j.Attempt; more > 0 {
			m.text = "If it fails too, up to " + ui.Plural(more, "attempt follows", "attempts follow") + "."
		} else {
			m.text = "The last one."
		}
		moments = append(moments, m)
	}
	for _, message := range d.messages {
		moments = append(moments, messageMoment(message))
	}
	if j.State.Final() {
		moments = append(moments, d.delivered()...)
	}
	return moments
}

func messageMoment(d *job.Delivery) moment {
	m := moment{tone: "soon", icon: "bell", title: "Callback", at: d.DueAt}
	if d.Channel == job.Webhook {
		m.title = "Event " + d.Event
	}
	switch {
	case d.DueAt.IsZero():
		m.text = "Waits for the one before it."
	case d.Attempt > 0:
		m.text = ui.Plural(d.Attempt, "try", "tries") + " without a 2xx; it is tried again."
	}
	return m
}

// delivered tells of the messages of which nothing is left to do.
func (d *jobDetail) delivered() []moment {
	var moments []moment
	for _, x := range []struct {
		url     string
		channel job.Channel
		failed  string
		title   string
	}{
		{d.spec.CallbackURL, job.Callback, job.EventCallbackFailed, "The callback was delivered"},
		{d.spec.WebhookURL, job.Webhook, job.EventWebhookFailed, "All events were delivered to the webhook"},
	} {
		open := slices.ContainsFunc(d.messages, func(m *job.Delivery) bool { return m.Channel == x.channel })
		failed := slices.ContainsFunc(d.logs, func(l *job.Log) bool { return l.Event == x.failed })
		never := x.channel == job.Callback && d.job.State == job.Cancelled
		if x.url != "" && !open && !failed && !never {
			moments = append(moments, moment{tone: "good", icon: "bell", title: x.title})
		}
	}
	return moments
}
