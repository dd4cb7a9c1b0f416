package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
)

const (
	// aheadHours is how far ahead the overview shows what is due.
	aheadHours = 24
	// queueScanned is how many queue items are read at most for each hour, and
	// pendingScanned how many of the account's pending jobs if these are too few.
	queueScanned, pendingScanned = 400, 5000
)

// readAhead reads what is due in the next 24 hours, by the hours of the clock in the
// zone of the page.
func (s *Server) readAhead(c *call, now time.Time) (*view.Ahead, error) {
	now = now.In(ui.From(c.r.Context()).Now.Location())
	start := now.Truncate(time.Minute)
	start = start.Add(-time.Duration(start.Minute()) * time.Minute)
	bounds := []time.Time{now}
	end := now.Add(aheadHours * time.Hour)
	for t := start.Add(time.Hour); t.Before(end); t = t.Add(time.Hour) {
		bounds = append(bounds, t)
	}
	bounds = append(bounds, end)
	steps, err := s.Service.JobsAhead(c.r.Context(), c.owner(), bounds, view.AheadNamed, queueScanned, pendingScanned)
	return &view.Ahead{Start: start, Bounds: bounds, Steps: steps}, err
}
