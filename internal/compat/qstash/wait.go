package qstash

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// maxWaiters is how many waits a list has.
const maxWaiters = 1000

// defaultWait is how long a run waits if it does not say so.
const defaultWait = 7 * 24 * time.Hour

// eventName checks the name of an event.
func eventName(name string) (string, error) {
	if name == "" || len(name) > workflow.MaxEvent || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return "", bad("the id of an event must have 1 to " + strconv.Itoa(workflow.MaxEvent) + " bytes of UTF-8 without U+0000")
	}
	return name, nil
}

// eventData reads the data of an event.
func (c *call) eventData() ([]byte, error) {
	data, err := c.ReadAll(workflow.MaxStepBytes)
	if err == nil && len(data) > workflow.MaxEventBytes {
		err = fault.New(fault.TooLarge, "the data of an event may have up to 512 KiB; store it elsewhere and send where it is")
	}
	return data, err
}

// waitStep returns the record of a step that waits, as the SDK has sent it.
func waitStep(kind workflow.Kind, run string, sent *sentStep, waitsFor string) (*workflow.Step, error) {
	step := &workflow.Step{
		Run: run, Kind: kind, Number: sent.StepID, Concurrent: max(sent.Concurrent, 1), Name: sent.Name, Type: sent.Type,
		WaitsFor: waitsFor,
	}
	if err := checkStep(step); err != nil {
		return nil, err
	}
	var f rawjson.Fields
	f.Number("stepId", int64(step.Number))
	f.Text("stepName", step.Name)
	f.Text("stepType", step.Type)
	f.Number("concurrent", int64(step.Concurrent))
	step.Body = f.Object()
	return step, nil
}

// sentWait is a wait as the SDK sends it.
type sentWait struct {
	Timeout rawjson.Value   `json:"timeout"`
	Step    json.RawMessage `json:"step"`
}

