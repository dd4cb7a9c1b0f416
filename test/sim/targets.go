package sim

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// secrets signs requests.
type secrets struct{}

func (secrets) SigningSecrets(context.Context, int64) (execute.Signing, error) {
	return execute.Signing{Secrets: []execute.Secret{execute.Secret("secret")}}, nil
}

// targets answers a node's requests.
type targets node

// Prewarm implements attempt.Client. Targets need no connections.
func (t *targets) Prewarm(execute.Party, string, int, bool) {}

// Do implements attempt.Client.
func (t *targets) Do(ctx context.Context, r execute.Request) job.Outcome {
	n, w, start := (*node)(t), t.world, time.Now()
	took := func(o job.Outcome) job.Outcome {
		o.Duration = time.Since(start)
		return o
	}
	h := newHit(&r)
	if w.sched.await(n, n.name, "request "+h.name) == perish {
		return took(stopped(execute.ErrInterrupted))
	}
	if err := context.Cause(ctx); err != nil {
		return took(stopped(err))
	}
	if r.Leave != nil && !r.Leave() {
		o := stopped(execute.ErrInterrupted)
		o.Failure.Unsent = true
		return took(o)
	}
	h.read = n.readOf(ctx)
	if isRoute(r.URL) {
		return t.route(ctx, &r, h, took)
	}
	a := w.arrives(n, h)
	if r.Timeout > 0 && a.after > r.Timeout {
		pause.For(ctx, r.Timeout)
	} else {
		pause.For(ctx, a.after)
	}
	fate := w.sched.await(n, n.name, "response "+h.name)
	cause := context.Cause(ctx)
	switch {
	case fate == perish:
		cause = execute.ErrInterrupted
	case cause == nil && r.Timeout > 0 && a.after > r.Timeout:
		cause = context.DeadlineExceeded
	}
	w.check.left(h, cause)
	if cause != nil {
		return took(stopped(cause))
	}
	if a.status <= 0 {
		return took(job.Outcome{Failure: &job.Failure{Kind: job.KindClosed, Message: "the target closed the connection",
			Dropped: h.dropped()}})
	}
	return took(job.Outcome{Response: &job.Response{
		Status: a.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(a.body),
	}})
}

// stopped returns the outcome of an attempt that ended for a cause, as package
// execute does.
func stopped(cause error) job.Outcome {
	f := &job.Failure{Kind: job.KindInterrupted, Message: "the service stopped while the request was under way"}
	switch cause {
	case execute.ErrCancelled:
		f.Kind, f.Message = job.KindCancelled, "the job was cancelled while the request was under way"
	case context.DeadlineExceeded:
		f.Kind, f.Message = job.KindTimeout, "no response in the time allowed"
	}
	return job.Outcome{Failure: f}
}

// newHit reads what a request says about itself.
func newHit(r *execute.Request) *hit {
	h := &hit{url: r.URL, message: r.MessageID, body: string(r.Body), recent: r.Recent}
	for _, f := range r.Own {
		switch f.Name {
		case "X-Punctual-Job-Id":
			h.job, _ = strconv.ParseInt(f.Value, 10, 64)
		case "X-Punctual-Attempt":
			h.attempt, _ = strconv.Atoi(f.Value)
		case "X-Punctual-Scheduled-At":
			h.scheduled, _ = time.Parse(time.RFC3339Nano, f.Value)
		case "X-Punctual-Complete":
			h.token = f.Value[len(completionURL):]
		}
	}
	h.action = actionOf(r.URL)
	h.name = fmt.Sprintf("%s #%d", r.URL, h.attempt)
	if h.job == 0 {
		h.name = r.URL + " " + eventOf(h.body)
	}
	return h
}

// actionOf returns the action that a URL names.
func actionOf(url string) int {
	id, _ := strconv.Atoi(path.Base(url))
	return id
}

// eventOf returns which event a webhook's body tells.
func eventOf(body string) string { return member(rawjson.Value(body), "type") }

// arrives notes a request and returns how its target answers.
func (w *world) arrives(n *node, h *hit) answer {
	w.mu.Lock()
	count := w.hits[h.url]
	w.hits[h.url]++
	w.mu.Unlock()
	a := w.byID[h.action]
	r := answer{status: 200, after: time.Millisecond}
	switch {
	case a == nil:
	case h.job == 0:
		if count == 1 { // of a callback or webhook, the second one fails
			r.status = 503
		}
	default:
		r = a.answers[min(count, len(a.answers)-1)]
	}
	h.answer = r
	w.check.arrived(n, h)
	if r.report != "" && h.token != "" {
		w.actors.Go(func() { w.report(n, h, r) })
	}
	return r
}

// report reports the outcome of an attempt, as its target.
func (w *world) report(n *node, h *hit, r answer) {
	pause.For(w.ctx, r.after+r.when)
	for try := 0; try < 20 && w.ctx.Err() == nil; try++ {
		w.sched.await(nil, "target", "report of "+h.name)
		if w.ctx.Err() != nil {
			return
		}
		if s := w.live(h.action + try); s != nil {
			_, err := s.Complete(w.ctx, h.token, rawjson.Value(r.report))
			if err == nil || fault.CodeOf(err) != fault.Unavailable {
				w.check.reported(h, r, err)
				return
			}
			w.check.reported(h, r, err)
		}
		pause.For(w.ctx, 900*time.Millisecond)
	}
}

func (secrets) TokenKey(context.Context, int64) (execute.Secret, error) {
	return execute.Secret("sig_key"), nil
}
