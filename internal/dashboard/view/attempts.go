package view

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Attempt is an attempt of a job, read from its logs.
type Attempt struct {
	Number    int
	StartedAt time.Time
	Request   *job.Log // nil if the log was deleted
	Outcome   *job.Log // nil while the attempt is under way
	Responded bool     // there was a complete response, which is the outcome
	Awaited   bool     // the target accepted the job and was to report the outcome
	Status    int
	Kind      string // of the error; "" if the status of the response is why it failed
	Message   string // why it failed, in a sentence
	Duration  time.Duration
	RetryAt   time.Time // zero for none
}

// succeeded reports whether the attempt succeeded, as was decided when it ended.
func (a *Attempt) succeeded() bool { return a.Outcome != nil && a.Outcome.Succeeded() }

// interrupted reports whether the service stopped during the attempt. Such an
// attempt does not count.
func (a *Attempt) interrupted() bool { return a.Kind == string(job.KindInterrupted) }

// AttemptsOf reads the attempts of a job from its logs, oldest first. The number
// of an attempt is the one in its outcome, else the next one.
func AttemptsOf(logs []*job.Log) []Attempt {
	var attempts []Attempt
	next := 1
	for _, log := range logs {
		switch log.Event {
		case job.EventRequest:
			attempts = append(attempts, Attempt{Number: next, StartedAt: log.InsertedAt, Request: log})
		case job.EventResponse, job.EventError, job.EventCompletion:
			if len(attempts) == 0 || attempts[len(attempts)-1].Outcome != nil {
				attempts = append(attempts, Attempt{Number: next, StartedAt: log.InsertedAt})
			}
			last := &attempts[len(attempts)-1]
			if log.Awaiting() {
				last.Awaited = true
				continue
			}
			last.end(log)
			if next = last.Number; !last.interrupted() {
				next++
			}
		}
	}
	return attempts
}

// end reads the outcome of an attempt from its log.
func (a *Attempt) end(log *job.Log) {
	a.Outcome, a.Responded = log, log.Event == job.EventResponse
	for _, m := range rawjson.Members(log.Payload) {
		switch m.Name {
		case "status":
			a.Status, _ = strconv.Atoi(string(m.Value))
		case "kind":
			a.Kind = rawjson.Text(m.Value)
		case "message":
			a.Message = rawjson.Text(m.Value)
		case "duration_ms":
			ms, _ := strconv.ParseFloat(string(m.Value), 64)
			a.Duration = time.Duration(ms * float64(time.Millisecond))
		case "attempt":
			if n, err := strconv.Atoi(string(m.Value)); err == nil {
				a.Number = n
			}
		case "retry_at":
			a.RetryAt, _ = time.Parse(time.RFC3339Nano, rawjson.Text(m.Value))
		case "error":
			a.Kind, a.Message = rawjson.Text(rawjson.Get(m.Value, "kind")), rawjson.Text(rawjson.Get(m.Value, "message"))
		}
	}
	if a.Responded && a.Kind == "" && !log.Succeeded() {
		a.Message = job.StatusFailure(a.Status).Message
	}
	if a.Request == nil {
		a.StartedAt = log.InsertedAt.Add(-a.Duration)
	}
}

// responseBody returns the body in a response's log as text, indented if it is
// JSON. encoded reports whether it is base64.
func responseBody(log *job.Log) (text string, encoded bool) {
	body := rawjson.Get(log.Payload, "body")
	encoded = rawjson.Get(log.Payload, "encoding") != nil
	if body.Kind() == '"' {
		return rawjson.Text(body), encoded
	}
	if rawjson.IsNull(body) {
		return "", encoded
	}
	return ui.Pretty(body), encoded
}

// withheld reports whether a response's body was not stored.
func withheld(log *job.Log) bool { return string(rawjson.Get(log.Payload, "withheld")) == "true" }

const base64Text = "The body is not text; this is its base64."

const withheldText = "The body was not stored: it has a content coding, in which secrets can't be masked."

// truncated reports whether a response's body was longer than what is stored.
func truncated(log *job.Log) bool { return string(rawjson.Get(log.Payload, "truncated")) == "true" }
