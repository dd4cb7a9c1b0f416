package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/service"
)

var rehearseRoutes = []route{
	{"/rehearse", forSignedIn, map[string]handler{"GET": (*Server).showRehearsal}},
}

const (
	// dayShown is how many schedules a day of the calendar names.
	dayShown = 3
	// findingsShown is how many findings a page lists.
	findingsShown = 50
	// rehearsedShown is how many schedules a page lists.
	rehearsedShown = 100
	monthForm      = "2006-01"
)

// showRehearsal shows a calendar of what the account's schedules will do in a month.
func (s *Server) showRehearsal(c *call) error {
	now := s.Service.Now()
	zone := ui.From(c.r.Context()).Now.Location()
	page := &view.Rehearsal{Month: cmp.Or(c.param("month"), now.In(zone).Format(monthForm)), Down: c.param("down"), For: c.param("for")}
	month, err := time.ParseInLocation(monthForm, page.Month, zone)
	if err != nil {
		page.Problem = "Month must be written as in 2027-03."
		return c.render(http.StatusUnprocessableEntity, view.RehearsePage(page))
	}
	q := &service.Rehearsal{From: schedule.Later(now, month), To: month.AddDate(0, 1, 0)}
	if page.Problem = readOutage(q, page.Down, page.For, zone); page.Problem == "" && !q.To.After(q.From) {
		page.Problem = "The month is over. Give this month or a later one."
	}
	if page.Problem == "" && q.To.After(now.AddDate(10, 0, 0)) {
		page.Problem = "The month must be at most ten years ahead."
	}
	if page.Problem != "" {
		return c.render(http.StatusUnprocessableEntity, view.RehearsePage(page))
	}
	q.BeginsLater(now)
	days := newCalendar(month, zone)
	q.Each = days.add
	result, err := s.Service.Rehearse(c.r.Context(), c.owner(), q)
	if err != nil {
		return err
	}
	c.fillRehearsal(page, month, now.In(zone), days, result)
	return c.render(http.StatusOK, view.RehearsePage(page))
}

// readOutage reads the inputs for an outage, a time in zone unless it names an offset, and
// returns what is wrong with them.
func readOutage(q *service.Rehearsal, down, long string, zone *time.Location) string {
	if down == "" {
		return ""
	}
	at, _, err := schedule.ParseInstantIn(down, zone)
	if err != nil {
		return "Service down from " + err.Error() + "."
	}
	minutes, err := strconv.Atoi(cmp.Or(long, "60"))
	if err != nil || minutes < 1 || minutes > 44640 {
		return "For how many minutes must be a whole number from 1 to 44640."
	}
	q.Outages = []rehearse.Outage{{At: at, For: time.Duration(minutes) * time.Minute}}
	return ""
}

// calendar counts the runs of each day of a month by schedule.
type calendar struct {
	month time.Time
	zone  *time.Location
	days  [32]map[int]int64
}

func newCalendar(month time.Time, zone *time.Location) *calendar {
	return &calendar{month: month, zone: zone}
}

func (d *calendar) add(s rehearse.Start) {
	day := s.At.In(d.zone).Day()
	if d.days[day] == nil {
		d.days[day] = map[int]int64{}
	}
	d.days[day][s.Entry]++
}

func (c *call) fillRehearsal(page *view.Rehearsal, month, now time.Time, days *calendar, r *rehearse.Result) {
	page.Title = month.Format("January 2006")
	if before := month.AddDate(0, -1, 0); !month.Before(now) {
		page.Previous = c.href("/rehearse?%s", url.Values{"month": {before.Format(monthForm)}}.Encode())
	}
	page.Following = c.href("/rehearse?%s", url.Values{"month": {month.AddDate(0, 1, 0).Format(monthForm)}}.Encode())
	names := make([]string, len(r.Schedules))
	for i := range r.Schedules {
		names[i] = rehearsedName(r.Schedules[i].Name, r.Schedules[i].Key, r.Schedules[i].ID)
	}
	page.Weeks = weeksOf(month, now, days, names)
	shown := min(len(r.Schedules), rehearsedShown)
	page.MoreRows = len(r.Schedules) - shown
	for i := range shown {
		page.Rows = append(page.Rows, c.rehearsedRow(&r.Schedules[i], names[i], now.Location()))
	}
	for _, m := range r.Busiest[:min(len(r.Busiest), 5)] {
		page.Busiest = append(page.Busiest, view.BusyMinute{At: m.At, Runs: m.Runs})
	}
	page.Findings = findingsOf(r.Findings)
	if r.Cut != nil {
		page.Cut = fmt.Sprintf("There is more than one rehearsal shows. The counts are complete up to %s only.",
			ui.ExactIn(r.Cut.At, now.Location()))
	}
}

