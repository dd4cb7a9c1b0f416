package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

var findRoutes = []route{
	{"/find", forMembers, map[string]handler{"GET": (*Server).find}},
}

const (
	// foundShown is how many results of a kind the palette has.
	foundShown = 6
	// findLeast is how many characters a text needs for a search among jobs and
	// schedules, unless it is a number.
	findLeast = 2
)

// find searches pages, actions, schedules and jobs. The part list is the palette's.
func (s *Server) find(c *call) error {
	d := &view.Find{Query: strings.TrimSpace(c.param("q"))}
	if len(d.Query) > maxSearch {
		return fault.New(fault.Invalid, "A search may have at most 300 bytes.")
	}
	_, err := strconv.ParseInt(d.Query, 10, 64)
	if err == nil || utf8.RuneCountInString(d.Query) >= findLeast {
		if err := s.findRecords(c, d); err != nil {
			return err
		}
	}
	d.Groups = append(matching(d.Query, c.findPages(), c.findActions()), d.Groups...)
	if c.part() == "list" {
		return c.render(http.StatusOK, view.FindPart(d))
	}
	return c.render(http.StatusOK, view.FindPage(d))
}

// findRecords finds schedules and jobs.
func (s *Server) findRecords(c *call, d *view.Find) error {
	schedules, err := s.Service.FindSchedules(c.r.Context(), c.owner(), d.Query, foundShown)
	if err != nil {
		return err
	}
	page, err := s.Service.SearchAll(c.r.Context(), c.owner(), job.Query{ListQuery: job.ListQuery{Limit: foundShown}}, d.Query)
	if err != nil {
		return err
	}
	add := func(title string, items []view.FindItem) {
		if len(items) > 0 {
			d.Groups = append(d.Groups, view.FindGroup{Title: title, Items: items})
		}
	}
	var items []view.FindItem
	for _, one := range schedules {
		items = append(items, view.FindItem{
			Label: view.ScheduleTitle(one), Detail: ui.Shorten(job.ReadSpec(one.Args).URL, 60), Icon: "loop",
			Href: c.href("/schedules/%s", one.ID),
		})
	}
	add("Schedules", items)
	items = nil
	for _, j := range page.Items[:min(len(page.Items), foundShown)] {
		items = append(items, view.FindItem{
			Label: ui.Shorten(view.JobTitle(j), 60), Detail: "#" + strconv.FormatInt(j.Number, 10) + " · " + ui.StateLabel(j.State) +
				" · " + ui.Shorten(job.ReadSpec(j.Args).URL, 60),
			Icon: "send", Href: c.href("/jobs/%d", j.Number),
		})
	}
	add("Jobs", items)
	d.Full, d.Older = c.href("%s", "/jobs?"+url.Values{"q": {d.Query}}.Encode()), page.Next != nil
	return nil
}

// matching returns the groups of pages and actions that match a text.
func matching(text string, pages, actions []view.FindItem) (groups []view.FindGroup) {
	for _, g := range []view.FindGroup{{Title: "Actions", Items: actions}, {Title: "Pages", Items: pages}} {
		found := view.FindGroup{Title: g.Title}
		for _, i := range g.Items {
			if i.Matches(text) {
				found.Items = append(found.Items, i)
			}
		}
		if text != "" && len(found.Items) > foundShown {
			found.Items = found.Items[:foundShown]
		}
		if len(found.Items) > 0 {
			groups = append(groups, found)
		}
	}
	return groups
}

// findPages returns the pages that the viewer may open.
func (c *call) findPages() []view.FindItem {
	page := func(label, path, words string) view.FindItem {
		return view.FindItem{Label: label, Icon: "info", Href: c.href("%s", path), Words: words}
	}
	pages := []view.FindItem{
		page("Overview", "/", "home dashboard"), page("Jobs", "/jobs", "list"),
		page("Failed jobs", "/jobs?state=discarded", "discarded errors"),
		page("Scheduled jobs by due time", "/jobs?state=available&order=due", "waiting next upcoming"),
		page("Schedules", "/schedules", "cron recurring"),
		page("Failing schedules", "/schedules?health=failing", "errors health"), page("Attempts", "/attempts", "logs requests responses"),
		page("Failed attempts", "/attempts?outcome=failed", "logs errors"), page("All events", "/logs", "logs history"),
		page("Preferences", preferencesPath, "theme dark light time zone density"),
	}
	if !c.viewer.public {
		pages = append(pages,
			page("Workflow runs", "/runs", "workflows steps waterfall"), page("Operations", "/operations", "bulk many"),
			page("Settings", "/settings", "account"), page("API keys", "/settings", "tokens"),
			page("Usage and limits", "/settings/usage", "quota"), page("Secrets", "/secrets", "credentials"),
			page("Limits for receivers", "/limits", "rate parallel"),
			page("Groups of targets", "/groups", "fan out topics"),
			page("Alerts", "/alerts", "notifications"), page("Sessions", "/settings#sessions", "devices signed in"),
			page("Second factor", "/settings/second-factor", "totp 2fa"),
			page("Audit log", "/settings/audit", "history sign-ins"))
	}
	if c.viewer.operator {
		pages = append(pages, page("Operator", "/operator", "admin accounts health"),
			page("Audit log of the service", "/operator/audit", "operator"))
	}
	return append(pages, view.FindItem{Label: "API reference", Icon: "info", Href: "/docs", Words: "documentation openapi"},
		view.FindItem{Label: "Guides", Icon: "info", Href: "/docs/guides", Words: "documentation help manual"})
}

// findActions returns what the viewer can do from any page.
func (c *call) findActions() []view.FindItem {
	prefer := func(label, icon, words, name, value string) view.FindItem {
		return view.FindItem{Label: label, Icon: icon, Words: "switch " + words, Href: c.href(preferencesPath),
			Fields: [][2]string{{name, value}}}
	}
	p := c.readPreferences()
	actions := []view.FindItem{
		{Label: "New job", Icon: "plus", Href: c.href("/jobs/new"), Words: "create"},
		{Label: "New schedule", Icon: "plus", Href: c.href("%s", "/jobs/new?when=every+day+at+9:00"), Words: "create cron recurring"},
	}
	if p.Theme != "dark" {
		actions = append(actions, prefer("Use the dark theme", "info", "color mode night", "theme", "dark"))
	}
	if p.Theme != "light" {
		actions = append(actions, prefer("Use the light theme", "info", "color mode day", "theme", "light"))
	}
	if p.Theme != "" {
		actions = append(actions, prefer("Use the system's theme", "info", "color mode default", "theme", "system"))
	}
	if p.Local() {
		actions = append(actions, prefer("Show times in UTC", "clock", "zone", "zone", "UTC"))
	} else if zone := c.param("zone"); zone != "" && len(zone) <= 64 {
		actions = append(actions, prefer("Show local times", "clock", "zone", "zone", zone))
	}
	if p.Compact {
		actions = append(actions, prefer("Use comfortable rows", "minus", "density", "density", "comfortable"))
	} else {
		actions = append(actions, prefer("Use compact rows", "minus", "density", "density", "compact"))
	}
	if !c.viewer.public {
		actions = append(actions,
			view.FindItem{Label: "New operation on many jobs", Icon: "plus", Href: "/operations/new", Words: "bulk cancel retry rerun"},
			view.FindItem{Label: "Sign out", Icon: "send", Href: "/sign-out", Fields: [][2]string{}, Words: "log out leave"})
	}
	return actions
}
