package qstash

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// startRun starts the run of a message, or returns the first message of the one that has
// its id.
func (c *call) startRun(m *message) (published, error) {
	if m.Workflow.Invoke {
		result, err := c.invoke(m)
		return result, final(err)
	}
	started, err := c.start(m)
	if err != nil {
		return published{}, err
	}
	results, err := c.api.Service.StartRuns(c.Request.Context(), c.Owner, []service.RunStart{*started})
	if err != nil {
		return published{}, err
	}
	if results[0].Number > 0 {
		c.ForeignCall.Created(results[0].Number)
	}
	return published{MessageID: messageIDOf(results[0].Message), URL: m.to.url, Deduplicated: results[0].Duplicate}, nil
}

// start returns the run that a message starts.
func (c *call) start(m *message) (*service.RunStart, error) {
	url := m.Workflow.URL
	if url == "" {
		url = m.to.url
	}
	if len(url) > workflow.MaxURL || len(m.to.url) > workflow.MaxURL {
		return nil, bad("the URL of a workflow must have up to " + strconv.Itoa(workflow.MaxURL) + " bytes")
	}
	if m.Workflow.SDK != "" && m.Workflow.SDK != protocolVersion {
		return nil, bad("the version " + strconv.Quote(m.Workflow.SDK) + " of the workflow protocol is not served here, but version " +
			protocolVersion)
	}
	ip := c.callerIP()
	run := &workflow.Run{
		ID: m.Workflow.RunID, URL: url, FlowControl: m.FlowControl, CallerIP: ip, Lazy: m.Workflow.Lazy,
	}
	if m.Labels != nil {
		var f rawjson.Fields
		f.Texts("labels", m.Labels)
		run.Labels = f[0].Value
	}
	if m.Failure == nil {
		m.Failure = failureOf(m, url)
	}
	m.Header.Set(runIDHeader, run.ID)
	m.Header.Set(runURLHeader, url)
	if m.Header.Get(protocolHeader) == "" {
		m.Header.Set(protocolHeader, protocolVersion)
	}
	if m.Header.Get("Content-Type") == "" {
		m.Header.Set("Content-Type", "application/json")
	}
	payload, body := m.body, m.body
	m.body, m.Method, m.Callback = nil, "", nil
	defer func() { m.body = body }()
	f := fields{make(rawjson.Fields, 0, 16)}
	m.to.add(&f)
	m.describe(&f, ip)
	run.Template = f.Object()
	var timing fields
	timing.timing(m.Options)
	return &service.RunStart{Run: run, Payload: payload, Timing: timing.Fields}, nil
}

// failureOf returns the fields of the message that reports a failure to the workflow's own
// route, which calls its failure function.
func failureOf(m *message, url string) rawjson.Value {
	o := &Options{Retries: m.Retries, RetryDelay: m.RetryDelay, Header: m.Header.Clone()}
	o.Header.Del(protocolHeader)
	o.Header.Set("Content-Type", "application/json")
	o.Header.Set("Upstash-Workflow-Is-Failure", "true")
	o.Header.Set("Upstash-Workflow-Failure-Callback", "true")
	(&WorkflowOptions{RunID: m.Workflow.RunID, URL: url, CallType: "failureCall"}).addTo(o.Header)
	var f fields
	f.Text("url", url)
	f.request(o)
	return f.Object()
}

// triggered is a run that was started.
type triggered struct {
	RunID        string `json:"workflowRunId"`
	CreatedAt    int64  `json:"workflowCreatedAt"`
	Deduplicated bool   `json:"deduplicated,omitempty"`
}

// trigger starts a run of the workflow at a URL.
func (c *call) trigger() error {
	m, err := c.read(c.values[0])
	if err != nil {
		return err
	}
	result, err := c.triggerOne(m)
	if err != nil {
		return err
	}
	return c.write(result)
}

func (c *call) triggerOne(m *message) (*triggered, error) {
	if m.to.url == "" {
		return nil, bad("a workflow is triggered by its URL, which must begin with https:// or http://")
	}
	if m.Workflow.RunID == "" {
		m.Workflow.RunID = service.NewRunID()
	}
	m.Workflow.Init, m.Workflow.Lazy = true, true // all SDKs of the protocol read the steps themselves
	if err := c.define(m.Options); err != nil {
		return nil, err
	}
	result, err := c.startRun(m)
	if err != nil {
		return nil, err
	}
	run, err := c.api.Service.Run(c.Request.Context(), c.Owner, m.Workflow.RunID)
	if err != nil {
		return nil, err
	}
	return &triggered{run.ID, run.CreatedAt.UnixMilli(), result.Deduplicated}, nil
}

// batchTrigger starts several runs. An item that can't be started ends the call: those
// before it are started.
func (c *call) batchTrigger() error {
	items, err := c.readBatch()
	if err != nil {
		return err
	}
	messages := make([]*message, len(items))
	for i := range items {
		if messages[i], err = readItem(&items[i]); err != nil {
			return err
		}
	}
	results := make([]*triggered, len(items))
	for i, m := range messages {
		if results[i], err = c.triggerOne(m); err != nil {
			return err
		}
	}
	return c.write(results)
}

// stepPage is how many records of a run are read at once.
const stepPage = 1000

// getRun returns the steps of a run as the SDK reads them. It returns a NotFound fault for
// a run that has ended: the SDK takes a message of it for settled then.
func (c *call) getRun() error {
	ctx, id := c.Request.Context(), c.values[0]
	run, err := c.api.Service.Run(ctx, c.Owner, id)
	if err != nil {
		return err
	}
	if !run.State.Live() {
		return fault.New(fault.NotFound, "workflow run "+id+" has ended: it is "+run.State.String())
	}
	leave, err := c.EnterParsing(workflow.ListSize(run.Rows, run.Bytes))
	if err != nil {
		return err
	}
	defer leave()
	var all []*workflow.Step
	for from := 0; ; {
		page, err := c.api.Service.RunSteps(ctx, c.Owner, id, from, stepPage, workflow.MaxRunBytes)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, s := range page {
			if from = s.Position + 1; s.Kind <= workflow.Result {
				all = append(all, s)
			}
		}
	}
	return c.writeRaw(workflow.AppendSteps(nil, all))
}

// endRun ends a run: with the result that its route returned, or by cancelling it.
func (c *call) endRun() error {
	ctx, id := c.Request.Context(), c.values[0]
	switch cancel := c.Request.URL.Query().Get("cancel"); cancel {
	case "false":
		result, err := c.ReadAll(workflow.MaxStepBytes)
		if err != nil {
			return err
		}
		if err := c.api.Service.FinishRun(ctx, c.Owner, id, result); err != nil {
			return err
		}
	case "true", "":
		if _, err := c.api.Service.Run(ctx, c.Owner, id); err != nil {
			return err
		}
		if _, err := c.api.Service.CancelRun(ctx, c.Owner, id); err != nil {
			return err
		}
	default:
		return bad("cancel must be true or false")
	}
	return c.done()
}
