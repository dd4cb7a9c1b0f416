package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// keyOnly are calls that only a key makes, besides streams: their responses may have
// credentials that the parameter mask does not hide.
var keyOnly = map[string]bool{
	"/api/account/signing-secrets": true,
	"/api/jobs/{job_id}/revisions": true, "/api/schedules/{schedule_id}/revisions": true,
	"/api/operations": true, "/api/operations/{operation_id}": true,
	"/api/groups": true, "/api/groups/{name}": true,
	"/api/alerts": true, "/api/alerts/{name}": true, // receivers
}

// roles are what calls need of a person, by the scope that they need of a key.
var roles = map[identity.Scope]identity.Role{
	identity.ScopeRead: identity.RoleViewer, identity.ScopeJobs: identity.RoleEditor, identity.ScopeAdmin: identity.RoleAdmin,
}

type sessionKey struct{}

// ServeSession serves a call that only reads, for a person whom the dashboard has signed
// in: its owner is the account, and its role the person's in it. The caller of
// ServeSession has refused what other sites forge. The call counts like one with a key
// of the account, and its response has no credentials. Everything else is a Forbidden
// problem. Requests that arrive at ServeHTTP are never authenticated by a session.
func (s *Server) ServeSession(w http.ResponseWriter, r *http.Request, person auth.Caller) {
	_, pattern := s.mux.Handler(r)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads || !strings.HasPrefix(pattern, "/api/") || streams[pattern] || keyOnly[pattern] || s.mounted(r.URL.Path) != nil {
		s.answer("refused", func(*call) error {
			return fault.New(fault.Forbidden, "this call needs a key; a session of the dashboard permits calls that only read, "+
				"and no streams, nor what may show credentials: signing secrets, revisions, operations, groups and alerts")
		}, s.problem).ServeHTTP(w, r)
		return
	}
	s.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), sessionKey{}, person)))
}

// bySession returns the person whose session makes a call; false for calls with keys.
func bySession(ctx context.Context) (auth.Caller, bool) {
	person, ok := ctx.Value(sessionKey{}).(auth.Caller)
	return person, ok
}

// admitPerson is admit for the call of a person's session. The dashboard has put the
// person into the context, as the actor.
func (s *Server) admitPerson(route route, method string, c *call, person auth.Caller) error {
	c.owner, c.caller, c.mask = person.Owner, person, true
	c.r = c.r.WithContext(access.With(c.r.Context(), person.Role))
	if err := s.charge(c, 0, 1); err != nil {
		return err
	}
	if err := s.suspended(c.r.Context(), person.Number); err != nil {
		s.Metrics.Refused("suspended")
		return err
	}
	return access.Need(c.r.Context(), roles[route.access.scope(method)])
}
