package dashboard

import (
	"slices"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// waitingCounted is how many jobs are counted at most behind each limit.
	waitingCounted = 1000
	// alertsScanned is how many states of alerts are read at most.
	alertsScanned = 1000
	// alertTitles is how many schedules of an alert are named.
	alertTitles = 3
)

// readSignals reads the limits that hold jobs back and the alerts that are open. Their
// pages are not public, and neither are these.
func (s *Server) readSignals(c *call, failing []job.FailingSchedule) (*view.Signals, error) {
	d := &view.Signals{}
	if c.viewer.public {
		return d, nil
	}
	lines, err := s.Service.LimitsWaiting(c.r.Context(), c.owner(), view.SignalsShown+1, waitingCounted)
	if err != nil {
		return nil, err
	}
	d.MoreLimits = len(lines) > view.SignalsShown
	for _, l := range lines[:min(view.SignalsShown, len(lines))] {
		waiting := ui.Plural(l.Waiting, "job", "jobs")
		if l.Waiting >= waitingCounted {
			waiting = ui.Count(int64(l.Waiting)) + "+ jobs"
		}
		d.Limits = append(d.Limits, view.HoldingLimit{Key: l.Key, Paused: l.Paused, Waiting: waiting, Since: l.Since})
	}
	open, err := s.Alerts.Open(c.r.Context(), c.owner(), alertsScanned)
	if err != nil {
		return nil, err
	}
	titles := map[uuid.UUID]string{uuid.Nil: "one-off jobs"}
	for _, f := range failing {
		titles[f.ID] = view.ScheduleTitle(&job.Schedule{ID: f.ID, Name: f.Name})
	}
	for _, o := range open {
		title, known := titles[o.Schedule]
		if !known {
			continue // the schedule is paused, or has just recovered
		}
		i := slices.IndexFunc(d.Alerts, func(a view.OpenAlert) bool { return a.Name == o.Name })
		if i < 0 {
			i = len(d.Alerts)
			d.Alerts = append(d.Alerts, view.OpenAlert{Name: o.Name})
		}
		a := &d.Alerts[i]
		if a.Count++; len(a.Of) < alertTitles {
			a.Of = append(a.Of, title)
		}
	}
	if d.MoreAlerts = max(0, len(d.Alerts)-view.SignalsShown); d.MoreAlerts > 0 {
		d.Alerts = d.Alerts[:view.SignalsShown]
	}
	return d, nil
}
