package lifecycle

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// reply is the outcome of an attempt as the callbacks of a dialect show it: an object
// without its closing brace. It is written before the transaction that stores the
// outcome, because others wait for that.
type reply []byte

// replyOf returns the reply of an attempt; nil if its job has no follow-ups.
func (a *Attempt) replyOf(o *job.Outcome, v Verdict) reply {
	d := a.Spec.Dialect
	if d == nil || d.Callback == nil && d.FailureCallback == nil || v != Succeeded && v != Failed {
		return nil
	}
	j := a.Item.Job
	shown := job.ReadSpec(j.Args) // without what is redacted
	b := make([]byte, 0, 1024+len(a.Spec.BodyBase64))
	b = appendReplied(append(b, '{'), o)
	b = strconv.AppendInt(append(b, `,"retried":`...), int64(a.Number-1), 10)
	b = strconv.AppendInt(append(b, `,"maxRetries":`...), int64(a.Spec.Retries), 10)
	b = rawjson.AppendText(append(b, `,"sourceMessageId":`...), MessageID(j.ID))
	b = appendGiven(b, "topicName", d.Group)
	b = appendGiven(b, "endpointName", d.Endpoint)
	b = rawjson.AppendText(append(b, `,"url":`...), a.Spec.URL)
	b = rawjson.AppendText(append(b, `,"method":`...), a.Outgoing.Method)
	b = append(append(b, `,"sourceHeader":`...), job.HeaderLists(shown.Headers)...)
	if d.Run != "" {
		b = appendGiven(b, "workflowRunId", d.Run) // whose payload is added when the body is sent
	} else {
		b = append(b, `,"sourceBody":`...)
		if body := shown.BodyBase64; body != nil {
			b = append(b, body...)
		} else {
			b = append(b, `""`...)
		}
	}
	b = strconv.AppendInt(append(b, `,"notBefore":`...), j.ScheduledAt.UnixMilli(), 10)
	b = strconv.AppendInt(append(b, `,"createdAt":`...), j.InsertedAt.UnixMilli(), 10)
	if j.ScheduleID != uuid.Nil {
		b = appendGiven(b, "scheduleId", ScheduleID(j.ScheduleID, j.Key))
	}
	return appendGiven(b, "callerIP", d.CallerIP)
}

func appendReplied(b []byte, o *job.Outcome) []byte {
	status, body := 0, []byte(nil)
	if r := o.Response; r != nil {
		status, body = r.Status, r.Body
		if r.Withheld {
			body = nil
		}
	} else if o.Failure != nil {
		body = []byte(o.Failure.Message)
	}
	b = strconv.AppendInt(append(b, `"status":`...), int64(status), 10)
	b = append(b, `,"header":`...)
	if o.Response != nil {
		b = job.AppendHeaderLists(b, o.Response.Header)
	} else {
		b = append(b, `{}`...)
	}
	b = base64.StdEncoding.AppendEncode(append(b, `,"body":"`...), body)
	b = append(b, '"')
	if o.Response != nil && o.Response.Truncated {
		b = append(b, `,"truncated":true`...)
	}
	return b
}

func appendGiven(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return rawjson.AppendText(append(append(append(b, `,"`...), name...), `":`...), text)
}

// MessageID returns the id of a job in the QStash API.
func MessageID(id uuid.UUID) string { return "msg_" + id.String() }

// DeadID returns the id of a failed job in the dead letter queue of the QStash API.
func DeadID(id uuid.UUID) string { return "dlq_" + id.String() }

// ScheduleID returns the id of a schedule in the QStash API: the key that its client has
// chosen, if there is one.
func ScheduleID(id uuid.UUID, key *string) string {
	if key != nil {
		return *key
	}
	return "scd_" + id.String()
}

// addFollowUps creates the jobs that a dialect's client asked for after the attempt.
func (e *ending) addFollowUps() {
	if e.about.reply == nil {
		return
	}
	d, failed := e.Spec.Dialect, e.job.State == job.Discarded
	body := []byte(e.about.reply)
	if failed {
		body = rawjson.AppendText(append(body[:len(body):len(body)], `,"dlqId":`...), DeadID(e.job.ID))
	}
	body = append(body[:len(body):len(body)], '}')
	callback := workflow.CallbackText(d.Step, e.job.State.Final())
	if d.Callback != nil {
		child := &job.Dialect{}
		if callback != "" { // its failure is one of the run
			child = &job.Dialect{Run: d.Run, Step: callback, Labels: d.Labels, FailureCallback: d.FailureCallback}
		}
		e.addFollowUp(d.Callback, child, body)
	}
	if d.FailureCallback != nil && failed && callback == "" {
		child := &job.Dialect{}
		if d.Run != "" {
			child = &job.Dialect{Run: d.Run, Step: workflow.FailureText, Labels: d.Labels}
		}
		e.addFollowUp(d.FailureCallback, child, body)
	}
}

func (e *ending) addFollowUp(fields rawjson.Value, dialect *job.Dialect, body []byte) {
	now := e.at.Add(time.Microsecond) // after what it reports
	dialect.API, dialect.Source = job.DialectQStash, MessageID(e.job.ID)
	j, spec := job.FollowUp(fields, dialect, e.job, body, now)
	e.changes.Also = append(e.changes.Also, store.NewJob{Job: j, Lane: job.Lane(spec.URL)})
}
