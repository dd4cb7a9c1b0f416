package sim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// application begins the addresses of the routes that carry out programs, and invoked those
// of programs that others invoke. The number of the action follows.
const (
	application = "https://app.example.com/"
	third       = "https://third.example.com/"
	receiver    = "https://punctual.example.com"
)

// message is a message of a run that has reached its route.
type message struct {
	w       *world
	hit     *hit
	a       *action
	header  http.Header
	body    []byte
	run     string
	reply   reply
	program []part
	list    []sentStep
	read    int // when its steps were read, as the checker counts
}

// sentStep is a step as the service sends it.
type sentStep struct {
	ID         int             `json:"stepId"`
	Target     int             `json:"targetStep"`
	Name       string          `json:"stepName"`
	Type       string          `json:"stepType"`
	Concurrent int             `json:"concurrent"`
	Out        json.RawMessage `json:"out"`
}

// isRoute reports whether a URL is that of a route.
func isRoute(url string) bool { return strings.HasPrefix(url, application) }

// routeURL returns the address of a program: a part of an action's is at a path of places.
func routeURL(a *action, places string) string {
	return fmt.Sprintf("%s%s%d", application, places, a.id)
}

// programAt returns the program that a URL names.
func programAt(a *action, url string) (program []part, places string) {
	program = a.program
	path := strings.TrimPrefix(url, application)
	for {
		place, rest, more := strings.Cut(path, "/")
		if !more {
			return program, places
		}
		var i int
		if _, err := fmt.Sscan(place, &i); err != nil || i >= len(program) {
			return program, places
		}
		program, path, places = program[i].inner, rest, places+place+"/"
	}
}

