package qstash

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// The states of messages in logs.
const (
	stateCreated   = "CREATED"
	stateActive    = "ACTIVE"
	stateRetry     = "RETRY"
	stateError     = "ERROR"
	stateDelivered = "DELIVERED"
	stateFailed    = "FAILED"
	stateCancelled = "CANCELED"
	inProgress     = "IN_PROGRESS" // selects ACTIVE, RETRY and ERROR
)

var logStates = []string{
	stateCreated, stateActive, stateRetry, stateError, stateDelivered, stateFailed, stateCancelled, inProgress, "CANCELLED",
	"CANCEL_REQUESTED",
}

// event is an entry of the logs as clients see it.
type event struct {
	Time       int64  `json:"time"`
	State      string `json:"state"`
	MessageID  string `json:"messageId"`
	Next       int64  `json:"nextDeliveryTime,omitempty"`
	Error      string `json:"error,omitempty"`
	URL        string `json:"url"`
	ScheduleID string `json:"scheduleId,omitempty"`
	eventRecord
	Status   int                 `json:"responseStatus,omitempty"`
	Response string              `json:"responseBody,omitempty"` // base64
	Headers  map[string][]string `json:"responseHeaders,omitempty"`

	at time.Time
}

// eventRecord is what all events of a message show of it.
type eventRecord struct {
	Topic      string              `json:"topicName,omitempty"`
	Endpoint   string              `json:"endpointName,omitempty"`
	Queue      string              `json:"queueName,omitempty"`
	Header     map[string][]string `json:"header,omitempty"`
	Body       string              `json:"body,omitempty"` // base64
	Method     string              `json:"method"`
	Timeout    int64               `json:"timeout"` // milliseconds
	MaxRetries int                 `json:"maxRetries"`
	RetryDelay string              `json:"retryDelayExpression,omitempty"`
	Callback   string              `json:"callback,omitempty"`
	Failure    string              `json:"failureCallback,omitempty"`
	Flow       string              `json:"flowControlKey,omitempty"`
	CallerIP   string              `json:"callerIP,omitempty"`
	Label      string              `json:"label,omitempty"`
	Labels     []string            `json:"labels,omitempty"`
}

// selected reports whether a filter by state selects an event.
func (f *filter) selected(state string) bool {
	switch f.state {
	case "", state:
		return true
	case inProgress:
		return state == stateActive || state == stateRetry || state == stateError
	case "CANCELLED", "CANCEL_REQUESTED":
		return state == stateCancelled
	}
	return false
}

// eventList is the result of /v2/events; that of /v2/logs has the same events as logs.
type eventList struct {
	Cursor string  `json:"cursor,omitempty"`
	Events []event `json:"events"`
}

// listLogs lists the events of messages under the name that /v2/logs has for them.
func (c *call) listLogs() error {
	list, err := c.events()
	if err != nil {
		return err
	}
	return c.write(struct {
		Cursor string  `json:"cursor,omitempty"`
		Logs   []event `json:"logs"`
	}{list.Cursor, list.Events})
}

func (c *call) listEvents() error {
	list, err := c.events()
	if err != nil {
		return err
	}
	return c.write(list)
}

// defaultEvents is how many events a page has.
const defaultEvents = 100

