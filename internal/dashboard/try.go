package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
)

// tryPath is where the reference makes calls for the person who is signed in: the path
// of a call of the API behind it. It is a path of the dashboard, so that the API itself
// never accepts cookies. Nothing is minted either, so there is no key to leak or revoke.
const tryPath = "/try"

// tryHeader is what requests for tryPath must have. A page of another site can't send it:
// the browser would ask this service for permission first, which it doesn't give.
const tryHeader = "Punctual-Try"

var tryRoutes = []route{
	{tryPath, forAnyone, map[string]handler{"GET": (*Server).tryAs}},
	{tryPath + "/{call...}", forAnyone, map[string]handler{"GET": (*Server).tryCall}},
}

// tryAs responds with who is signed in, or with 204.
func (s *Server) tryAs(c *call) error {
	if err := c.fromReference(); err != nil {
		return err
	}
	if c.viewer == nil {
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := json.Marshal(map[string]string{
		"person": c.visit.Person.Email, "account": c.account().Email, "role": string(c.viewer.role),
	})
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", "application/json")
	_, _ = c.Write(body) // the browser may have disconnected
	return nil
}

// tryCall makes a call of the API that only reads, in the account of the session and with
// the role of its person.
func (s *Server) tryCall(c *call) error {
	if err := c.fromReference(); err != nil {
		return err
	}
	if c.viewer == nil {
		return fault.New(fault.Unauthorized, "Nobody is signed in. Sign in, or use a key.")
	}
	r := c.r.Clone(c.r.Context())
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, tryPath), strings.TrimPrefix(r.URL.RawPath, tryPath)
	r.RequestURI = strings.TrimPrefix(r.RequestURI, tryPath)
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	s.api.ServeSession(c, r, auth.Caller{Owner: c.owner(), Role: c.viewer.role})
	return nil
}

// fromReference returns a Forbidden fault unless the script of the reference sent the
// request.
func (c *call) fromReference() error {
	if c.r.Header.Get(tryHeader) == "" {
		return fault.New(fault.Forbidden, "This address is for Try it in the API reference.")
	}
	return nil
}
