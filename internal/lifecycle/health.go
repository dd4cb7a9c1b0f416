package lifecycle

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// trackHealth adds to c what a run's end means for the health of its schedule s,
// which is nil for a one-off job. A completed run ends a row of failures; a discarded
// one, with a cause, begins or continues it. A cancelled run does neither.
func trackHealth(c *store.Changes, s *job.Schedule, j *job.Job, cause string) {
	switch {
	case s == nil:
	case j.State == job.Completed && s.Failures > 0:
		changed := changedSchedule(c, s)
		changed.Failures, changed.FailingSince, changed.Failure = 0, time.Time{}, ""
	case j.State == job.Discarded:
		changed := changedSchedule(c, s)
		if changed.Failures++; changed.FailingSince.IsZero() {
			changed.FailingSince = j.DiscardedAt
		}
		changed.Failure = cause
	}
}

// trackHealth is the function for the run of an attempt.
func (e *ending) trackHealth() {
	trackHealth(&e.changes, e.snapshot.Schedule, e.job, e.about.outcome.Cause())
}
