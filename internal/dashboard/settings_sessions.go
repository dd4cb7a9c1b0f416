package dashboard

import (
	"bytes"
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
)

var sessionRoutes = []route{
	{"/settings/sessions/{session}/end", forPersons, map[string]handler{"POST": (*Server).endSession}},
	{"/settings/sessions/end-others", forPersons, map[string]handler{"POST": (*Server).endOtherSessions}},
}

// sessionsShown is how many sessions the settings show: those used last.
const sessionsShown = 10

// readSessions reads the account's sessions.
func (s *Server) readSessions(c *call, d *view.Settings) error {
	sessions, err := s.People.Sessions(c.r.Context(), c.visit.Person.ID)
	if err != nil {
		return err
	}
	for _, one := range sessions[:min(len(sessions), sessionsShown)] {
		d.Sessions = append(d.Sessions, view.Session{
			ID: auth.SessionID(one), Browser: auth.Browser(one.Agent), Address: one.Address, CreatedAt: one.CreatedAt, SeenAt: one.SeenAt,
			Current: bytes.Equal(one.Hash, c.session.Hash),
		})
	}
	d.OlderSessions = len(sessions) - len(d.Sessions)
	return nil
}

func (s *Server) endSession(c *call) error {
	id := c.r.PathValue("session")
	if err := s.People.EndSession(c.r.Context(), c.visit, id, c.address()); err != nil {
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
	if err := s.People.EndOtherSessions(c.r.Context(), c.visit, c.address()); err != nil {
		return err
	}
	return c.redirect("/settings?done=endedothers")
}
