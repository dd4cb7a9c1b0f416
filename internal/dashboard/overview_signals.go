package dashboard

import (
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
)

// waitingCounted is how many jobs are counted at most behind each limit.
const waitingCounted = 1000

// readSignals reads the limits that hold jobs back. Their page is not public, and neither
// are they.
func (s *Server) readSignals(c *call) (*view.Signals, error) {
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
	return d, nil
}
