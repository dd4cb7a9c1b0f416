package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var alertRoutes = []route{
	{"/alerts", forSignedIn, map[string]handler{"GET": (*Server).alerts, "POST": (*Server).putAlert}},
	{"/alerts/{name}/delete", forSignedIn, map[string]handler{"POST": (*Server).deleteAlert}},
	{"/alerts/{name}/test", forSignedIn, map[string]handler{"POST": (*Server).testAlert}},
}

// alertsShown is how many alerts an account can have.
const alertsShown = 100

// alerts lists the account's alerts. The parameter new opens the form, and name fills it
// with the alert of that name.
func (s *Server) alerts(c *call) error {
	d, err := s.readAlerts(c)
	if err != nil {
		return err
	}
	d.Form.Values = url.Values{"on": {"failed", "recovered"}}
	i := slices.IndexFunc(d.Alerts, func(a view.Alert) bool { return a.Name == c.param("name") })
	if i >= 0 {
		d.Form.Values = d.Values(&d.Alerts[i])
	}
	d.Open = i >= 0 || c.param("new") != ""
	return c.render(http.StatusOK, view.AlertsPage(d))
}

func (s *Server) readAlerts(c *call) (*view.Alerts, error) {
	found, _, err := s.Alerts.List(c.r.Context(), c.owner(), alertsShown, 0)
	if err != nil {
		return nil, err
	}
	state, err := s.Alerts.Recipients(c.r.Context(), c.owner())
	if err != nil {
		return nil, err
	}
	d := &view.Alerts{Notice: c.notice(), ReadOnly: !c.may(identity.RoleEditor), Form: view.Refusal{Form: "alert"},
		Unsendable: func(address string) string { return recipientNotes[state(address)] }}
	open, err := s.Alerts.Open(c.r.Context(), c.owner(), alertsScanned)
	if err != nil {
		return nil, err
	}
	for _, a := range found {
		row := view.Alert{Name: a.Name, Definition: a.Definition, UpdatedAt: a.UpdatedAt}
		for _, o := range open {
			switch {
			case o.Name != a.Name:
			case o.Schedule == uuid.Nil:
				row.OneOff = true
			default:
				row.Failing++
			}
		}
		d.Alerts = append(d.Alerts, row)
	}
	return d, s.readNotices(c, d)
}

// recipientNotes say why an address gets no e-mails of alerts.
var recipientNotes = map[consent.State]string{
	consent.Waiting: "waiting for confirmation", consent.Unasked: "not asked to confirm yet; send a test tomorrow",
	consent.Refused: "refuses e-mails",
}

// refuseAlert shows the alerts again with what is wrong.
func (s *Server) refuseAlert(c *call, refused error) error {
	if !ofForm(refused) {
		return refused
	}
	d, err := s.readAlerts(c)
	if err != nil {
		return err
	}
	d.Form.Values, d.Form.Err = c.r.PostForm, refused
	return c.render(c.statusOf(refused), view.AlertsPage(d))
}

func (s *Server) putAlert(c *call) error {
	name := strings.TrimSpace(c.r.PostForm.Get("name"))
	_, created, err := s.Alerts.Put(c.r.Context(), c.owner(), name, alertBody(c.r.PostForm), service.Match{})
	switch {
	case err != nil:
		return s.refuseAlert(c, err)
	case created:
		return c.redirect("/alerts?done=alertcreated")
	}
	return c.redirect("/alerts?done=alertchanged")
}

// alertBody returns the request that a form describes.
func alertBody(form url.Values) rawjson.Value {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) {
		if v != nil {
			members = append(members, rawjson.Member{Name: name, Value: v})
		}
	}
	valueOf := func(kind job.FieldKind, name string) rawjson.Value {
		field := job.Field{Kind: kind}
		return field.Value(form.Get(name))
	}
	add("on", quoteAll(form["on"]))
	add("after", valueOf(job.WholeValue, "after"))
	add("late_by", valueOf(job.DurationValue, "late_by"))
	var match []rawjson.Member
	if tags := words(form.Get("tags")); len(tags) > 0 {
		match = append(match, rawjson.Member{Name: "tags", Value: quoteAll(tags)})
	}
	if id := strings.TrimSpace(form.Get("schedule_id")); id != "" {
		match = append(match, rawjson.Member{Name: "schedule_id", Value: rawjson.Quote(id)})
	}
	add("match", rawjson.Object(match))
	var to []rawjson.Value
	for _, kind := range notify.ChannelNames() {
		for _, target := range words(form.Get(kind)) {
			to = append(to, rawjson.Object([]rawjson.Member{{Name: kind, Value: rawjson.Quote(target)}}))
		}
	}
	add("to", rawjson.Array(to))
	add("remind_every", valueOf(job.DurationValue, "remind_every"))
	return rawjson.Object(members)
}

func (s *Server) deleteAlert(c *call) error {
	if err := s.Alerts.Delete(c.r.Context(), c.owner(), c.r.PathValue("name")); err != nil {
		return err
	}
	return c.redirect("/alerts?done=alertdeleted")
}

// testAlert sends a test and shows what each receiver said.
func (s *Server) testAlert(c *call) error {
	results, err := s.Alerts.Test(c.r.Context(), c.owner(), c.r.PathValue("name"))
	if err != nil {
		return s.refuseAlert(c, err)
	}
	d, err := s.readAlerts(c)
	if err != nil {
		return err
	}
	d.Tested = c.r.PathValue("name")
	for i := range results {
		d.Results = append(d.Results, alertResult(&results[i]))
	}
	d.Form.Values = url.Values{"on": {"failed", "recovered"}}
	return c.render(http.StatusOK, view.AlertsPage(d))
}

// alertResult returns what a receiver said.
func alertResult(t *service.AlertTest) view.AlertResult {
	r := view.AlertResult{Target: notify.ChannelOf(t.Receiver.Channel).TextOf(t.Receiver.Target), Took: t.Outcome.Duration}
	if response := t.Outcome.Response; response != nil {
		r.Status, r.Text = response.Status, string(response.Body)
	}
	if failure := t.Outcome.Failure; failure != nil {
		r.Failed, r.Text = true, failure.Message
	}
	return r
}
