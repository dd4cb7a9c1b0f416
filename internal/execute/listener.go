package execute

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/job"
)

// Listener answers requests instead of a target. See package listen.
type Listener interface {
	// Answer returns the response to a request, or why there is none. It returns
	// when the request's context ends. body is the body of the request; the caller
	// does not change it afterwards. leave is called right before the request is
	// handed to a listener, which must not happen if it returns false.
	Answer(r *http.Request, body []byte, leave func() bool) (*http.Response, *job.Failure)
}

// knownError is an error whose failure is known: of a listener that did not answer, or
// of what authorizes requests.
type knownError struct{ failure *job.Failure }

func (e *knownError) Error() string { return e.failure.Message }

var errNoListener = &blockedError{why: "only what jobs, callbacks and webhooks send goes to a listener"}

// errOwnListener refuses a target that sends a request of its choice to the account's
// listeners.
var errOwnListener = &redirectError{"the target redirected to a listener; only a listener may redirect there"}

// toListener reports whether a listener answers the next hop: because of its host,
// or because all requests to the first origin are answered so.
func (a *attempt) toListener() bool {
	return job.ToListener(a.url) || a.req.Divert && !a.foreign
}

// ask has a listener answer the next hop.
func (a *attempt) ask(req *http.Request) (*http.Response, error) {
	if a.req.Listener == nil {
		return nil, errNoListener
	}
	resp, failure := a.req.Listener.Answer(req, a.body, a.leave)
	if failure != nil {
		return nil, &knownError{failure}
	}
	a.wrote = true
	return resp, nil
}
