package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/quota"
)

var usageRoutes = []route{
	{"/settings/usage", forSignedIn, map[string]handler{"GET": (*Server).showUsage}},
}

func (s *Server) showUsage(c *call) error {
	account, err := s.Auth.CurrentAccount(c.r.Context(), c.owner().Number)
	if err != nil {
		return err
	}
	d := &view.UsagePage{}
	if err := quota.Suspended(account); err != nil {
		d.Suspended = ui.Sentence(err.Error())
	}
	if s.Retention > 0 {
		d.Retention = ui.Period(s.Retention)
	}
	work, err := s.workUsage(c)
	if err != nil {
		return err
	}
	settings, err := s.settingsUsage(c)
	if err != nil {
		return err
	}
	d.Groups = []view.UsageGroup{
		{Title: "Jobs and calls", About: "The operator of the service sets these limits.", Rows: work},
		{Title: "Settings and people", About: "These limits are the same for every account.", Rows: settings},
	}
	return c.render(http.StatusOK, view.UsageLimitsPage(d))
}

// workUsage returns the limits that can differ between accounts.
func (s *Server) workUsage(c *call) ([]view.UsageRow, error) {
	limits, err := s.Quotas.Limits(c.r.Context(), c.owner().Number)
	if err != nil {
		return nil, err
	}
	u, err := s.Quotas.Usage(c.r.Context(), c.owner().Number, limits)
	if err != nil {
		return nil, err
	}
	pending := countRow("Pending jobs", u.Pending, limits.Pending,
		"New one-off jobs get a 429 until pending ones have run or are cancelled. Runs of schedules don't count and continue.")
	pending.Href = "/jobs?state=available"
	schedules := countRow("Schedules", u.Schedules, limits.Schedules,
		"New schedules get a 429 until you delete one. Paused schedules count, so that resuming one never fails.")
	schedules.Href = "/schedules"
	stored := view.UsageRow{Name: "Stored", Percent: -1,
		Bound: "New jobs and schedules get a 429 until old records are removed. Existing jobs and schedules continue."}
	if limits.Stored > 0 {
		stored.Limit = quota.FormatSize(limits.Stored)
		if !u.SampledAt.IsZero() {
			stored.Used, stored.Percent = ui.Size(int(u.Stored)), percentOf(u.Stored, limits.Stored)
		}
	}
	return []view.UsageRow{pending, schedules, stored, s.callUsage(c, limits.Rate)}, nil
}

// callUsage returns the rate of calls and what is used of it now, on this node.
func (s *Server) callUsage(c *call, rate quota.Rate) view.UsageRow {
	row := view.UsageRow{Name: "Calls of the API", Percent: -1,
		Bound: "Calls beyond the rate get a 429 with Retry-After and change nothing. All keys of the account count together, on each node by itself."}
	if calls, seconds := rate.Policy(); rate > 0 {
		used := calls - s.Rates.Left(c.owner().Number, rate)
		row.Used, row.Percent = ui.Count(used)+" now", percentOf(used, calls)
		row.Limit = ui.Count(calls) + " in " + ui.Plural(int(seconds), "second", "seconds")
	}
	return row
}

// settingsUsage returns the limits that are the same for every account.
func (s *Server) settingsUsage(c *call) ([]view.UsageRow, error) {
	ctx, owner := c.r.Context(), c.owner()
	keys, err := s.Auth.Keys(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	working := 0
	for _, k := range keys {
		if auth.Works(k, s.Service.Now()) {
			working++
		}
	}
	sessions, err := s.People.Sessions(ctx, c.visit.Person.ID)
	if err != nil {
		return nil, err
	}
	secrets, err := s.Secrets.List(ctx, owner)
	if err != nil {
		return nil, err
	}
	limits, err := s.Service.Limits(ctx, owner, "", limit.MaxPerAccount)
	if err != nil {
		return nil, err
	}
	alerts, _, err := s.Alerts.List(ctx, owner, alertsShown, 0)
	if err != nil {
		return nil, err
	}
	return []view.UsageRow{
		linked(countRow("API keys", int64(working), auth.MaxKeys, "No further key can be created until you revoke one."), "/settings"),
		linked(countRow("Secrets", int64(len(secrets)), identity.MaxHeaderSecrets, "No further secret can be stored until you delete one."),
			"/secrets"),
		linked(countRow("Limits for receivers", int64(len(limits)), limit.MaxPerAccount,
			"No further limit can be created until you delete one."), "/limits"),
		linked(countRow("Alerts", int64(len(alerts)), alertsShown, "No further alert can be created until you delete one."), "/alerts"),
		linked(countRow("Sessions", int64(len(sessions)), identity.MaxSessions,
			"The next sign-in ends the session that was used least recently."), "/settings#sessions"),
	}, nil
}

// countRow returns the row of a number of records, of which limit are allowed; 0 is
// any number.
func countRow(name string, n, limit int64, bound string) view.UsageRow {
	row := view.UsageRow{Name: name, Used: used(n, 0), Bound: bound, Percent: -1}
	if limit > 0 {
		row.Used, row.Limit, row.Percent = ui.Count(n), ui.Count(limit), percentOf(n, limit)
	}
	return row
}

func linked(row view.UsageRow, href string) view.UsageRow {
	row.Href = href
	return row
}

// percentOf returns how much of a limit is used, 0 to 100. It is 100 only at the limit.
func percentOf(n, limit int64) int {
	switch {
	case n >= limit:
		return 100
	case n <= 0:
		return 0
	}
	return min(99, int(100*(float64(n)/float64(limit))))
}
