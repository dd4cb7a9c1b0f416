package qstash

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The prefixes of ids.
const (
	messagePrefix  = "msg_"
	schedulePrefix = "scd_"
	deadPrefix     = "dlq_"
)

// record is what messages, schedules and dead letters show of a job.
type record struct {
	TopicName       string              `json:"topicName,omitempty"`
	EndpointName    string              `json:"endpointName,omitempty"`
	Method          string              `json:"method"`
	Header          map[string][]string `json:"header,omitempty"`
	Body            string              `json:"body,omitempty"`
	BodyBase64      string              `json:"bodyBase64,omitempty"`
	RetryDelay      string              `json:"retryDelayExpression,omitempty"`
	Callback        string              `json:"callback,omitempty"`
	FailureCallback string              `json:"failureCallback,omitempty"`
	QueueName       string              `json:"queueName,omitempty"`
	CallerIP        string              `json:"callerIP,omitempty"`
	CallerIp        string              `json:"callerIp,omitempty"` // as the client's types have it
	FlowControlKey  string              `json:"flowControlKey,omitempty"`
	Parallelism     int                 `json:"parallelism,omitempty"`
	Rate            int                 `json:"rate,omitempty"`
	Period          int64               `json:"period,omitempty"`
	Label           string              `json:"label,omitempty"`
	Labels          []string            `json:"labels,omitempty"`
}

// shownMessage is a message as clients see it.
type shownMessage struct {
	MessageID string `json:"messageId"`
	URL       string `json:"url"`
	record
	MaxRetries int    `json:"maxRetries"`
	NotBefore  int64  `json:"notBefore"`
	CreatedAt  int64  `json:"createdAt"`
	ScheduleID string `json:"scheduleId,omitempty"`
}

// limits reads the limits that records show, each once.
type limitReader struct {
	c     *call
	known map[string]*limit.Record
}

func (c *call) limitReader() *limitReader { return &limitReader{c, map[string]*limit.Record{}} }

// read returns a limit; nil if there is none.
func (l *limitReader) read(ctx context.Context, key string) (*limit.Record, error) {
	if found, ok := l.known[key]; ok {
		return found, nil
	}
	use, err := l.c.api.Service.Limit(ctx, l.c.Owner, key)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	if err == nil {
		l.known[key] = &use.Record
	} else {
		l.known[key] = nil
	}
	return l.known[key], nil
}

// record returns what is shown of args.
func (l *limitReader) record(ctx context.Context, spec *job.Spec) (record, error) {
	d := spec.Dialect
	r := record{
		TopicName: d.Group, EndpointName: d.Endpoint, Method: strings.ToUpper(spec.Method), Header: job.HeaderOf(spec.Headers),
		RetryDelay: spec.RetryDelay,
		Callback:   urlOf(d.Callback), FailureCallback: urlOf(d.FailureCallback), QueueName: d.Queue, CallerIP: d.CallerIP,
		CallerIp:       d.CallerIP,
		FlowControlKey: d.FlowControl, Labels: d.Labels,
	}
	if len(d.Labels) > 0 {
		r.Label = d.Labels[0]
	}
	if text := rawjson.Text(spec.BodyBase64); text == job.RedactedText {
		r.Body = text
	} else if body, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(body) {
		r.Body = string(body)
	} else {
		r.BodyBase64 = text
	}
	if d.FlowControl == "" {
		return r, nil
	}
	found, err := l.read(ctx, limitKey(d.FlowControl))
	if found != nil {
		r.Parallelism, r.Rate, r.Period = found.Parallel, found.Calls, int64(found.Per.Seconds())
	}
	return r, err
}

func urlOf(followUp rawjson.Value) string {
	if followUp == nil {
		return ""
	}
	return rawjson.Text(rawjson.Get(followUp, "url"))
}

func (l *limitReader) message(ctx context.Context, j *job.Job, spec *job.Spec) (shownMessage, error) {
	r, err := l.record(ctx, spec)
	m := shownMessage{
		MessageID: lifecycle.MessageID(j.ID), URL: spec.URL, record: r, MaxRetries: spec.Retries,
		NotBefore: j.ScheduledAt.UnixMilli(), CreatedAt: j.InsertedAt.UnixMilli(),
	}
	if j.ScheduleID != uuid.Nil {
		m.ScheduleID = lifecycle.ScheduleID(j.ScheduleID, j.Key)
	}
	return m, err
}

// idOf returns the id of a job in an id with a prefix.
func idOf(text, prefix string) (job.Ref, bool) {
	text, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return job.Ref{}, false
	}
	id, err := uuid.Parse(text)
	return job.Ref{UUID: id}, err == nil && id.String() == text
}

func noMessage(id string) error {
	return fault.New(fault.NotFound, "message "+id+" not found")
}

// find returns a message.
func (c *call) find(ctx context.Context, id string) (*job.Job, *job.Spec, error) {
	ref, ok := idOf(id, messagePrefix)
	if !ok {
		return nil, nil, noMessage(id)
	}
	j, err := c.api.Service.Job(ctx, c.Owner, ref)
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			err = noMessage(id)
		}
		return nil, nil, err
	}
	spec := job.ReadSpec(j.Args)
	if !spec.Dialect.Speaks(job.DialectQStash) {
		return nil, nil, noMessage(id)
	}
	return j, &spec, nil
}

func (c *call) getMessage() error {
	ctx := c.Request.Context()
	j, spec, err := c.find(ctx, c.values[0])
	if err != nil {
		return err
	}
	m, err := c.limitReader().message(ctx, j, spec)
	if err != nil {
		return err
	}
	return c.write(m)
}

// cancelled is the result of a cancel.
type cancelled struct {
	Cancelled int `json:"cancelled"`
}

func (c *call) cancelMessage() error {
	ctx := c.Request.Context()
	j, _, err := c.find(ctx, c.values[0])
	if err != nil {
		return err
	}
	done, err := c.cancel(ctx, j)
	if err != nil {
		return err
	}
	if !done {
		return noMessage(c.values[0])
	}
	return c.write(cancelled{1})
}

// cancel cancels a message, and reports whether it was not final before.
func (c *call) cancel(ctx context.Context, j *job.Job) (bool, error) {
	if j.State.Final() {
		return false, nil
	}
	done, err := c.api.Service.CancelPending(ctx, c.Owner, job.Ref{Number: j.Number})
	if fault.CodeOf(err) == fault.NotFound && err != nil {
		return false, nil
	}
	return done, err
}

// pending are the states of messages that can be cancelled.
var pending = []job.State{job.Available, job.Retryable, job.Executing}

// maxCancelled is how many messages one call cancels at most.
const maxCancelled = 10_000

func (c *call) cancelMessages() error {
	ctx := c.Request.Context()
	f, err := c.filter(forMessages)
	if err != nil {
		return err
	}
	if f.count == 0 {
		f.count = maxCancelled
	}
	if err := c.named(f); err != nil {
		return err
	}
	n := 0
	err = c.each(ctx, f, pending, func(j *job.Job) (bool, error) {
		done, err := c.cancel(ctx, j)
		if done {
			n++
		}
		return n < f.count, err
	})
	if err != nil {
		return err
	}
	return c.write(cancelled{n})
}