// events returns the events of messages, those of the newest message first.
func (c *call) events() (*eventList, error) {
	ctx := c.Request.Context()
	f, err := c.filter(forLogs)
	if err != nil {
		return nil, err
	}
	if f.count == 0 {
		f.count = defaultEvents
	}
	if err := c.named(f); err != nil {
		return nil, err
	}
	list := &eventList{Events: []event{}}
	first, size := true, 0
	next, err := c.search(ctx, f, nil, func(j *job.Job) (bool, error) {
		events, err := c.eventsOf(ctx, j, f)
		if err != nil {
			return false, err
		}
		skip := 0
		if first {
			skip, first = min(f.shown, len(events)), false
		}
		events = events[skip:]
		for i := range events {
			if len(list.Events) == f.count || size > job.PageBytes {
				list.Cursor = strconv.FormatInt(j.Number+1, 10) + "-" + strconv.Itoa(skip+i)
				return false, nil
			}
			list.Events = append(list.Events, events[i])
			size += 2*len(j.Args) + len(events[i].Response)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	if list.Cursor == "" && next > 0 {
		list.Cursor = strconv.FormatInt(next, 10)
	}
	return list, nil
}

// Bounds of what is read of one message.
const (
	maxLogs  = 200
	logBytes = 2 << 20
)

// eventsOf returns the events of a message that a filter selects, newest first.
func (c *call) eventsOf(ctx context.Context, j *job.Job, f *filter) ([]event, error) {
	logs, err := c.api.Service.Logs(ctx, c.Owner, uuid.Nil, job.LogQuery{
		ListQuery: job.ListQuery{Limit: maxLogs, Bytes: logBytes}, Job: &job.Ref{Number: j.Number},
	})
	if err != nil {
		return nil, err
	}
	spec := job.ReadSpec(j.Args)
	about := event{MessageID: lifecycle.MessageID(j.ID), URL: spec.URL, eventRecord: recordOf(&spec)}
	if j.ScheduleID != uuid.Nil {
		about.ScheduleID = lifecycle.ScheduleID(j.ScheduleID, j.Key)
	}
	var events []event
	add := func(e event, state string, at time.Time) {
		if f.selected(state) {
			e.State, e.at, e.Time = state, at, at.UnixMilli()
			events = append(events, e)
		}
	}
	created := about
	created.Next = j.ScheduledAt.UnixMilli()
	add(created, stateCreated, j.InsertedAt)
	for i := len(logs.Items) - 1; i >= 0; i-- {
		addLog(logs.Items[i], about, add)
	}
	if j.State == job.Cancelled {
		add(about, stateCancelled, j.CancelledAt)
	}
	slices.Reverse(events)
	slices.SortStableFunc(events, func(a, b event) int { return b.at.Compare(a.at) })
	return events, nil
}

// addLog adds the events of a log.
func addLog(l *job.Log, about event, add func(e event, state string, at time.Time)) {
	switch l.Event {
	case job.EventRequest:
		add(about, stateActive, l.InsertedAt)
		return
	case job.EventResponse, job.EventError:
	default:
		return
	}
	r := responseOf(l.Payload)
	if l.Succeeded() {
		about.Status = r.status
		add(about, stateDelivered, l.InsertedAt)
		return
	}
	about.Status, about.Headers = r.status, r.header
	if r.body != nil {
		about.Response = base64.StdEncoding.EncodeToString(r.body)
	}
	about.Error = rawjson.Text(rawjson.Get(l.Payload, "message"))
	if about.Error == "" {
		about.Error = "the destination responded with status " + strconv.Itoa(r.status)
	}
	add(about, stateError, l.InsertedAt)
	retry, err := time.Parse(time.RFC3339Nano, rawjson.Text(rawjson.Get(l.Payload, "retry_at")))
	if err != nil {
		add(about, stateFailed, l.InsertedAt)
		return
	}
	about.Next = retry.UnixMilli()
	add(about, stateRetry, l.InsertedAt)
}

func recordOf(spec *job.Spec) eventRecord {
	d := spec.Dialect
	r := eventRecord{
		Topic: d.Group, Endpoint: d.Endpoint, Queue: d.Queue, Header: job.HeaderOf(spec.Headers), Body: rawjson.Text(spec.BodyBase64),
		Method: strings.ToUpper(spec.Method), Timeout: spec.Timeout.Milliseconds(), MaxRetries: spec.Retries, RetryDelay: spec.RetryDelay,
		Callback: urlOf(d.Callback), Failure: urlOf(d.FailureCallback), Flow: d.FlowControl, CallerIP: d.CallerIP, Labels: d.Labels,
	}
	if len(d.Labels) > 0 {
		r.Label = d.Labels[0]
	}
	return r
}
