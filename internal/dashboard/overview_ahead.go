package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
)

const (
	// aheadHours is how far ahead the overview shows what is due.
	aheadHours = 24
	// queueScanned is how many queue items are read at most for each hour, and
	// pendingScanned how many of the account's pending jobs if these are too few.
	queueScanned, pendingScanned = 1000, 5000
)

// readAhead reads what is due in the next 24 hours, by the hours of the clock.
func (s *Server) readAhead(c *call, now time.Time) (*view.Ahead, error) {
	bounds := []time.Time{now}
	end := now.Add(aheadHours * time.Hour)
	for t := now.Truncate(time.Hour).Add(time.Hour); t.Before(end); t = t.Add(time.Hour) {
		bounds = append(bounds, t)
	}
	bounds = append(bounds, end)
	steps, err := s.Service.JobsAhead(c.r.Context(), c.owner(), bounds, view.AheadNamed, queueScanned, pendingScanned)
	return &view.Ahead{Start: now.Truncate(time.Hour), Bounds: bounds, Steps: steps}, err
}
