package lifecycle

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestCancel_OfAnAttemptStartedAfterTheSnapshotEndsAfterItsStart(t *testing.T) {
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	began := now.Add(287 * time.Microsecond)
	snapshot := &store.Snapshot{
		Now: now,
		Job: &job.Job{ID: uuid.New(), Number: 7, State: job.Available, ScheduledAt: began, DueAt: began, Attempt: 1,
			Args: []byte(`{"url":"https://example.com"}`)},
		Claim: &store.ClaimInfo{Node: 1, Attempt: 1, StartAt: began},
	}
	c := Cancel(func(*job.Job, *store.ClaimInfo, time.Time) bool { return true })(snapshot)
	if !c.Job.AttemptedAt.Equal(began) || !c.Job.CancelledAt.After(began) {
		t.Errorf("attempted at %s, cancelled at %s", c.Job.AttemptedAt, c.Job.CancelledAt)
	}
	if len(c.Logs) != 1 || !c.Logs[0].InsertedAt.Equal(c.Job.CancelledAt) {
		t.Errorf("the log of it is not of the time it was cancelled: %+v", c.Logs)
	}
}