// route lets the application take a request, and returns the outcome of the attempt.
func (t *targets) route(ctx context.Context, r *execute.Request, h *hit, took func(job.Outcome) job.Outcome) job.Outcome {
	n, w := (*node)(t), t.world
	m := &message{w: w, hit: h, a: w.byID[h.action], header: http.Header{}, body: r.Body, read: n.readOf(ctx)}
	for _, f := range slices.Concat(r.Own, r.Header) {
		m.header.Set(f.Name, f.Value)
	}
	m.run = m.header.Get("Upstash-Workflow-Runid")
	w.mu.Lock()
	count := w.hits[application+fmt.Sprint(h.action)]
	w.hits[application+fmt.Sprint(h.action)]++
	w.mu.Unlock()
	m.reply = m.a.replies[min(count, len(m.a.replies)-1)]
	h.answer = answer{status: 200, after: m.reply.after, body: string(m.reply.how)}
	w.check.arrived(n, h)
	w.check.messaged(m)
	done := make(chan int, 1)
	w.actors.Go(func() { done <- m.take() })
	timer := time.NewTimer(r.Timeout)
	defer timer.Stop()
	status, timedOut := 0, false
	select {
	case status = <-done:
	case <-ctx.Done():
	case <-timer.C:
		timedOut = true
	}
	fate := w.sched.await(n, n.name, "response "+h.name)
	cause := context.Cause(ctx)
	switch {
	case fate == perish:
		cause = execute.ErrInterrupted
	case cause == nil && timedOut:
		cause = context.DeadlineExceeded
	}
	w.check.left(h, cause)
	if cause != nil {
		return took(stopped(cause))
	}
	if status <= 0 {
		return took(job.Outcome{Failure: &job.Failure{Kind: job.KindClosed, Message: "the target closed the connection"}})
	}
	return took(job.Outcome{Response: &job.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{}`)}})
}

// take takes a message as the SDK does, and returns the status of the response; 0 closes
// the connection.
func (m *message) take() int {
	pause.For(m.w.ctx, m.reply.after)
	if m.w.sched.await(nil, m.who(), "takes "+m.hit.name); m.w.ctx.Err() != nil {
		return 0
	}
	if m.header.Get("Upstash-Workflow-Is-Failure") == "true" {
		if m.reply.how == refuses {
			return 500
		}
		return 200
	}
	switch m.reply.how {
	case refuses:
		return 500
	case storeNot:
		return 200
	}
	status := m.proceed()
	switch m.reply.how {
	case forgets:
		return 500
	case dies, drops:
		return 0
	case stalls:
		pause.For(m.w.ctx, 6*time.Second)
	}
	return status
}

// proceed carries out what a message asks for.
func (m *message) proceed() int {
	program, _ := programAt(m.a, m.hit.url)
	m.program = program
	if m.header.Get("Upstash-Workflow-Callback") == "true" {
		return m.takeResponse()
	}
	if len(m.body) == 0 {
		m.read = m.w.check.now()
		status, body := m.call("GET", "/v2/workflows/runs/"+m.run, nil, "")
		if status != 200 {
			return over(status)
		}
		m.body = []byte(body)
	}
	var sent []struct{ CallType, Body string }
	if err := json.Unmarshal(m.body, &sent); err != nil {
		m.w.check.wrong("the steps of %s can't be read: %v: %s", m.hit.name, err, m.body)
		return 500
	}
	for i := range sent {
		text, err := base64.StdEncoding.DecodeString(sent[i].Body)
		step := sentStep{}
		if i > 0 && err == nil {
			err = json.Unmarshal(text, &step)
		}
		if err != nil {
			m.w.check.wrong("a step of %s can't be read: %v: %s", m.hit.name, err, text)
			return 500
		}
		m.list = append(m.list, step)
	}
	return m.next()
}

// over returns the status with which a route responds if the service has taken nothing: it
// has ended the run, or it can't be reached.
func over(status int) int {
	switch status {
	case http.StatusOK, http.StatusBadRequest, http.StatusNotFound:
		return http.StatusOK
	}
	return http.StatusInternalServerError
}

// next carries out the next part of the program.
func (m *message) next() int {
	results, planned := map[int]bool{}, map[int]bool{}
	for i, s := range m.list {
		switch {
		case i == 0:
		case s.ID == 0:
			planned[s.Target] = true
		default:
			results[s.ID] = true
		}
	}
	last := m.list[len(m.list)-1]
	number := 1
	for i := range m.program {
		p := &m.program[i]
		if p.does == branches {
			done, begun := 0, false
			for k := number; k < number+p.many; k++ {
				if results[k] {
					done++
				}
				begun = begun || planned[k]
			}
			switch {
			case done == p.many:
			case last.ID == 0 && len(m.list) > 1 && last.Target >= number && last.Target < number+p.many:
				return m.store(last.Target, p, p.many)
			case begun:
				return 200 // another message goes on
			default:
				return m.plan(number, p)
			}
		} else {
			for k := range p.steps() {
				if !results[number+k] {
					return m.step(number+k, k, i, p)
				}
			}
		}
		number += p.steps()
	}
	m.w.check.finishes(m)
	status, _ := m.call("DELETE", "/v2/workflows/runs/"+m.run+"?cancel=false", nil, `"done"`)
	return over(status)
}

// stepText returns a step as the SDK sends it.
func stepText(number int, does deed, concurrent int, out string) string {
	var f rawjson.Fields
	f.Number("stepId", int64(number))
	f.Text("stepName", fmt.Sprintf("step %d", number))
	f.Text("stepType", string(does))
	f.Number("concurrent", int64(concurrent))
	if out != "" {
		f.Text("out", out)
	}
	return string(f.Object())
}

func (m *message) headers(more ...string) map[string]string {
	h := map[string]string{"Upstash-Workflow-RunId": m.run, "Upstash-Workflow-Init": "false", "Upstash-Workflow-Url": m.hit.url,
		"Upstash-Workflow-Sdk-Version": "1"}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// store carries out a step and stores its result.
func (m *message) store(number int, p *part, concurrent int) int {
	out := m.w.check.carriesOut(m, number)
	if m.reply.how == dies {
		return 0
	}
	does := p.does
	if does == branches {
		does = works
	}
	status, _ := m.call("POST", "/v2/publish/"+m.hit.url, m.headers(), stepText(number, does, concurrent, out))
	return over(status)
}

// plan stores that steps are to be carried out at once.
func (m *message) plan(number int, p *part) int {
	type item struct {
		Destination string            `json:"destination"`
		Headers     map[string]string `json:"headers"`
		Body        string            `json:"body"`
	}
	var items []item
	for k := range p.many {
		body := fmt.Sprintf(`{"stepId":0,"targetStep":%d,"stepName":"step %d","stepType":"Run","concurrent":%d}`, number+k, number+k,
			p.many)
		items = append(items, item{m.hit.url, m.headers(), body})
	}
	text, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	status, _ := m.call("POST", "/v2/batch", nil, string(text))
	return over(status)
}

// step carries out a step that is not one of several: the k-th of the i-th part.
func (m *message) step(number, k, i int, p *part) int {
	status := 0
	switch p.does {
	case sleeps:
		status, _ = m.call("POST", "/v2/publish/"+m.hit.url, m.headers("Upstash-Delay", fmt.Sprintf("%ds", int(p.lasts.Seconds()))),
			stepText(number, sleeps, 1, ""))
	case calls:
		m.w.check.carriesOut(m, number)
		status, _ = m.call("POST", fmt.Sprintf("/v2/publish/%s%d", third, m.a.id), m.headers(
			"Upstash-Workflow-CallType", "toCallback", "Upstash-Retries", "1", "Upstash-Retry-Delay", "1500", "Upstash-Timeout", "4s",
			"Upstash-Callback", m.hit.url, "Upstash-Callback-Workflow-RunId", m.run,
			"Upstash-Callback-Workflow-CallType", "fromCallback", "Upstash-Callback-Workflow-Init", "false",
			"Upstash-Callback-Workflow-Url", m.hit.url,
			"Upstash-Callback-Forward-Upstash-Workflow-Callback", "true", "Upstash-Callback-Forward-Upstash-Workflow-StepId",
			fmt.Sprint(number),
			"Upstash-Callback-Forward-Upstash-Workflow-StepName", fmt.Sprintf("step %d", number),
			"Upstash-Callback-Forward-Upstash-Workflow-StepType", "Call",
			"Upstash-Callback-Forward-Upstash-Workflow-Concurrent", "1"), "{}")
	case awaits:
		status, _ = m.wait(number, p.event, p)
	case hooked:
		event := hookEvent(m.run, p.event)
		if k == 0 {
			out := string(rawjson.Object(append(rawjson.Fields{}, rawjson.Member{Name: "eventId", Value: rawjson.Quote(event)})))
			status, _ = m.call("POST", "/v2/publish/"+m.hit.url, m.headers(), stepText(number, hooked, 1, out))
			break
		}
		status, _ = m.wait(number, event, p)
	case notifies:
		m.w.check.carriesOut(m, number)
		if status, _ = m.call("POST", "/v2/notify/"+p.event, nil, fmt.Sprintf("by %s", m.run)); !lasting(status) {
			return 500
		}
		return m.store(number, p, 1)
	case invokes:
		status = m.invoke(number, i, p)
	default:
		return m.store(number, p, 1)
	}
	return over(status)
}

// hookEvent returns the event of a webhook of a run. One that was resumed keeps it.
func hookEvent(run, event string) string { return event + "-" + run }

func (m *message) wait(number int, event string, p *part) (int, string) {
	does := awaits
	if p.does == hooked {
		does = "WaitForWebhook"
	}
	body := fmt.Sprintf(`{"timeout":"%ds","step":%s}`, int(p.lasts.Seconds()), stepText(number, does, 1, ""))
	return m.call("POST", "/v2/wait/"+event, m.headers(), body)
}

// invoke starts a run that this one waits for. As in the SDK each try has an id of its own.
func (m *message) invoke(number, i int, p *part) int {
	_, places := programAt(m.a, m.hit.url)
	url := routeURL(m.a, fmt.Sprintf("%s%d/", places, i))
	var f rawjson.Fields
	f.Text("body", `{"invoked":true}`)
	f.Text("workflowRunId", m.run)
	f.Text("workflowUrl", m.hit.url)
	f.Number("workflowRunCreatedAt", 1)
	f.Add("step", rawjson.Value(stepText(number, invokes, 1, "")))
	id := fmt.Sprintf("%s-%d-%d", m.run, number, m.w.check.now())
	h := m.a.trigger()
	h["Upstash-Workflow-RunId"], h["Upstash-Workflow-Init"], h["Upstash-Workflow-Url"], h["Upstash-Workflow-Invoke"] = id, "true", url,
		"true"
	delete(h, "Upstash-Delay")
	status, _ := m.call("POST", "/v2/publish/"+url, h, string(f.Object()))
	return status
}

// takeResponse stores the response to a call as the result of its step, unless the call is
// retried.
func (m *message) takeResponse() int {
	var sent struct {
		Status, Retried, MaxRetries int
		Body                        string
	}
	if err := json.Unmarshal(m.body, &sent); err != nil {
		m.w.check.wrong("the response to a call of %s can't be read: %v", m.run, err)
		return 500
	}
	if sent.Status != 200 && sent.Retried < sent.MaxRetries {
		return 200
	}
	var number int
	if _, err := fmt.Sscan(m.header.Get("Upstash-Workflow-Stepid"), &number); err != nil {
		m.w.check.wrong("the response to a call of %s names no step", m.run)
		return 500
	}
	status, _ := m.call("POST", "/v2/publish/"+m.hit.url, m.headers(),
		stepText(number, calls, 1, fmt.Sprintf(`{"status":%d}`, sent.Status)))
	return over(status)
}

// who names who takes the message: of messages that come at the same time, each another one.
func (m *message) who() string { return fmt.Sprintf("application of job %d", m.hit.job) }

// call calls the service, again if it does not answer.
func (m *message) call(method, path string, header map[string]string, body string) (status int, answer string) {
	for try := range 3 {
		status, answer = m.w.call(m.hit.action+try, m.who(), &request{m.a.account, method, path, header, body})
		if lasting(status) || m.w.ctx.Err() != nil {
			break
		}
		pause.For(m.w.ctx, 300*time.Millisecond)
	}
	return status, answer
}

// trigger returns the headers that start a run.
func (a *action) trigger() map[string]string {
	h := map[string]string{"Upstash-Retries": fmt.Sprint(a.retries), "Upstash-Retry-Delay": "1200", "Upstash-Timeout": "4s",
		"Upstash-Workflow-RunId": runOf(a.id)}
	if a.due > 0 {
		h["Upstash-Delay"] = fmt.Sprintf("%ds", int(a.due.Seconds()))
	}
	return h
}

// runOf returns the id of the run that an action starts.
func runOf(action int) string { return fmt.Sprintf("wfr_%d", action) }
