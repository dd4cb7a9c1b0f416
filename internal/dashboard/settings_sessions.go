package dashboard

import (
	"bytes"
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/store"
)

var sessionRoutes = []route{
	{"/settings/sessions/{session}/end", forOwners, map[string]handler{"POST": (*Server).endSession}},
	{"/settings/sessions/end-others", forOwners, map[string]handler{"POST": (*Server).endOtherSessions}},
}

// sessionsShown is how many sessions the settings show, those used last.
const sessionsShown = 10

// here reports whether a session is the one that shows the page.
func (d *settings) here(s *store.Session) bool { return bytes.Equal(s.Hash, d.session) }

// readSessions reads what the settings show of the account's sessions.
func (s *Server) readSessions(c *call, d *settings) (err error) {
	if d.sessions, err = s.People.Sessions(c.r.Context(), c.owner().Number); err != nil {
		return err
	}
	d.session = c.session.Hash
	if n := len(d.sessions); n > sessionsShown {
		d.sessions, d.others = d.sessions[:sessionsShown], n-sessionsShown
	}
	return nil
}

func (s *Server) endSession(c *call) error {
	id := c.r.PathValue("session")
	if err := s.People.EndSession(c.r.Context(), c.viewer().Account, id, c.address()); err != nil {
		return err
	}
	if id == auth.SessionID(c.session) {
		c.setCookie(sessionCookie, "", 0)
		http.Redirect(c, c.r, "/sign-in", http.StatusSeeOther)
		return nil
	}
	return c.redirect("/settings?done=ended")
}

func (s *Server) endOtherSessions(c *call) error {
	if err := s.People.EndOtherSessions(c.r.Context(), c.viewer().Account, c.session, c.address()); err != nil {
		return err
	}
	return c.redirect("/settings?done=endedothers")
}
