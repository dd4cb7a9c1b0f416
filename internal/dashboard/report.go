package dashboard

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/stats"
)

var reportRoutes = []route{
	{"/schedules/{schedule_id}/report", forMembers, map[string]handler{"GET": (*Server).report}},
	{"/schedules/{schedule_id}/report.csv", forMembers, map[string]handler{"GET": (*Server).reportCSV}},
}

// missedWords describe the reasons of stats.MissedReasons.
var missedWords = map[string]string{
	"down":    "Service was down",
	"overlap": "Run before was not over",
	"limit":   "Held back by a limit",
	"expired": "Expired",
	"next":    "Passed over by $next",
}

// outageWords describe the reasons of outages.
var outageWords = map[string]string{
	stats.OutageService: "Service: runs were due and did not start",
	stats.OutageTarget:  "Target: runs failed",
}

// readReport reads the report of the schedule in the path, of the month in the address or
// the current one.
func (s *Server) readReport(c *call) (*stats.Report, error) {
	id, err := c.scheduleID()
	if err != nil {
		return nil, err
	}
	month, ok := stats.ReadMonth(c.param("month"), s.Service.Now())
	if !ok {
		return nil, fault.New(fault.Invalid, "The month must be one of the last "+strconv.Itoa(stats.MonthsKept)+" months, in UTC, such as "+
			stats.FormatMonth(stats.MonthOf(s.Service.Now()))+".")
	}
	return s.Service.SchedulePunctuality(c.r.Context(), c.owner(), id, month)
}

// report shows what became of a schedule's runs in a month.
func (s *Server) report(c *call) error {
	r, err := s.readReport(c)
	if err != nil {
		return err
	}
	found, err := s.Service.Schedule(c.r.Context(), c.owner(), r.Schedule)
	if err != nil {
		return err
	}
	d := &view.Report{Schedule: found, Month: stats.FirstOf(r.Month).Format("January 2006"), Complete: r.Complete,
		Omitted: r.Counts.Omitted, CSV: c.reportOf("report.csv", r.Schedule, r.Month)}
	current := stats.MonthOf(s.Service.Now())
	if d.Current = r.Month == current; !d.Current {
		d.Next = c.reportOf("report", r.Schedule, r.Month+1)
	}
	if r.Month-1 > current-stats.MonthsKept {
		d.Previous = c.reportOf("report", r.Schedule, r.Month-1)
	}
	fillReport(d, &r.Counts)
	return c.render(http.StatusOK, view.ReportPage(d))
}

// reportOf returns the address of a month's report.
func (c *call) reportOf(page string, schedule uuid.UUID, month int64) string {
	return c.href("/schedules/%s/%s?month=%s", schedule, page, stats.FormatMonth(month))
}

// fillReport sets the figures of a report.
func fillReport(d *view.Report, m *stats.Month) {
	count := func(name string, n int64, below string) view.Figure {
		return view.Figure{Name: name, Value: ui.Count(n), Below: below}
	}
	d.Runs = []view.Figure{
		count("Due", m.Due(), "with points without a run"), count("Made", m.Made(), "an attempt began"), count("Completed", m.Completed, ""),
		count("Failed", m.Failed, ""), count("Cancelled", m.Cancelled, ""),
		count("Late", m.Late, "by more than "+ui.Period(stats.LateAfter)),
	}
	l := m.Lateness()
	d.Lateness = []view.Figure{
		{Name: "p50", Value: orDash(l.P50)}, {Name: "p99", Value: orDash(l.P99)}, {Name: "p99.9", Value: orDash(l.P999)},
		{Name: "Worst", Value: orDash(l.Worst)},
	}
	for i, reason := range stats.MissedReasons {
		d.Missed = append(d.Missed, count(missedWords[reason], m.Missed[i], ""))
	}
	for _, o := range m.Outages {
		d.Outages = append(d.Outages, view.Outage{Reason: outageWords[o.Reason], From: o.From, To: o.To, Runs: ui.Count(o.Runs)})
	}
}

// reportCSV responds with a report as a file.
func (s *Server) reportCSV(c *call) error {
	r, err := s.readReport(c)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", stats.ReportContentType)
	c.Header().Set("Content-Disposition", `attachment; filename="punctuality-`+stats.FormatMonth(r.Month)+`-`+r.Schedule.String()+`.csv"`)
	_, _ = c.Write(r.AppendCSV(nil)) // the browser may have disconnected
	return nil
}
