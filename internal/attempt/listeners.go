package attempt

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
)

// Listeners answer requests on developers' machines. See package listen.
type Listeners interface {
	// Diverts reports whether a listener responds to all requests of a job,
	// because of a tag of the job.
	Diverts(account int64, tags func() []string) (bool, error)
	// Answer has a listener answer a request; see [execute.Listener].
	Answer(account int64, tags []string, r *http.Request, body []byte, leave func() bool) (*http.Response, *job.Failure)
}

// listener has the listeners of an account answer requests.
type listener struct {
	Listeners
	account int64
	tags    []string // of the job
}

// Answer implements execute.Listener.
func (l listener) Answer(r *http.Request, body []byte, leave func() bool) (*http.Response, *job.Failure) {
	return l.Listeners.Answer(l.account, l.tags, r, body, leave)
}

// listened sets what answers the request of a job in place of its target, if
// listeners do. It returns a failure if that can't be found out: the request could
// otherwise reach a target that it is not meant for.
func (a *jobAttempt) listened(ctx context.Context, request *execute.Request) *job.Outcome {
	r := a.runner
	if r.Listeners == nil {
		return nil
	}
	tags := func() []string { return job.LabelsOf(a.Item.Job.Args).Tags }
	divert, err := r.Listeners.Diverts(a.Item.Account, tags)
	if err != nil {
		r.logLimited("reading the connected listeners failed; attempts will be retried", err)
		pause.For(ctx, time.Second)
		outcome := notSent("the connected listeners could not be read; the attempt will be retried")
		return &outcome
	}
	l := listener{Listeners: r.Listeners, account: a.Item.Account}
	if divert {
		l.tags, request.Divert = tags(), true
	}
	request.Listener = l
	return nil
}
