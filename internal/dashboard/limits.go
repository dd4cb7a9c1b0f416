package dashboard

import (
	"crypto/sha256"
	"errors"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/quota"
)

// admit sets the viewer and counts the request: for the account that is signed in,
// else for the network. It returns a TooMany fault above the limit, and a Forbidden
// fault for a change by a suspended account.
func (s *Server) admit(route route, public bool, c *call) error {
	c.setViewer(nil)
	err := s.count(route, public, c)
	var f *fault.Error
	if fault.CodeOf(err) == fault.TooMany && errors.As(err, &f) {
		return &fault.Error{Code: fault.TooMany, Message: "You sent too many requests. Wait a few seconds, then load this page again.",
			RetryAfter: f.RetryAfter}
	}
	return err
}

func (s *Server) count(route route, public bool, c *call) error {
	token := sha256.Sum256([]byte(c.cookie(sessionCookie)))
	// A token that may be a guess is counted before it is looked up, since the
	// look-up is expensive.
	guess := public || !s.sessions.Has(token)
	if guess {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return err
		}
	}
	v, err := s.readViewer(c, public)
	if err != nil {
		return err
	}
	c.setViewer(v)
	if v != nil {
		if err := edge.Authenticated(c.r, v.account.Number, v.public); err != nil {
			return err
		}
	}
	switch {
	case public:
		return s.countPublic(route, c)
	case v == nil && guess:
		return nil
	case v == nil: // the session has ended
		s.sessions.Remove(token)
		return s.Rates.Address(c.Header(), c.r)
	case guess:
		s.Rates.ReturnAddress(c.Header(), c.r)
	}
	s.sessions.Add(token)
	limits, err := s.Quotas.Limits(c.r.Context(), v.account.Number)
	if err != nil {
		return err
	}
	if err := s.Rates.Pages(c.Header(), v.account.Number, limits.Rate); err != nil {
		return err
	}
	if !changes(route, c) || route.path == "/sign-out" {
		return nil
	}
	return suspended(v.account)
}

// changes reports whether a request may change something of an account.
func changes(route route, c *call) bool {
	return !readsOnly(c.r) && !readOnly[route.path] && route.path != switchPath
}

// countPublic counts a change of the public account like an API call with the
// public key.
func (s *Server) countPublic(route route, c *call) error {
	if !changes(route, c) {
		return nil
	}
	limits, err := s.Quotas.Limits(c.r.Context(), s.Public.Number)
	if err != nil {
		return err
	}
	if err := s.Rates.Account(c.Header(), s.Public.Number, limits.Rate, 0, 1); err != nil {
		return err
	}
	account, err := s.Auth.Account(c.r.Context(), s.Public.Number)
	if err != nil {
		return err
	}
	return suspended(account)
}

// suspended returns a Forbidden fault if an account may not change anything.
func suspended(account *identity.Account) error {
	if err := quota.Suspended(account); err != nil {
		return fault.New(fault.Forbidden, ui.Sentence(err.Error()))
	}
	return nil
}
