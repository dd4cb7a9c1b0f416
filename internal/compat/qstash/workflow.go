package qstash

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// The header fields of messages of workflow runs, beside those of all messages.
const (
	runIDHeader     = workflow.RunHeader
	runInitHeader   = "Upstash-Workflow-Init"
	invokeHeader    = "Upstash-Workflow-Invoke"
	runURLHeader    = "Upstash-Workflow-Url"
	callTypeHeader  = "Upstash-Workflow-Calltype"
	protocolHeader  = "Upstash-Workflow-Sdk-Version"
	protocolVersion = "1"
)

// runID reads the id of a run.
func (r *reader) runID(name, value string) string {
	if !workflow.ValidID(value) || strings.ContainsAny(value, "/?#") {
		r.refuse(name, "must have 1 to "+strconv.Itoa(workflow.MaxID)+" characters, without / ? and #")
		return ""
	}
	return value
}

// addTo adds what the options say to the header of a follow-up.
func (w *WorkflowOptions) addTo(h http.Header) {
	if w.RunID == "" {
		return
	}
	h.Set(runIDHeader, w.RunID)
	h.Set(runInitHeader, strconv.FormatBool(w.Init))
	if w.URL != "" {
		h.Set(runURLHeader, w.URL)
	}
	if w.CallType != "" {
		h.Set(callTypeHeader, w.CallType)
	}
}

// inWorkflow reports whether a message belongs to a workflow run.
func (m *message) inWorkflow() bool { return m.Workflow.RunID != "" }

// startsRun reports whether a message starts a run, and is not a step that invokes another
// workflow.
func (m *message) startsRun() bool { return m.Workflow.Init && !m.Workflow.Invoke }

// storeBatchInRuns stores the items of a batch that belong to runs, and reports which ones
// these are. An error refuses the whole batch: the SDK does not read errors of items.
func (c *call) storeBatchInRuns(items []batchItem, results [][]published) (inRuns map[int]bool, err error) {
	inRuns = map[int]bool{}
	var messages []*message
	var places []int
	for i := range items {
		if !items[i].inWorkflow() {
			continue
		}
		m, err := readItem(&items[i])
		if err != nil {
			return nil, refusalOf(err, !items[i].isStep())
		}
		inRuns[i] = true
		messages, places = append(messages, m), append(places, i)
	}
	stored, err := c.storeInRun(messages)
	if err != nil {
		return nil, err
	}
	for k, i := range places {
		results[i] = stored[k : k+1]
	}
	return inRuns, nil
}

// inWorkflow reports whether an item names a run.
func (item *batchItem) inWorkflow() bool {
	_, named := item.header(runIDHeader)
	return named
}

// isStep reports whether an item is a step of a run.
func (item *batchItem) isStep() bool {
	return item.inWorkflow() && !startsRun(func(name string) string {
		value, _ := item.header(name)
		return value
	})
}

// header returns the value of a header of an item, and reports whether it has it.
func (item *batchItem) header(name string) (value string, has bool) {
	for given, value := range item.Headers {
		if strings.EqualFold(given, name) {
			return value, true
		}
	}
	return "", false
}

// startsRun reports whether the headers of a message start a run, and are not those of a
// step that invokes another workflow.
func startsRun(header func(name string) string) bool {
	return header(runInitHeader) == "true" && header(invokeHeader) != "true"
}

// refusalOf returns the fault of a message that is wrong: final for a step. Who starts a
// run understands 400.
func refusalOf(err error, starts bool) error {
	if starts {
		return err
	}
	return final(err)
}

