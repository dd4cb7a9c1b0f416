package dashboard

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
)

// noticesShown is how many messages of alerts a page lists.
const noticesShown = 25

// readNotices reads what alerts have sent: a page from the parameter from on.
func (s *Server) readNotices(c *call, d *view.Alerts) error {
	notices, err := s.Alerts.Notices(c.r.Context(), c.owner())
	if err != nil {
		return err
	}
	for i := range d.Alerts {
		last := slices.IndexFunc(notices, func(n service.AlertNotice) bool { return n.Name == d.Alerts[i].Name })
		if last >= 0 {
			d.Alerts[i].SentAt = notices[last].At
		}
	}
	from, _ := strconv.Atoi(c.param("from")) // anything else is the first page
	from = max(0, min(from, len(notices)))
	page := notices[from:min(from+noticesShown, len(notices))]
	if from > 0 {
		d.Newest = "/alerts#sent"
	}
	if from+len(page) < len(notices) {
		d.Older = "/alerts?from=" + strconv.Itoa(from+len(page)) + "#sent"
	}
	queued, err := s.Alerts.Queued(c.r.Context(), c.owner(), page)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for i := range page {
		if id := page[i].Schedule; id != uuid.Nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	names, err := s.Service.ScheduleNames(c.r.Context(), c.owner(), ids)
	if err != nil {
		return err
	}
	for i := range page {
		n := &page[i]
		row := view.AlertNotice{Alert: n.Name, At: n.At, Type: n.Type, Schedule: n.Schedule, Job: n.Job, Failures: n.Failures, To: n.To,
			Messages: n.Messages, Left: n.Left, Queued: queued[i].Known, Waiting: queued[i].Waiting, Attempts: queued[i].Attempts,
			Next: queued[i].Next}
		for _, r := range n.Results {
			row.Results = append(row.Results, view.AlertAnswer{Place: r.Place, Status: r.Status, Error: string(r.Error), GivenUp: r.GivenUp})
		}
		if name, known := names[n.Schedule]; known { // it was not deleted
			row.Title = view.ScheduleTitle(&job.Schedule{ID: n.Schedule, Name: name})
		}
		d.Notices = append(d.Notices, row)
	}
	return nil
}
