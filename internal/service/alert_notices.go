package service

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/alert"
	"github.com/punctual-dev/punctual/internal/job"
)

// maxNoticeDeliveries is how many pending deliveries of a job are read to find those of
// notices.
const maxNoticeDeliveries = 300

// AlertNotice is a message that an alert has put in the queue for its receivers.
type AlertNotice struct {
	Name string // of the alert
	alert.Notice
}

// Notices returns the latest messages of the owner's alerts, the latest first: at most
// alert.MaxNotices of each, none older than the retention, and only with the names of
// receivers that the alert still has. Those of a deleted alert are gone.
func (s *Alerts) Notices(ctx context.Context, owner job.Owner) ([]AlertNotice, error) {
	all, err := s.Store.AlertList(ctx, owner)
	if err != nil {
		return nil, err
	}
	since := alert.Since(s.Store.Now(), s.Retention)
	var notices []AlertNotice
	for _, a := range all {
		for _, n := range alert.ReadNotices(a.Data, alert.Parse(a.Definition), since) {
			notices = append(notices, AlertNotice{Name: a.Name, Notice: n})
		}
	}
	slices.SortStableFunc(notices, func(a, b AlertNotice) int { return b.At.Compare(a.At) })
	return notices, nil
}

// AlertQueued is what the queue has of the deliveries of a notice. Those that don't wait
// any more were accepted, withdrawn or given up.
type AlertQueued struct {
	Known   bool // the other members say all
	Waiting int  // deliveries that no receiver has accepted yet
	// Attempts is how many attempts the next of these has had, and Next when it is due.
	Attempts int
	Next     time.Time
}

// Queued returns what the queue has of the deliveries of each of up to 100 notices.
func (s *Alerts) Queued(ctx context.Context, owner job.Owner, notices []AlertNotice) ([]AlertQueued, error) {
	notices = notices[:min(100, len(notices))]
	var jobs []int64
	for i := range notices {
		if n := &notices[i]; n.ID != uuid.Nil && n.Job > 0 {
			jobs = append(jobs, n.Job)
		}
	}
	slices.Sort(jobs)
	found, cut, err := s.Store.AlertMessages(ctx, owner, slices.Compact(jobs), maxNoticeDeliveries)
	if err != nil {
		return nil, err
	}
	pending := make(map[string]*job.Delivery, len(found))
	for _, d := range found {
		pending[d.MessageID] = d
	}
	queued := make([]AlertQueued, len(notices))
	for i := range notices {
		n, q := &notices[i], &queued[i]
		for place := range min(n.Messages, alert.MaxReceivers) {
			d := pending[alert.MessageID(n.ID, place)]
			if d == nil {
				continue
			}
			q.Waiting++
			if q.Waiting == 1 || d.DueAt.Before(q.Next) {
				q.Attempts, q.Next = d.Attempt, d.DueAt
			}
		}
		q.Known = n.ID != uuid.Nil && n.Job > 0 && (!cut || q.Waiting == n.Messages)
	}
	return queued, nil
}