// rehearsedName returns what a schedule is called: its name or else its key.
func rehearsedName(name, key *string, id string) string {
	switch {
	case name != nil && *name != "":
		return *name
	case key != nil:
		return *key
	case id != "":
		return "Schedule " + id[:min(8, len(id))]
	}
	return "All schedules"
}

func (c *call) rehearsedRow(o *rehearse.Outcome, name string, zone *time.Location) view.RehearsedRow {
	row := view.RehearsedRow{
		Name: name, Href: c.href("/schedules/%s", o.ID), Runs: o.Runs, Failed: o.Failed, Expired: o.Expired, Late: o.Late,
		Skipped: o.Skipped, Overlaps: o.Overlaps,
	}
	if len(o.First) > 0 {
		row.First = o.First[0]
	}
	if o.Limited.Count > 0 {
		row.Limited = fmt.Sprintf("%d, up to %s", o.Limited.Count, ui.Period(o.Limited.Longest))
	}
	switch {
	case o.Disabled:
		row.Ends = "disabled"
	case o.Ends != nil:
		row.Ends = fmt.Sprintf("%s (%s)", ui.ExactIn(o.Ends.At, zone), o.Ends.Reason)
	}
	return row
}

// weeksOf returns the weeks of a month, from Monday on.
func weeksOf(month, now time.Time, counted *calendar, names []string) [][]view.CalendarDay {
	var weeks [][]view.CalendarDay
	week := make([]view.CalendarDay, (int(month.Weekday())+6)%7, 7)
	for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
		if len(week) == 7 {
			weeks, week = append(weeks, week), nil
		}
		week = append(week, dayOf(day, now, counted.days[day.Day()], names))
	}
	for len(week) < 7 {
		week = append(week, view.CalendarDay{})
	}
	return append(weeks, week)
}

func dayOf(day, now time.Time, counts map[int]int64, names []string) view.CalendarDay {
	d := view.CalendarDay{Day: day.Day(), Past: !day.AddDate(0, 0, 1).After(now)}
	for entry, n := range counts {
		d.Runs += n
		d.Schedules = append(d.Schedules, view.DaySchedule{Name: names[entry], Runs: n})
	}
	slices.SortFunc(d.Schedules, func(a, b view.DaySchedule) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name))
	})
	if len(d.Schedules) > dayShown {
		d.More = len(d.Schedules) - dayShown
		d.Schedules = d.Schedules[:dayShown]
	}
	return d
}

func findingsOf(found []rehearse.Finding) []view.Finding {
	var findings []view.Finding
	for _, f := range found[:min(len(found), findingsShown)] {
		findings = append(findings, view.Finding{Name: rehearsedName(f.Name, f.Key, f.ID), Message: f.Message})
	}
	return findings
}

// rehearsedEdit returns how a patch changes the runs of a schedule; nil if that can't be
// rehearsed now.
func (s *Server) rehearsedEdit(c *call, id uuid.UUID, patch []byte) (*view.RunsChange, error) {
	comparison, err := s.Service.RehearseEdit(c.r.Context(), c.owner(), id, patch, service.Match{})
	switch {
	case err != nil && fault.CodeOf(err) == fault.TooMany:
		return nil, nil // the difference is shown without
	case err != nil:
		return nil, err
	}
	change := comparison.Changes[0]
	end := comparison.To
	if comparison.Cut != nil {
		end = comparison.Cut.At
	}
	return &view.RunsChange{
		Before: runsOf(change.Before, end.Sub(comparison.From)), After: runsOf(change.After, end.Sub(comparison.From)),
		Added: change.Added, Dropped: change.Dropped, Moved: change.Moved, Findings: findingsOf(comparison.Findings),
	}, nil
}

func runsOf(o *rehearse.Outcome, span time.Duration) view.RunsOf {
	r := view.RunsOf{Rate: "never"}
	if o == nil || o.Disabled {
		r.Rate = "disabled"
		return r
	}
	if len(o.First) > 0 {
		r.Next = o.First[0]
	}
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "a day"}, {7 * day, "a week"}, {365 * day / 12, "a month"}, {365 * day, "a year"}} {
		if n := float64(o.Runs) * float64(unit.length) / float64(max(span, time.Second)); n > .99 || unit.length > 300*day && o.Runs > 0 {
			r.Rate = strconv.FormatInt(int64(n+.5), 10) + " " + unit.name
			break
		}
	}
	return r
}
