package httpapi

import (
	"context"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
)

// completions is the path at which targets complete attempts.
const completions = "/api/completions/{token}"

// uncounted are the paths without a rate limit by network, so that monitoring and
// completions work even during an attack.
var uncounted = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, completions: true}

// admit authenticates a call and counts it against a rate: the account's, or the
// network's if the call has no valid key. It returns a TooMany fault if the call
// exceeds the rate, and a Forbidden fault if the account is suspended, the key
// can't be used from the client's address, or the key lacks the scope that the
// call needs.
func (s *Server) admit(route route, method string, c *call) error {
	header := c.r.Header.Get("Authorization")
	if uncounted[route.path] {
		return nil
	}
	if route.access == open || route.path == punctuality && s.PublicPunctuality && header == "" {
		return s.Rates.Address(c.Header(), c.r)
	}
	if person, ok := bySession(c.r.Context()); ok {
		return s.admitPerson(route, method, c, person)
	}
	caller, err := s.authenticate(header, c)
	if err != nil {
		return err
	}
	c.owner, c.caller = caller.Owner, caller
	c.r = c.r.WithContext(access.WithKey(c.r.Context(), caller.Role))
	c.r = c.r.WithContext(audit.WithActor(job.WithActor(c.r.Context(), actorOf(&caller)), c.actor()))
	if err := s.charge(c, 0, 1); err != nil {
		return err
	}
	if err := s.suspended(c.r.Context(), caller.Number); err != nil {
		s.Metrics.Refused("suspended")
		return err
	}
	if err := edge.Authenticated(c.r, caller.Number, caller.Public); err != nil {
		return err
	}
	return c.permit(route.access.scope(method))
}

// authenticate returns who makes a call, and counts calls without a valid key
// against the rate of their network. A key that may be a guess is counted before
// it is looked up, because the look-up costs more than the guess.
func (s *Server) authenticate(header string, c *call) (auth.Caller, error) {
	from := edge.ClientAddr(c.r)
	known := header != "" && s.Auth.Knows(header)
	if header != "" && !known {
		leave, err := s.guesses.enter(c.r.Context(), header)
		if err != nil {
			return auth.Caller{}, err
		}
		defer leave()
		known = s.Auth.Knows(header) // another call may have looked it up meanwhile
	}
	if !known {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return auth.Caller{}, err
		}
	}
	caller, err := s.Auth.Authenticate(c.r.Context(), header, from)
	code := fault.CodeOf(err)
	switch {
	case err == nil && !known:
		s.Rates.ReturnAddress(c.Header(), c.r)
	case err != nil && known && (code == fault.Unauthorized || code == fault.Forbidden):
		// The key was revoked, has expired or can't be used from this address.
		if over := s.Rates.Address(c.Header(), c.r); over != nil {
			return auth.Caller{}, over
		}
	}
	return caller, err
}

// actorOf returns whom the history of a record names.
func actorOf(caller *auth.Caller) job.Actor {
	if caller.Public {
		return job.Actor{Kind: job.ByPublic}
	}
	return job.Actor{Kind: job.ByKey, ID: caller.Key.String(), Name: caller.Name}
}

// suspended returns a Forbidden fault when an account is suspended.
func (s *Server) suspended(ctx context.Context, account int64) error {
	a, err := s.Auth.Account(ctx, account)
	if err != nil {
		return err
	}
	return quota.Suspended(a)
}

// charge raises what a call counts against the rate of its account, from before
// calls to calls. A call for many items counts once per item, but at most as many
// as the rate allows in one second. Every call counts as one before its handler
// runs.
func (s *Server) charge(c *call, before, calls int) error {
	limits, err := s.Quotas.Limits(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return s.Rates.Account(c.Header(), c.owner.Number, limits.Rate, int64(before), int64(calls))
}