// UnmarshalJSON implements json.Unmarshaler: the timeout may be a text or a number.
func (w *sentWait) UnmarshalJSON(text []byte) error {
	var raw struct {
		Timeout json.RawMessage `json:"timeout"`
		Step    json.RawMessage `json:"step"`
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	w.Timeout, w.Step = rawjson.Value(raw.Timeout), raw.Step
	return nil
}

// wait stores that a run waits for an event.
func (c *call) wait() error {
	name, err := eventName(c.values[0])
	if err != nil {
		return final(err)
	}
	options, err := ReadOptions(c.Request.Header)
	if err != nil {
		return final(err)
	}
	body, err := c.ReadAll(maxBody)
	if err != nil {
		return err
	}
	var sent sentWait
	var step sentStep
	if json.Unmarshal(body, &sent) != nil || json.Unmarshal(sent.Step, &step) != nil {
		return final(bad("the body of a wait must be an object with timeout and step, as the SDK has it"))
	}
	if options.Workflow.RunID == "" {
		return final(bad("a wait needs the header " + runIDHeader))
	}
	d, ok := waitTime(sent.Timeout)
	if !ok {
		return final(bad("the timeout of a wait must be a duration in the units s, m, h and d, as in 1d10h30m"))
	}
	wait, err := waitStep(workflow.Wait, options.Workflow.RunID, &step, name)
	if err != nil {
		return final(err)
	}
	result, err := c.api.Service.WaitRun(c.Request.Context(), c.Owner, wait, c.api.Service.Now().Add(d))
	if err != nil {
		return final(err)
	}
	return c.writeRaw(appendPublished(nil, &published{MessageID: messageIDOf(result.Message), Deduplicated: result.Duplicate}))
}

// waitTime reads the timeout of a wait: a duration, or a number of seconds.
func waitTime(v rawjson.Value) (time.Duration, bool) {
	switch {
	case v == nil || rawjson.IsNull(v):
		return defaultWait, true
	case v.Kind() == '"':
		return readDuration(rawjson.Text(v))
	}
	seconds, err := strconv.ParseFloat(string(v), 64)
	if err != nil || seconds < 0 || seconds > job.MaxAhead.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// shownWaiter is a wait as clients see it.
type shownWaiter struct {
	URL       string `json:"url"`
	Deadline  int64  `json:"deadline"`
	RunID     string `json:"workflowRunId"`
	StepName  string `json:"stepName"`
	MessageID string `json:"messageId,omitempty"` // that times it out
	// Headers and TimeoutURL are what clients expect: timeouts go to URL.
	Headers    struct{} `json:"headers"`
	TimeoutURL string   `json:"timeoutUrl"`
}

// shownNotice is what became of an event for a run.
type shownNotice struct {
	Waiter    *shownWaiter `json:"waiter,omitempty"`
	MessageID string       `json:"messageId"`
	RunID     string       `json:"workflowRunId"`
	Error     string       `json:"error"`
}

func showWaiter(wait *workflow.Step, url string) *shownWaiter {
	return &shownWaiter{URL: url, TimeoutURL: url, Deadline: wait.DueAt.Unix(), RunID: wait.Run, StepName: wait.Name,
		MessageID: messageIDOf(wait.Message)}
}

func showNotice(e *service.EndedWait) shownNotice {
	n := shownNotice{Waiter: showWaiter(e.Wait, e.URL), MessageID: messageIDOf(e.Message), RunID: e.Wait.Run}
	if e.Err != nil {
		n.Error = said(e.Err)
	}
	return n
}

// waiters lists the waits for an event.
func (c *call) waiters() error {
	name, err := eventName(c.values[0])
	if err != nil {
		return err
	}
	ctx := c.Request.Context()
	waits, err := c.api.Service.Waiters(ctx, c.Owner, name, maxWaiters)
	if err != nil {
		return err
	}
	list, urls := []*shownWaiter{}, map[string]string{}
	for _, wait := range waits {
		if _, known := urls[wait.Run]; !known {
			run, err := c.api.Service.Run(ctx, c.Owner, wait.Run)
			if err != nil && fault.CodeOf(err) != fault.NotFound {
				return err
			}
			if err == nil {
				urls[wait.Run] = run.URL
			}
		}
		list = append(list, showWaiter(wait, urls[wait.Run]))
	}
	return c.write(list)
}

// notify sends an event to the runs that wait for it.
func (c *call) notify() error {
	name, err := eventName(c.values[0])
	if err != nil {
		return err
	}
	data, err := c.eventData()
	if err != nil {
		return err
	}
	notified, more, err := c.api.Service.NotifyAll(c.Request.Context(), c.Owner, name, data)
	if err != nil {
		return err
	}
	list := make([]shownNotice, len(notified))
	for i := range notified {
		list[i] = showNotice(&notified[i])
	}
	if more {
		list = append(list, shownNotice{Error: "an event ends up to " + strconv.Itoa(service.MaxNotified) +
			" waits, and more runs wait for it; notify again for these"})
	}
	return c.write(list)
}

// notifyRun sends an event to one run, which need not wait for it yet.
func (c *call) notifyRun() error {
	name, err := eventName(c.values[1])
	if err != nil {
		return err
	}
	data, err := c.eventData()
	if err != nil {
		return err
	}
	ended, err := c.api.Service.NotifyRun(c.Request.Context(), c.Owner, c.values[0], name, data)
	if err != nil {
		return err
	}
	shown := shownNotice{RunID: c.values[0]}
	if ended.Wait != nil {
		shown = showNotice(&ended)
	}
	return c.write([]shownNotice{shown})
}

// sentInvoke is an invocation as the SDK sends it.
type sentInvoke struct {
	Body      *string         `json:"body"`
	RunID     string          `json:"workflowRunId"`
	CreatedAt int64           `json:"workflowRunCreatedAt"`
	URL       string          `json:"workflowUrl"`
	Step      json.RawMessage `json:"step"`
}

// invoke starts a run that another one waits for.
func (c *call) invoke(m *message) (published, error) {
	var sent sentInvoke
	var step sentStep
	if json.Unmarshal(m.body, &sent) != nil || json.Unmarshal(sent.Step, &step) != nil {
		return published{}, bad("the body of an invocation must be an object with body, workflowRunId and step, as the SDK has it")
	}
	if !workflow.ValidID(sent.RunID) || len(sent.URL) > workflow.MaxURL {
		return published{}, bad("an invocation must have a workflowRunId of up to " + strconv.Itoa(workflow.MaxID) +
			" bytes, and a workflowUrl of up to " + strconv.Itoa(workflow.MaxURL))
	}
	by, err := waitStep(workflow.Invoke, sent.RunID, &step, m.Workflow.RunID)
	if err != nil {
		return published{}, err
	}
	m.body = nil
	if sent.Body != nil {
		m.body = []byte(*sent.Body)
	}
	started, err := c.start(m)
	if err != nil {
		return published{}, err
	}
	var invoker rawjson.Fields
	invoker.Text("run", sent.RunID)
	invoker.Text("url", sent.URL)
	invoker.Number("created_at", sent.CreatedAt)
	invoker.Number("number", int64(step.StepID))
	started.Run.Invoker = invoker.Object()
	result, err := c.api.Service.InvokeRun(c.Request.Context(), c.Owner,
		service.RunStart{Run: started.Run, Payload: started.Payload, Timing: started.Timing}, by)
	if err != nil {
		return published{}, err
	}
	if result.Number > 0 {
		c.ForeignCall.Created(result.Number)
	}
	return published{MessageID: messageIDOf(result.Message), URL: m.to.url, Deduplicated: result.Duplicate}, nil
}
