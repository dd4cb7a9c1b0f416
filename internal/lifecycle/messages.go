package lifecycle

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The event types of webhooks.
const (
	eventStarted  = "job.started"
	eventRequest  = "job.request"
	eventResponse = "job.response"
	eventError    = "job.error"
	eventFinished = "job.finished"
)

// messageData is what a delivery or a log reports about an attempt.
type messageData struct {
	number   int
	method   string       // of the request; "" if none was sent
	request  passage      // the members of the request's log
	args     shared       // what the job's args have in common with that log
	outcome  *job.Outcome // nil while there is none
	verdict  Verdict      // on the outcome
	response passage      // the members that describe the outcome's response
	reply    reply        // to the clients of a dialect; nil for none
	retryAt  time.Time    // zero if there is no retry
	hasRetry bool         // whether the message has retry_at
	// later is set if the outcome came after the response, whose log and event are
	// stored; result is what the target reported then.
	later  bool
	result passage
}

// failure returns why the attempt failed, or nil if it succeeded.
func (a *messageData) failure() *job.Failure {
	switch {
	case a.outcome == nil || a.verdict == Succeeded || a.verdict == Awaiting:
		return nil
	case a.outcome.Failure != nil:
		return a.outcome.Failure
	default:
		return &job.Failure{Kind: job.KindStatus, Message: "the target responded with " + strconv.Itoa(a.outcome.Response.Status) +
			", which is no success"}
	}
}

// webhook returns the delivery of an event.
func webhook(j *job.Job, spec *job.Spec, event string, at time.Time, a *messageData) job.Delivery {
	t := &text{bytes: []byte(`{"type":`)}
	t.bytes = rawjson.AppendText(t.bytes, event)
	t.string(`,"timestamp":"` + job.FormatTime(at) + `","data":{"job":`)
	a.addJob(t, j)
	t.string(`,"attempt":`)
	t.bytes = strconv.AppendInt(t.bytes, int64(a.number), 10)
	if a.method != "" {
		t.string(`,"request":`)
		a.addRequest(t)
	}
	if a.outcome != nil && a.outcome.Response != nil {
		t.string(`,"response":`)
		a.addResponse(t)
	}
	if a.result.text != nil {
		t.string(`,"result":`)
		t.add(a.result)
	}
	if failure := a.failure(); failure != nil && event != eventResponse {
		t.bytes = appendFailure(append(t.bytes, `,"error":`...), failure)
	}
	if a.hasRetry {
		t.bytes = appendRetry(append(t.bytes, `,"retry_at":`...), a.retryAt)
	}
	t.string(`}}`)
	d := delivery(j, a.number, at, t)
	d.Channel, d.URL, d.Event = job.Webhook, spec.WebhookURL, event
	return d
}

// callback returns the delivery of the job's result.
func callback(j *job.Job, spec *job.Spec, at time.Time, a *messageData) job.Delivery {
	t := &text{bytes: []byte(`{"job":`)}
	a.addJob(t, j)
	t.string(`,"attempt":`)
	t.bytes = strconv.AppendInt(t.bytes, int64(a.number), 10)
	t.string(`,"request":`)
	if a.method != "" {
		a.addRequest(t)
	} else {
		t.string(`null`)
	}
	t.string(`,"response":`)
	if a.outcome.Response != nil {
		a.addResponse(t)
	} else {
		t.string(`null`)
	}
	t.string(`,"error":`)
	if failure := a.failure(); failure != nil {
		t.bytes = appendFailure(t.bytes, failure)
	} else {
		t.string(`null`)
	}
	if a.result.text != nil {
		t.string(`,"result":`)
		t.add(a.result)
	}
	t.string(`}`)
	d := delivery(j, a.number, at, t)
	d.Channel, d.URL = job.Callback, spec.CallbackURL
	return d
}

// addJob appends the job's record, of whose args it repeats nothing large that the
// request's log has.
func (a *messageData) addJob(t *text, j *job.Job) {
	n := len(a.args.text)
	if n == 0 || a.args.at+n > len(j.Args) {
		t.bytes = job.AppendJob(t.bytes, j, false)
		return
	}
	bare := *j
	bare.Args = nil
	t.bytes = job.AppendJob(t.bytes, &bare, false)
	t.bytes = t.bytes[:len(t.bytes)-1] // args are the last member
	t.bytes = append(t.bytes, j.Args[:a.args.at]...)
	t.add(a.args.passage)
	t.bytes = append(append(t.bytes, j.Args[a.args.at+n:]...), '}')
}

func (a *messageData) addRequest(t *text) {
	t.string(`{"method":`)
	t.bytes = rawjson.AppendText(t.bytes, a.method)
	t.string(`,`)
	t.add(a.request)
	t.string(`}`)
}

func (a *messageData) addResponse(t *text) {
	t.string(`{`)
	t.add(a.response)
	t.string(`}`)
}

func delivery(j *job.Job, number int, at time.Time, t *text) job.Delivery {
	return job.Delivery{
		MessageID: "msg_" + uuid.NewString(), Owner: j.Owner, Job: j.Number, JobAttempt: number, DueAt: at, Body: t.bytes, Parts: t.parts,
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

// resultMember begins the log of a result, which stands from byte resultInLog on.
const (
	resultMember = `"result":`
	resultInLog  = 1 + len(resultMember)
)

// outcomeLog returns the log of an attempt's outcome.
func outcomeLog(j *job.Job, at time.Time, a *messageData) job.Log {
	o := a.outcome
	event, b := job.EventResponse, append(make([]byte, 0, len(a.response.text)+len(a.result.text)+128), '{')
	switch {
	case a.later && a.verdict == Succeeded:
		event = job.EventCompletion
		b = append(append(b, resultMember...), a.result.text...)
	case a.later || o.Response == nil:
		event = job.EventError
		b = job.AppendFailure(b, o.Failure)
	default:
		b = job.AppendTimings(append(b, a.response.text...), o.Timings)
		if o.Failure != nil {
			b = appendFailure(append(b, `,"error":`...), o.Failure)
		}
	}
	if event != job.EventResponse {
		b = append(b, `,"duration_ms":`...)
		b = job.AppendTimings(job.AppendMillis(b, o.Duration), o.Timings)
	}
	if a.verdict == Awaiting {
		return newLog(j.Owner, j.Number, event, at, append(b, awaitingSuffix...))
	}
	if a.verdict != Succeeded {
		b = append(b, `,"attempt":`...)
		b = strconv.AppendInt(b, int64(a.number), 10)
		b = appendRetry(append(b, `,"retry_at":`...), a.retryAt)
	}
	return newLog(j.Owner, j.Number, event, at, append(b, '}'))
}
