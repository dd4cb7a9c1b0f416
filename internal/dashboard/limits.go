package dashboard

import (
	"crypto/sha256"
	"errors"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/quota"
)

// admit finds out who looks at a page and counts the request: by the account
// that is signed in, else by network. A TooMany fault when it is one too many, a
// Forbidden fault for a change by a suspended account.
func (s *Server) admit(route route, public bool, c *call) error {
	c.look(nil)
	err := s.count(route, public, c)
	var f *fault.Error
	if fault.CodeOf(err) == fault.TooMany && errors.As(err, &f) {
		return &fault.Error{Code: fault.TooMany, Message: "Too many requests came at once. Wait a few seconds, then load this page again.", RetryAfter: f.RetryAfter}
	}
	return err
}

func (s *Server) count(route route, public bool, c *call) error {
	token := sha256.Sum256([]byte(c.cookie(sessionCookie)))
	// A session that may be a guess is counted before it is looked up: the
	// look-up costs more than the guess.
	guess := public || !s.sessions.Has(token)
	if guess {
		if err := s.Rates.Address(c.Header(), c.r); err != nil {
			return err
		}
	}
	viewer, err := s.viewer(c, public)
	if err != nil {
		return err
	}
	c.look(viewer)
	if viewer != nil {
		if err := edge.Authenticated(c.r, viewer.Account.Number, viewer.Public); err != nil {
			return err
		}
	}
	switch {
	case public:
		return s.countPublic(route, c)
	case viewer == nil && guess:
		return nil
	case viewer == nil: // it has ended
		s.sessions.Remove(token)
		return s.Rates.Address(c.Header(), c.r)
	case guess:
		s.Rates.ReturnAddress(c.Header(), c.r)
	}
	s.sessions.Add(token)
	limits, err := s.Quotas.Limits(c.r.Context(), viewer.Account.Number)
	if err != nil {
		return err
	}
	if err := s.Rates.Pages(c.Header(), viewer.Account.Number, limits.Rate); err != nil {
		return err
	}
	if !changes(route, c) || route.path == "/sign-out" {
		return nil
	}
	if err := quota.Suspended(viewer.Account); err != nil {
		return fault.New(fault.Forbidden, capital(err.Error()))
	}
	return nil
}

// changes reports whether a request may change something of an account.
func changes(route route, c *call) bool {
	return !readsOnly(c.r) && route.path != "/jobs/preview"
}

// countPublic counts a change of the public account like a call to the API with
// the public key.
func (s *Server) countPublic(route route, c *call) error {
	if !changes(route, c) {
		return nil
	}
	limits, err := s.Quotas.Limits(c.r.Context(), s.Public.Number)
	if err != nil {
		return err
	}
	return s.Rates.Account(c.Header(), s.Public.Number, limits.Rate, 0, 1)
}