// storeInRun stores messages that belong to runs: the first ones of new runs, and steps.
// Steps of one run that follow each other are stored in one transaction.
func (c *call) storeInRun(messages []*message) ([]published, error) {
	results := make([]published, len(messages))
	for i := 0; i < len(messages); {
		m := messages[i]
		if m.to.url == "" {
			return nil, refusalOf(bad("a message of a workflow run needs a URL as its destination"), m.startsRun())
		}
		if err := c.define(m.Options); err != nil {
			return nil, refusalOf(err, m.startsRun())
		}
		if m.Workflow.Init {
			result, err := c.startRun(m)
			if err != nil {
				return nil, err
			}
			results[i] = result
			i++
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Workflow.RunID == m.Workflow.RunID && !messages[end].Workflow.Init &&
			end-i < workflow.MaxParallel {
			end++
		}
		if err := c.appendSteps(messages[i:end], results[i:end]); err != nil {
			return nil, final(err)
		}
		i = end
	}
	return results, nil
}

// final makes the fault for a step that is wrong one that the SDK does not take for the end
// of the run: that has the status 400.
func final(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || f.Reason == workflow.ReasonEnded {
		return err
	}
	return fault.New(fault.Stale, f.Message)
}

// appendSteps stores steps of one run.
func (c *call) appendSteps(messages []*message, results []published) error {
	steps := make([]service.RunStep, len(messages))
	for i, m := range messages {
		step, err := c.step(m)
		if err != nil {
			return err
		}
		steps[i] = *step
	}
	stored, err := c.api.Service.AppendRun(c.Request.Context(), c.Owner, messages[0].Workflow.RunID, steps)
	if err != nil {
		return err
	}
	for i, s := range stored {
		results[i] = published{MessageID: messageIDOf(s.Message), URL: messages[i].to.url, Deduplicated: s.Duplicate}
		if s.Number > 0 {
			c.ForeignCall.Created(s.Number)
		}
	}
	return nil
}

func messageIDOf(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return workflow.MessageID(id)
}

// sentStep is a step as the SDK sends it.
type sentStep struct {
	StepID     int             `json:"stepId"`
	Name       string          `json:"stepName"`
	Type       string          `json:"stepType"`
	Concurrent int             `json:"concurrent"`
	Target     int             `json:"targetStep"`
	Out        json.RawMessage `json:"out"`
}

// step returns the step that a message stores.
func (c *call) step(m *message) (*service.RunStep, error) {
	if m.Workflow.CallType == "toCallback" {
		return c.callStep(m)
	}
	var sent sentStep
	if err := json.Unmarshal(m.body, &sent); err != nil {
		return nil, bad("the body of a workflow step must be the step as the SDK has it: " + err.Error())
	}
	step := &workflow.Step{Kind: workflow.Result, Number: sent.StepID, Concurrent: max(sent.Concurrent, 1), Name: sent.Name,
		Type: sent.Type, Body: m.body}
	if sent.StepID == 0 {
		step.Kind, step.Number = workflow.Plan, sent.Target
	} else if sent.Type == workflow.CreatesWebhook {
		var err error
		if step.WaitsFor, err = webhookEvent(sent.Out); err != nil {
			return nil, err
		}
	}
	if err := checkStep(step); err != nil {
		return nil, err
	}
	var f fields
	f.timing(m.Options)
	return &service.RunStep{Step: step, Timing: f.Fields}, nil
}

func checkStep(s *workflow.Step) error {
	switch {
	case s.Number < 1 || s.Concurrent > workflow.MaxSteps:
		return bad("the numbers of a workflow step must be stepId or targetStep from 1, and concurrent")
	case s.Name == "" || len(s.Name) > workflow.MaxName || len(s.Type) > workflow.MaxName:
		return bad("the name of a workflow step must have 1 to " + strconv.Itoa(workflow.MaxName) + " bytes")
	case strings.ContainsRune(s.Name+s.Type, 0) || !utf8.ValidString(s.Name) || !utf8.ValidString(s.Type):
		return bad("the name and the type of a workflow step must be UTF-8 without U+0000")
	}
	return nil
}

// The headers of the callback of a call that say which step it is.
const (
	forwardedStep = "Upstash-Workflow-Stepid"
	forwardedName = "Upstash-Workflow-Stepname"
	forwardedType = "Upstash-Workflow-Steptype"
	forwardedMany = "Upstash-Workflow-Concurrent"
)

// callStep returns the step of a message to a third party.
func (c *call) callStep(m *message) (*service.RunStep, error) {
	if m.Callback == nil {
		return nil, bad("a call of a workflow needs the header Upstash-Callback")
	}
	callback := job.HeaderOf(rawjson.Get(m.Callback, "headers"))
	number, err := strconv.Atoi(callback.Get(forwardedStep))
	if err != nil {
		return nil, bad("a call of a workflow needs the header Upstash-Callback-Forward-Upstash-Workflow-StepId")
	}
	concurrent, _ := strconv.Atoi(callback.Get(forwardedMany))
	step := &workflow.Step{
		Kind: workflow.Call, Number: number, Concurrent: max(concurrent, 1), Name: callback.Get(forwardedName),
		Type: callback.Get(forwardedType), Body: callOf(m),
	}
	if err := checkStep(step); err != nil {
		return nil, err
	}
	run, err := c.api.Service.Run(c.Request.Context(), c.Owner, m.Workflow.RunID)
	if err != nil {
		return nil, err
	}
	m.Callback = ofRun(run, m.Callback)
	m.Failure = rawjson.Get(rawjson.Get(run.Template, "dialect"), "failure_callback")
	if m.Retries < 0 {
		m.Retries = job.DefaultRetries
	}
	f := fields{make(rawjson.Fields, 0, 16)}
	m.to.add(&f)
	m.describe(&f, c.callerIP())
	f.timing(m.Options)
	return &service.RunStep{Step: step, Job: retryAll(f.Object())}, nil
}

// retryAll removes no_retry: the SDK waits for the response to the last retry.
func retryAll(fields rawjson.Value) rawjson.Value {
	var members []rawjson.Member
	for _, m := range rawjson.Members(fields) {
		if m.Name != "no_retry" {
			members = append(members, m)
		}
	}
	return rawjson.Object(members)
}

// callOf returns what is shown of a call's request.
func callOf(m *message) []byte {
	body, _ := json.Marshal(map[string]any{"callUrl": m.to.url, "callMethod": strings.ToUpper(m.Method), "callHeaders": m.Header})
	return body
}

// ofRun returns the fields of a callback with what its run carries: the headers that the
// trigger forwards, but for the protocol's, and how the run's messages are retried.
func ofRun(run *workflow.Run, callback rawjson.Value) rawjson.Value {
	header := job.HeaderOf(rawjson.Get(run.Template, "headers"))
	header.Del(protocolHeader)
	header.Del("Content-Type")
	maps.Copy(header, job.HeaderOf(rawjson.Get(callback, "headers")))
	var f rawjson.Fields
	for _, m := range rawjson.Members(callback) {
		switch m.Name {
		case "headers", "retries", "retry_delay", "backoff", "no_retry", "timeout", "limits":
		default:
			f.Add(m.Name, m.Value)
		}
	}
	f.Add("headers", headersOf(header))
	for _, m := range rawjson.Members(run.Template) {
		switch m.Name {
		case "retries", "retry_delay", "backoff", "no_retry", "timeout", "limits":
			f.Add(m.Name, m.Value)
		}
	}
	return f.Object()
}
