package httpapi

import (
	"context"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/quota"
)

// uncounted are the paths that are under no rate, so that whoever watches the
// service sees it also while it is attacked.
var uncounted = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true}

// admit finds out who makes a call and counts it: by account, or by network when
// it comes without a valid key. A TooMany fault when it is one too many, a
// Forbidden fault when the account is suspended, or when the key can't be used
// from the client's address or has not the scope that the call needs.
func (s *Server) admit(route route, method string, c *call) error {
	header := c.r.Header.Get("Authorization")
	if uncounted[route.path] {
		return nil
	}
	// A key that may be a guess is counted before it is looked up: the look-up
	// costs more than the guess.
	guess := route.access == open || header == "" || !s.Auth.Knows(header)
	if guess {
		if err := s.Rates.Address(c.Header(), c.r); err != nil || route.access == open {
			return err
		}
	}
	caller, err := s.Auth.Authenticate(c.r.Context(), header, edge.ClientAddr(c.r))
	if code := fault.CodeOf(err); !guess && err != nil && (code == fault.Unauthorized || code == fault.Forbidden) {
		// It was revoked, has expired or can't be used from there.
		if over := s.Rates.Address(c.Header(), c.r); over != nil {
			return over
		}
	}
	if err != nil {
		return err
	}
	if guess {
		s.Rates.ReturnAddress(c.Header(), c.r)
	}
	c.owner, c.caller = caller.Owner, caller
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

// suspended returns a Forbidden fault when an account is suspended.
func (s *Server) suspended(ctx context.Context, account int64) error {
	a, err := s.Auth.Account(ctx, account)
	if err != nil {
		return err
	}
	return quota.Suspended(a)
}

// charge counts a call against the rate of its account: from how many calls it
// has been counted as before to how many it counts as. A call for many items
// counts as one for each, and as a second's worth at most; every call has been
// counted as one before its handler runs.
func (s *Server) charge(c *call, before, calls int) error {
	limits, err := s.Quotas.Limits(c.r.Context(), c.owner.Number)
	if err != nil {
		return err
	}
	return s.Rates.Account(c.Header(), c.owner.Number, limits.Rate, int64(before), int64(calls))
}
