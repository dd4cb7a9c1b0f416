package importer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// QStashLists are the paths at which the QStash API lists what is imported, in the order
// in which that must be created.
var QStashLists = []string{"/v2/flowControl", "/v2/queues", "/v2/topics", "/v2/schedules"}

// QStashCall is a call of the QStash-compatible API.
type QStashCall struct {
	Method, Path string
	Header       map[string][]string
	Body         []byte
}

// QStashItem is something of an account at QStash: a flow control key, a queue, a topic or
// a schedule.
type QStashItem struct {
	Kind, Name string
	// Calls create it, or replace what has its name, in order.
	Calls []QStashCall
	// Notes say what its calls leave out.
	Notes []string
	// Err says why it can't be imported; nil if it can.
	Err error
}

// QStash returns what a list of the QStash API has. path is one of QStashLists. Its error
// is that the list can't be read.
func QStash(path string, list []byte) ([]QStashItem, error) {
	switch path {
	case "/v2/flowControl":
		return readItems(path, list, qstashFlow)
	case "/v2/queues":
		return readItems(path, list, qstashQueue)
	case "/v2/topics":
		return readItems(path, list, qstashTopic)
	case "/v2/schedules":
		return readItems(path, list, qstashSchedule)
	}
	return nil, fmt.Errorf("nothing is imported from %s", path)
}

func readItems[T any](path string, list []byte, read func(*T) *QStashItem) ([]QStashItem, error) {
	var all []T
	if err := json.Unmarshal(list, &all); err != nil {
		return nil, fmt.Errorf("what is at %s is not the list that is expected: %w", path, err)
	}
	var items []QStashItem
	for i := range all {
		if item := read(&all[i]); item != nil {
			items = append(items, *item)
		}
	}
	return items, nil
}

// call adds a call to an item.
func (i *QStashItem) call(method, path string, header map[string][]string, body any) {
	text, isText := body.([]byte)
	if !isText && body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			i.Err = err
		}
	}
	i.Calls = append(i.Calls, QStashCall{Method: method, Path: path, Header: header, Body: text})
}

type qstashFlowKey struct {
	Key            string `json:"flowControlKey"`
	Parallelism    int    `json:"parallelismMax"`
	Rate           int    `json:"rateMax"`
	Period         int    `json:"ratePeriod"`
	Paused         bool   `json:"isPaused"`
	PinnedParallel bool   `json:"isPinnedParallelism"`
	PinnedRate     bool   `json:"isPinnedRate"`
}

// qstashFlow imports a flow control key that is pinned or paused. Others are defined by the
// messages and schedules that have them.
func qstashFlow(f *qstashFlowKey) *QStashItem {
	if !f.Paused && !f.PinnedParallel && !f.PinnedRate {
		return nil
	}
	item, path, query := &QStashItem{Kind: "flow control key", Name: f.Key}, "/v2/flowControl/"+url.PathEscape(f.Key), url.Values{}
	if f.PinnedParallel && f.Parallelism > 0 {
		query.Set("parallelism", strconv.Itoa(f.Parallelism))
	}
	if f.PinnedRate && f.Rate > 0 {
		query.Set("rate", strconv.Itoa(f.Rate))
		query.Set("period", strconv.Itoa(max(f.Period, 1)))
	}
	if len(query) > 0 {
		item.call("POST", path+"/pin?"+query.Encode(), nil, nil)
	}
	if f.Paused {
		item.call("POST", path+"/pause", nil, nil)
	}
	return item
}

type qstashQueueRecord struct {
	Name        string `json:"name"`
	Parallelism int    `json:"parallelism"`
	Paused      bool   `json:"paused"`
	Lag         int    `json:"lag"`
}

func qstashQueue(q *qstashQueueRecord) *QStashItem {
	item := &QStashItem{Kind: "queue", Name: q.Name}
	item.call("POST", "/v2/queues", nil, map[string]any{"queueName": q.Name, "parallelism": max(q.Parallelism, 1), "paused": q.Paused})
	if q.Lag > 0 {
		item.Notes = append(item.Notes, fmt.Sprintf("its %d messages stay where they are", q.Lag))
	}
	return item
}

type qstashTopicRecord struct {
	Name      string            `json:"name"`
	Endpoints []json.RawMessage `json:"endpoints"`
}

func qstashTopic(t *qstashTopicRecord) *QStashItem {
	item := &QStashItem{Kind: "topic", Name: t.Name}
	if len(t.Endpoints) == 0 {
		item.Err = errors.New("has no endpoints")
		return item
	}
	item.call("POST", "/v2/topics/"+url.PathEscape(t.Name)+"/endpoints", nil, map[string]any{"endpoints": t.Endpoints})
	return item
}

