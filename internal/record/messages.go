package record

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The events that webhooks tell of.
const (
	eventStarted  = "job.started"
	eventRequest  = "job.request"
	eventResponse = "job.response"
	eventError    = "job.error"
	eventFinished = "job.finished"
)

// attempt is what is known of an attempt when a message about it is written.
type attempt struct {
	number   int
	request  *job.Outgoing // nil when none was made
	outcome  *job.Outcome  // nil while there is none
	retryAt  time.Time     // zero when it was the last
	hasRetry bool          // whether the message says if it is made again
}

// failure says what made the attempt fail; nil for a success.
func (a *attempt) failure() *job.Failure {
	switch {
	case a.outcome == nil || a.outcome.Succeeded():
		return nil
	case a.outcome.Failure != nil:
		return a.outcome.Failure
	default:
		return &job.Failure{Kind: job.KindStatus, Message: "the target answered " + strconv.Itoa(a.outcome.Response.Status) + ", not 2xx"}
	}
}

// webhook makes the message that tells of an event at a time.
func webhook(j *job.Job, spec *job.Spec, event string, at time.Time, a *attempt) job.Delivery {
	b := []byte(`{"type":`)
	b = rawjson.AppendText(b, event)
	b = append(b, `,"timestamp":"`...)
	b = append(b, job.FormatTime(at)...)
	b = append(b, `","data":{"job":`...)
	b = job.AppendJob(b, j, false)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(a.number), 10)
	if a.request != nil {
		b = append(b, `,"request":`...)
		b = a.request.AppendRequest(b)
	}
	if a.outcome != nil && a.outcome.Response != nil {
		b = appendResponse(append(b, `,"response":`...), a.outcome)
	}
	if failure := a.failure(); failure != nil && event != eventResponse {
		b = appendFailure(append(b, `,"error":`...), failure)
	}
	if a.hasRetry {
		b = appendRetry(append(b, `,"retry_at":`...), a.retryAt)
	}
	b = append(b, `}}`...)
	d := delivery(j, a.number, at, b)
	d.Channel, d.URL, d.Event = job.Webhook, spec.WebhookURL, event
	return d
}

// callback makes the message that tells of the result.
func callback(j *job.Job, spec *job.Spec, at time.Time, a *attempt) job.Delivery {
	b := []byte(`{"job":`)
	b = job.AppendJob(b, j, false)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(a.number), 10)
	b = append(b, `,"request":`...)
	if a.request != nil {
		b = a.request.AppendRequest(b)
	} else {
		b = append(b, `null`...)
	}
	b = append(b, `,"response":`...)
	if a.outcome.Response != nil {
		b = appendResponse(b, a.outcome)
	} else {
		b = append(b, `null`...)
	}
	b = append(b, `,"error":`...)
	if failure := a.failure(); failure != nil {
		b = appendFailure(b, failure)
	} else {
		b = append(b, `null`...)
	}
	d := delivery(j, a.number, at, append(b, '}'))
	d.Channel, d.URL = job.Callback, spec.CallbackURL
	return d
}

func delivery(j *job.Job, number int, at time.Time, body []byte) job.Delivery {
	return job.Delivery{
		MessageID: "msg_" + uuid.NewString(), Owner: j.Owner, Job: j.Number, JobAttempt: number, DueAt: at, Body: body,
	}
}

func appendResponse(b []byte, o *job.Outcome) []byte {
	b = append(b, '{')
	b = job.AppendResponse(b, o.Response, o.Duration)
	return append(b, '}')
}

func appendFailure(b []byte, f *job.Failure) []byte {
	b = append(b, '{')
	b = job.AppendFailure(b, f)
	return append(b, '}')
}

func appendRetry(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return append(b, `null`...)
	}
	b = append(b, '"')
	b = append(b, job.FormatTime(at)...)
	return append(b, '"')
}

func newLog(owner job.Owner, number int64, event string, at time.Time, payload []byte) job.Log {
	return job.Log{ID: job.NewID(at), Owner: owner, Job: number, Event: event, InsertedAt: at, Payload: payload}
}

// outcomeLog tells how an attempt ended.
func outcomeLog(j *job.Job, at time.Time, a *attempt) job.Log {
	o := a.outcome
	event, b := job.EventResponse, []byte{'{'}
	if o.Response != nil {
		b = job.AppendResponse(b, o.Response, o.Duration)
	} else {
		event = job.EventError
		b = job.AppendFailure(b, o.Failure)
		b = append(b, `,"duration_ms":`...)
		b = job.AppendMillis(b, o.Duration)
	}
	if !o.Succeeded() {
		b = append(b, `,"attempt":`...)
		b = strconv.AppendInt(b, int64(a.number), 10)
		b = appendRetry(append(b, `,"retry_at":`...), a.retryAt)
	}
	return newLog(j.Owner, j.Number, event, at, append(b, '}'))
}
