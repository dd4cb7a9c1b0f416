package attempt

import (
	"bytes"
	"context"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// Runs reads workflow runs.
type Runs interface {
	// RunMessage returns what is needed to send a message of a run.
	RunMessage(ctx context.Context, account int64, of workflow.Key, bytes int64) (*store.RunMessage, error)
	// RunSteps returns a run's records from a position on.
	RunSteps(ctx context.Context, account int64, id string, from, limit int, bytes int64) ([]*workflow.Step, error)
}

// carried is how many bytes of steps a message carries, if its route can read them itself
// otherwise.
const carried = 64 << 10

// proceed prepares the message of a workflow run. ended reports that the attempt is over,
// because it needs not be sent; else the outcome, unless it is nil, says why it was not.
// give returns the memory of the body.
func (r *Runner) proceed(ctx context.Context, a *jobAttempt, node int64, began time.Time,
	requestDone func(bytes int64)) (give func(), ended bool, outcome *job.Outcome) {
	give = func() {}
	m, ok := a.RunMessage()
	if !ok || a.Refused != nil {
		return give, false, nil
	}
	account := a.Item.Account
	a.asked = time.Now()
	found, err := r.Runs.RunMessage(ctx, account, m.Key, carried)
	if err == nil && workflow.TimesOut(m, found.Run, found.Of, found.Result) && r.TimedOut != nil {
		if err = r.TimedOut(ctx, a.Item.Job.Owner, m.Key); err == nil {
			r.settle(ctx, a, node, began, requestDone)
			return give, true, nil
		}
	}
	if err == nil && workflow.Decide(m, a.Item.Job.ID, found.Run, found.Of, found.Result) == workflow.Skip {
		r.settle(ctx, a, node, began, requestDone)
		return give, true, nil
	}
	if err == nil {
		give, err = r.assemble(ctx, a, m, found)
	}
	switch {
	case err == nil:
		return give, false, nil
	case fault.CodeOf(err) == fault.TooLarge:
		return give, false, &job.Outcome{Failure: &job.Failure{Kind: job.KindTooLarge, Message: err.Error()}}
	case ctx.Err() != nil:
		failed := withdrawn(ctx)
		return give, false, &failed
	}
	r.logLimited("reading workflow runs failed; attempts will be retried", err)
	pause.For(ctx, time.Second)
	failed := notSent("the workflow run could not be read; the attempt will be retried")
	return give, false, &failed
}

// staleAfter is how long ago a run may have been read when its message leaves: what ends it
// takes effect within 100 ms.
const staleAfter = 90 * time.Millisecond

// wanted returns a leave that also reports whether the message of a run is still to be
// sent. It reads the run again if its request is late: connecting took long, or the process
// stood still. Other requests leave as before.
func (a *jobAttempt) wanted(ctx context.Context, leave func() bool) func() bool {
	m, ok := a.RunMessage()
	if !ok || a.asked.IsZero() {
		return leave
	}
	return func() bool {
		for leave() {
			if since(a.asked) <= staleAfter {
				return true
			}
			a.asked = time.Now()
			found, err := a.runner.Runs.RunMessage(ctx, a.Item.Account, m.Key, noSteps)
			if err != nil || workflow.Decide(m, a.Item.Job.ID, found.Run, found.Of, found.Result) == workflow.Skip {
				return false // the attempt is made again, and has nothing to send then
			}
		}
		return false
	}
}

// noSteps, as the bound of the bytes of a run's steps, reads none.
const noSteps = -1

// since returns how long ago a time was by the clock that shows more: the monotonic one
// stops while the machine is suspended.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

func (r *Runner) settle(ctx context.Context, a *jobAttempt, node int64, began time.Time, requestDone func(bytes int64)) {
	f := a.Settle(node, a.span(began))
	f.Decide = r.decided(a.Item, f.Decide)
	aside := func() []store.Finish { return a.Unstored(node, a.span(began)) }
	if r.finish(ctx, &f, nil, aside, func() { requestDone(0) }) && a.Result.Final() {
		r.Metrics.Finished(a.Result.String())
	}
}

// assemble sets the body of a message: the run's steps, or what a failure function needs of
// the run. It takes the memory for it.
func (r *Runner) assemble(ctx context.Context, a *jobAttempt, m workflow.Message, found *store.RunMessage) (give func(), err error) {
	give = func() {}
	take := func(size int) error {
		if size <= 2*carried {
			return nil
		}
		if err := r.messages.take(ctx, a.Item.Account, size); err != nil {
			return err
		}
		give = func() { r.messages.give(a.Item.Account, size) }
		return nil
	}
	run := found.Run
	a.run, a.first = run, m.Kind == workflow.Initial && !m.Failure
	switch {
	case m.Failure:
		first, err := r.Runs.RunSteps(ctx, a.Item.Account, run.ID, 0, 1, 0)
		if err != nil || len(first) == 0 {
			return give, err
		}
		if err := take(2*len(first[0].Body) + len(a.Outgoing.Body)); err != nil {
			return give, err
		}
		a.message = failureBody(a.Outgoing.Body, run, first[0].Body)
	case m.Callback:
	case m.Kind == workflow.Call:
		a.run = nil // a third party is not told of it
	case found.Steps == nil && run.Lazy:
		a.message = []byte{}
	default:
		if found.Steps == nil {
			if err := take(workflow.ListSize(run.Rows, run.Bytes)); err != nil {
				return give, err
			}
			if found.Steps, err = r.allSteps(ctx, a, found); err != nil {
				return give, err
			}
		}
		a.message = workflow.AppendSteps(nil, found.Steps)
	}
	return give, nil
}

// allSteps reads the steps up to that of a message.
func (r *Runner) allSteps(ctx context.Context, a *jobAttempt, found *store.RunMessage) (steps []*workflow.Step, err error) {
	if found.Run.Bytes > carriedMost {
		return nil, fault.New(fault.TooLarge, "the steps of the workflow run have more than "+strconv.Itoa(carriedMost>>20)+
			" MiB, and its route does not read them itself; nothing was sent")
	}
	for from := 0; from <= found.Of.Position; {
		page, err := r.Runs.RunSteps(ctx, a.Item.Account, found.Run.ID, from, stepPage, carriedMost)
		if err != nil || len(page) == 0 {
			return steps, err
		}
		for _, s := range page {
			if from = s.Position + 1; s.Kind <= workflow.Result && s.Position <= found.Of.Position {
				steps = append(steps, s)
			}
		}
	}
	return steps, nil
}

// carriedMost is how many bytes of steps a message carries at most, stepPage how many are
// read at once.
const (
	carriedMost = 4 << 20
	stepPage    = 1000
)

// failureBody returns the report of a failure with what the failure function needs of the
// run: when it was created, and the payload with which it was started.
func failureBody(report []byte, run *workflow.Run, payload []byte) []byte {
	report = bytes.TrimSuffix(bytes.TrimSpace(report), []byte{'}'})
	b := append(make([]byte, 0, len(report)+len(payload)*4/3+200), report...)
	b = strconv.AppendInt(append(b, `,"workflowCreatedAt":`...), run.CreatedAt.UnixMilli(), 10)
	b = rawjson.AppendText(append(b, `,"workflowUrl":`...), run.URL)
	b = base64.StdEncoding.AppendEncode(append(b, `,"sourceBody":"`...), payload)
	return append(b, `"}`...)
}

// speakRun adds to a message of a workflow run what its route reads.
func (a *jobAttempt) speakRun(add func(name, value string)) {
	if a.run == nil {
		return
	}
	add("Upstash-Workflow-Createdat", strconv.FormatInt(a.run.CreatedAt.UnixMilli(), 10))
	if a.message != nil {
		add("Upstash-Workflow-Init", strconv.FormatBool(a.first))
	}
}
