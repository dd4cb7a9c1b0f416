package store

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// expiryCheck is how long limits hold a run with job.CatchUpNone before it is
	// looked at. Its deadline depends on the schedule's grid, so only the reader of
	// the item knows it.
	expiryCheck = time.Second
	// ExpiryPause is how long limited items that could not be moved stay as they are, so
	// that others come before them.
	ExpiryPause = 5 * time.Second
)

// HeldExpiry returns when a pending job that limits hold must be looked at because
// it may have expired; zero for never. own is the due time that it has itself. It
// is never after the job's deadline: who looks too early limits the item again.
func HeldExpiry(j *job.Job, own time.Time) time.Time {
	spec := job.ReadSpec(j.Args)
	recurs := j.ScheduleID != uuid.Nil
	var at time.Time
	if spec.ExpiresIn != nil {
		from := j.ScheduledAt
		if j.State == job.Available && !recurs {
			from = own
		}
		at = from.Add(*spec.ExpiresIn)
	}
	if check := own.Add(expiryCheck); recurs && spec.CatchUp == job.CatchUpNone && (at.IsZero() || check.Before(at)) {
		at = check
	}
	if !at.IsZero() && at.Before(own) {
		return own
	}
	return at
}
