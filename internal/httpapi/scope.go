package httpapi

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// audience is what a route requires of a caller.
type audience int

const (
	open       audience = iota // no credentials
	forReading                 // a key with the scope read, whatever the method
	forJobs                    // a key with the scope read for GET, and jobs for other methods
	forChanges                 // a key with the scope jobs, whatever the method
	forAdmins                  // a key with the scope admin
)

// scope returns the scope that a method of a route requires.
func (a audience) scope(method string) identity.Scope {
	switch {
	case a == forAdmins:
		return identity.ScopeAdmin
	case a == forChanges, a == forJobs && method != http.MethodGet:
		return identity.ScopeJobs
	}
	return identity.ScopeRead
}

// permit returns a Forbidden fault if the key of a call lacks the needed scope.
func (c *call) permit(needed identity.Scope) error {
	err := c.caller.Permit(needed)
	if err != nil && fault.CodeOf(err) == fault.Forbidden && !c.caller.Public {
		// RFC 6750, section 3.1.
		c.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+string(needed)+`"`)
	}
	return err
}

// actor is the caller as the audit log names it.
func (c *call) actor() audit.Actor {
	actor := audit.Actor{Kind: audit.ByKey, Name: c.caller.Prefix}
	if c.caller.Public {
		actor = audit.Actor{Kind: audit.ByNobody}
	}
	if from := edge.ClientAddr(c.r); from.IsValid() {
		actor.Address = from.String()
	}
	return actor
}
