package httpapi

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
)

// Foreign is another system's API, which is served beside this one: with the same keys,
// rates and limits, but with paths, bodies and errors of its own.
type Foreign interface {
	// Find returns the call that a request asks for. It may change the request's header:
	// the credentials that it finds elsewhere go into Authorization.
	Find(r *http.Request) ForeignRoute
	// Fail writes the response to a call that failed with a status.
	Fail(w http.ResponseWriter, r *http.Request, status int, f *fault.Error)
}

// ForeignRoute is a call of a Foreign.
type ForeignRoute struct {
	Name string // a path without values, for metrics and logs
	// Admin: the key needs the scope admin; else read for GET and jobs for others. Reads:
	// read is enough whatever the method is.
	Admin, Reads bool
	// Owner is set for a call without a key, whose address is a secret. It returns whose
	// the call is and the secret, or why there is nothing at that address. It must read
	// little: anyone may call.
	Owner func(*http.Request) (owner job.Owner, secret string, err error)
	// Serve responds to the call; nil if there is no such call.
	Serve func(*ForeignCall) error
}

// ForeignCall is a call of a Foreign whose caller is known.
type ForeignCall struct {
	http.ResponseWriter
	Request *http.Request
	Owner   job.Owner
	server  *Server
	call    *call
}

// ReadAll reads the request's body of up to most bytes, a whole number of MiB.
func (f *ForeignCall) ReadAll(most int64) ([]byte, error) { return f.call.readAll(most) }

// EnterParsing waits until a body of some bytes may be parsed as JSON. The caller must
// call leave afterwards.
func (f *ForeignCall) EnterParsing(bytes int) (leave func(), err error) {
	return f.call.enterParsing(bytes)
}

// Charge counts the call as one for each of a number of items.
func (f *ForeignCall) Charge(items int) error { return f.server.charge(f.call, 1, items) }

// MayChange reports whether the caller's key may change jobs.
func (f *ForeignCall) MayChange() bool { return f.call.caller.Permit(identity.ScopeJobs) == nil }

// Actor is the caller as the audit log names it.
func (f *ForeignCall) Actor() audit.Actor { return f.call.actor() }

// Created notes that the call created a job.
func (f *ForeignCall) Created(number int64) { f.call.span.Created(number) }

// mount is where a Foreign is served.
type mount struct {
	prefix string
	http.Handler
}

// Mount serves an API on all paths that begin with a prefix if it ends with a slash, else
// on that path. It must be called before the first request.
func (s *Server) Mount(prefix string, api Foreign, names ...string) {
	s.foreign = append(s.foreign, mount{prefix, s.Foreign(api, names...)})
}

// Foreign returns a handler that serves an API whose calls have the given names.
func (s *Server) Foreign(api Foreign, names ...string) http.Handler {
	for _, name := range names {
		s.Metrics.Expect(name)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := api.Find(r)
		s.answer(found.Name, func(c *call) error { return s.serveForeign(found, c) }, func(c *call, id string, err error) {
			s.failForeign(api, c, id, err)
		}).ServeHTTP(w, r)
	})
}

func (s *Server) mounted(path string) http.Handler {
	for _, m := range s.foreign {
		if path == m.prefix || strings.HasSuffix(m.prefix, "/") && strings.HasPrefix(path, m.prefix) {
			return m
		}
	}
	return nil
}

func (s *Server) serveForeign(found ForeignRoute, c *call) error {
	if found.Serve == nil {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return err
		}
		return &fault.Error{Code: fault.NotFound, Reason: "unknown_path", Message: "there is no call " + c.r.Method + " at this path"}
	}
	if found.Owner != nil {
		if err := s.admitStranger(found, c); err != nil {
			return err
		}
		return found.Serve(&ForeignCall{ResponseWriter: c, Request: c.r, Owner: c.owner, server: s, call: c})
	}
	r := route{path: found.Name, access: forJobs}
	switch {
	case found.Admin:
		r.access = forAdmins
	case found.Reads:
		r.access = forReading
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if err := s.admit(r, method, c); err != nil {
		return err
	}
	if c.caller.Public {
		return fault.New(fault.Forbidden, "the shared public key can't be used here; create an account and a key of your own")
	}
	s.trace(r, c)
	return found.Serve(&ForeignCall{ResponseWriter: c, Request: c.r, Owner: c.owner, server: s, call: c})
}

// secretRate is how many calls a second are accepted at one secret address.
const secretRate = quota.Rate(10)

// admitStranger lets a call without a key through if its address is a secret of an
// account. A call that is refused counts against the rate of its network.
func (s *Server) admitStranger(found ForeignRoute, c *call) error {
	if err := s.Rates.Address(c.Header(), c.r); err != nil {
		return err
	}
	owner, secret, err := found.Owner(c.r)
	if err != nil {
		return err
	}
	c.owner = owner
	if err := s.suspended(c.r.Context(), c.owner.Number); err != nil {
		s.Metrics.Refused("suspended")
		return fault.New(fault.Forbidden, "nothing is served at this address at the moment")
	}
	if count := s.reports.Take(sha256.Sum256([]byte(secret)), secretRate, 0, 1, time.Now()); !count.Allowed {
		s.Metrics.Refused("secret_address_rate")
		return &fault.Error{
			Code: fault.TooMany, Message: "too many calls per second of this address; try again after Retry-After seconds",
			RetryAfter: max(count.Wait, time.Millisecond),
		}
	}
	s.Rates.ReturnAddress(c.Header(), c.r)
	return edge.Authenticated(c.r, c.owner.Number, true)
}

// failForeign responds to a call that failed.
func (s *Server) failForeign(api Foreign, c *call, id string, err error) {
	var f *fault.Error
	gone := edge.ClientGone(c.r, err)
	switch {
	case gone:
		f = fault.Unreachable(err)
		defer func() { c.status = edge.StatusClientClosedRequest }()
	case !errors.As(err, &f):
		f = &fault.Error{Code: fault.Internal, Message: internalMessage, Cause: err}
	}
	status := responses[f.Code].status
	if (f.Code == fault.Internal || f.Code == fault.Unavailable) && !gone {
		s.complaints.Log(s.Log, "request failed", status, "request", id, "error", err)
	}
	challenge(c.Header(), f)
	api.Fail(c, c.r, status, f)
}
