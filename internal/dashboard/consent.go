package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
)

// consentRoutes are the pages that the links in questions to recipients of alerts lead
// to; consent.Path is their path. Mail servers follow links, so that only a form
// changes something.
var consentRoutes = []route{
	{"/alert-mail/{token}", forAnyone, map[string]handler{"GET": (*Server).question, "POST": (*Server).answerQuestion}},
}

func (s *Server) question(c *call) error {
	q, err := s.Alerts.Question(c.r.Context(), c.r.PathValue("token"))
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, view.ConsentPage(&view.Consent{
		Address: q.Address, Asker: q.Asker, Service: c.r.Host, Confirmed: q.State == consent.Confirmed, Refused: q.State == consent.Refused,
		Notice: c.notice(),
	}))
}

func (s *Server) answerQuestion(c *call) error {
	token, choice := c.r.PathValue("token"), c.r.PostForm.Get("answer")
	done := map[string]string{"confirm": "mailconfirmed", "refuse": "mailrefused"}[choice]
	if done == "" {
		return fault.New(fault.Invalid, "Choose one of the buttons of the page.")
	}
	if err := s.Alerts.Answer(c.r.Context(), token, choice == "confirm"); err != nil {
		return err
	}
	return c.redirect("/alert-mail/%s?done=%s", token, done)
}