type qstashScheduleRecord struct {
	ID              string              `json:"scheduleId"`
	Cron            string              `json:"cron"`
	Destination     string              `json:"destination"`
	Method          string              `json:"method"`
	Header          map[string][]string `json:"header"`
	Body            string              `json:"body"`
	BodyBase64      string              `json:"bodyBase64"`
	Retries         *int                `json:"retries"`
	RetryDelay      string              `json:"retryDelayExpression"`
	Delay           int                 `json:"delay"`
	Callback        string              `json:"callback"`
	FailureCallback string              `json:"failureCallback"`
	Paused          bool                `json:"isPaused"`
	Queue           string              `json:"queueName"`
	FlowKey         string              `json:"flowControlKey"`
	Parallelism     int                 `json:"parallelism"`
	Rate            int                 `json:"rate"`
	Period          int                 `json:"period"`
	Label           string              `json:"label"`
	Labels          []string            `json:"labels"`
}

// farCron is when a paused schedule would run until it is paused: on the leap days.
const farCron = "0 0 29 2 *"

func qstashSchedule(s *qstashScheduleRecord) *QStashItem {
	item := &QStashItem{Kind: "schedule", Name: s.ID}
	if item.Err = s.refusal(); item.Err != nil {
		return item
	}
	body := []byte(s.Body)
	if s.BodyBase64 != "" {
		if body, item.Err = base64.StdEncoding.DecodeString(s.BodyBase64); item.Err != nil {
			return item
		}
	}
	to := s.Destination
	if !strings.HasPrefix(to, "https://") && !strings.HasPrefix(to, "http://") {
		to = url.PathEscape(to)
	}
	header := s.header()
	if s.Paused { // a schedule that is replaced stays paused, so it never runs between the calls
		idle := maps.Clone(header)
		idle["Upstash-Cron"] = []string{farCron}
		item.call("POST", "/v2/schedules/"+to, idle, body)
		item.call("PATCH", "/v2/schedules/"+url.PathEscape(s.ID)+"/pause", nil, nil)
	}
	item.call("POST", "/v2/schedules/"+to, header, body)
	if s.Callback != "" || s.FailureCallback != "" {
		item.Notes = append(item.Notes, "options of its callbacks (Upstash-Callback-…) are not shown by that API, and are not imported")
	}
	return item
}

// refusal returns why a schedule can't be imported; nil if it can.
func (s *qstashScheduleRecord) refusal() error {
	if strings.HasPrefix(s.Destination, "api/") {
		return fmt.Errorf("sends to the provider %s, which is not available here", s.Destination)
	}
	if redacted(s.Body) {
		return errors.New("has a redacted body, which that API does not show")
	}
	for name, values := range s.Header {
		if strings.HasPrefix(strings.ToLower(name), "upstash-workflow-") {
			return errors.New("belongs to a workflow, which creates it itself")
		}
		if slices.ContainsFunc(values, redacted) {
			return fmt.Errorf("has the redacted header %s, which that API does not show", name)
		}
	}
	return s.checkCron()
}

// checkCron returns why a cron expression is refused; nil if it is not. The calls of a
// paused schedule that has one would be stopped between, and leave something behind.
func (s *qstashScheduleRecord) checkCron() error {
	expr, zone := s.Cron, "UTC"
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(expr, prefix); ok {
			zone, expr, _ = strings.Cut(rest, " ")
			break
		}
	}
	location, err := schedule.LoadZone(zone)
	if err != nil {
		return fmt.Errorf("has the time zone %q, which %w", zone, err)
	}
	if _, err := schedule.ParseCron(expr, location); err != nil {
		return fmt.Errorf("has the time %q, which %w", expr, err)
	}
	return nil
}

// redacted reports whether a text stands for one that is not shown.
func redacted(text string) bool {
	return text == "[redacted]" || strings.HasPrefix(text, "REDACTED")
}

// header returns the headers of the call that creates the schedule.
func (s *qstashScheduleRecord) header() map[string][]string {
	header := map[string][]string{}
	set := func(name, value string) {
		if value != "" {
			header["Upstash-"+name] = []string{value}
		}
	}
	set("Schedule-Id", s.ID)
	set("Cron", s.Cron)
	set("Method", s.Method)
	if s.Retries != nil {
		set("Retries", strconv.Itoa(*s.Retries))
	}
	set("Retry-Delay", s.RetryDelay)
	if s.Delay > 0 {
		set("Delay", strconv.Itoa(s.Delay)+"s")
	}
	set("Callback", s.Callback)
	set("Failure-Callback", s.FailureCallback)
	set("Queue-Name", s.Queue)
	if len(s.Labels) == 0 && s.Label != "" {
		s.Labels = []string{s.Label}
	}
	set("Label", strings.Join(s.Labels, ","))
	if s.FlowKey != "" {
		set("Flow-Control-Key", s.FlowKey)
		set("Flow-Control-Value", s.flow())
	}
	for name, values := range s.Header {
		if strings.EqualFold(name, "Content-Type") {
			header["Content-Type"] = values
			continue
		}
		header["Upstash-Forward-"+name] = values
	}
	return header
}

// flow returns the limits of the schedule's flow control key.
func (s *qstashScheduleRecord) flow() string {
	var parts []string
	add := func(name string, n int) {
		if n > 0 {
			parts = append(parts, name+"="+strconv.Itoa(n))
		}
	}
	add("parallelism", s.Parallelism)
	add("rate", s.Rate)
	if s.Rate > 0 {
		add("period", s.Period)
	}
	return strings.Join(parts, ", ")
}
