package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/schedule"
)

var preferenceRoutes = []route{
	{preferencesPath, forMembers, map[string]handler{"GET": (*Server).preferences, "POST": (*Server).setPreferences}},
}

const preferencesPath = "/preferences"

// The cookie with a browser's preferences: theme, density and zone, as a query.
const (
	preferencesCookie = "punctual-preferences"
	preferencesLast   = 400 * 24 * time.Hour
	maxPreferences    = 200 // bytes
)

// readPreferences reads the cookie. What it does not know is the default.
func (c *call) readPreferences() (p ui.Preferences) {
	text := c.cookie(preferencesCookie)
	if len(text) > maxPreferences {
		return p
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return p
	}
	applyPreferences(&p, values)
	return p
}

// applyPreferences sets the preferences that a form or the cookie has, as far as they
// are valid, and returns the names of those that are not.
func applyPreferences(p *ui.Preferences, values url.Values) (invalid string) {
	for name, texts := range values {
		text := texts[0]
		switch name {
		case "theme":
			switch text {
			case "light", "dark":
				p.Theme = text
			default:
				p.Theme = ""
			}
		case "density":
			p.Compact = text == "compact"
		case "zone":
			p.Zone = nil
			if text == "" || text == "UTC" {
				continue
			}
			zone, err := schedule.LoadZone(text)
			if err != nil {
				invalid = name
				continue
			}
			p.Zone = zone
		}
	}
	return invalid
}

// preferences shows the form, for browsers without scripts.
func (s *Server) preferences(c *call) error {
	return c.render(http.StatusOK, view.PreferencesPage(&view.Preferences{Zone: c.zoneName(), Notice: c.notice()}))
}

// zoneName returns the name of the zone that times are shown in.
func (c *call) zoneName() string {
	p := c.readPreferences()
	return p.Location().String()
}

// setPreferences changes the preferences that the form has, and returns to the page
// with the form.
func (s *Server) setPreferences(c *call) error {
	p := c.readPreferences()
	if invalid := applyPreferences(&p, c.r.PostForm); invalid != "" {
		return c.render(http.StatusUnprocessableEntity, view.PreferencesPage(&view.Preferences{
			Zone: c.r.PostForm.Get("zone"), Problem: "must be the name of a time zone, such as Europe/London",
		}))
	}
	values := url.Values{}
	if p.Theme != "" {
		values.Set("theme", p.Theme)
	}
	if p.Compact {
		values.Set("density", "compact")
	}
	if p.Local() {
		values.Set("zone", p.Zone.String())
	}
	c.setCookie(preferencesCookie, values.Encode(), preferencesLast)
	if c.r.PostForm.Get("from") == "page" {
		return c.redirect("%s?done=preferences", preferencesPath)
	}
	http.Redirect(c, c.r, c.cameFrom(), http.StatusSeeOther)
	return nil
}

// cameFrom returns the page of this dashboard that the form was on, "/" if it is
// unknown.
func (c *call) cameFrom() string {
	from, err := url.Parse(c.r.Referer())
	if err != nil || from.Host != c.r.Host {
		return c.href("/")
	}
	return local(from.RequestURI())
}
