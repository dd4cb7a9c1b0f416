package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestRelease(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	last := now.Add(-time.Second)
	for name, c := range map[string]struct {
		args     string
		released store.Released
		due      time.Time // zero: it waits on; WaitingDue: it is cancelled
	}{
		"others are open": {`{"after":{"jobs":[1]}}`, store.Released{Open: true}, time.Time{}},
		"the last one":    {`{"after":{"jobs":[1]}}`, store.Released{LastAt: last}, now},
		"with a delay": {`{"after":{"jobs":[1]},"schedule_in":[1,"minute"]}`, store.Released{LastAt: last},
			last.Add(time.Minute)},
		"a delay that has passed": {`{"after":{"jobs":[1]},"schedule_in":0.5}`, store.Released{LastAt: last}, now},
		"with a later time":       {`{"after":{"jobs":[1]},"scheduled_at":1}`, store.Released{LastAt: last}, now.Add(time.Hour)},
		"null for a delay":        {`{"after":{"jobs":[1]},"schedule_in":null}`, store.Released{LastAt: last}, now},
		"one failed, others are open": {`{"after":{"jobs":[1]}}`, store.Released{Open: true, Unfinished: 1, State: job.Discarded},
			job.WaitingDue},
		"null for on": {`{"after":{"jobs":[1],"on":null}}`, store.Released{Unfinished: 1, State: job.Discarded},
			job.WaitingDue},
		"one failed, which doesn't matter": {`{"after":{"jobs":[1],"on":"final"}}`,
			store.Released{Unfinished: 1, State: job.Cancelled, LastAt: last}, now},
		"of a batch": {`{}`, store.Released{Batch: true, Unfinished: 1, State: job.Cancelled, LastAt: last}, now},
	} {
		j := &job.Job{
			Number: 7, Owner: job.Owner{ID: uuid.New(), Number: 3}, State: job.Available, InsertedAt: now.Add(-time.Hour),
			ScheduledAt: now.Add(time.Hour),
			DueAt:       job.WaitingDue, Args: rawjson.Value(c.args), Revision: 1,
		}
		changes := lifecycle.Release(&c.released, &store.Snapshot{Now: now, Job: j}, nil)
		switch {
		case c.due.IsZero():
			if changes != nil {
				t.Errorf("%s: %+v", name, changes.Job)
			}
		case changes == nil:
			t.Errorf("%s: the job waits on", name)
		case c.due.Equal(job.WaitingDue):
			if changes.Job.State != job.Cancelled || len(changes.Logs) != 1 || changes.Logs[0].Event != job.EventOrphaned ||
				string(changes.Logs[0].Payload) != `{"job_id":1,"state":"discarded"}` {
				t.Errorf("%s: %s, logs %+v", name, changes.Job.State, changes.Logs)
			}
		case !changes.Job.DueAt.Equal(c.due) || changes.Job.State != job.Available || store.Waits(changes.Job):
			t.Errorf("%s: %s and due %s, want %s", name, changes.Job.State, changes.Job.DueAt, c.due)
		}
	}
}

// TestEditJob_KeepsWaiting gives a waiting job a new time.
func TestEditJob_KeepsWaiting(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	j := &job.Job{
		Number: 7, State: job.Available, InsertedAt: now, ScheduledAt: now, DueAt: job.WaitingDue,
		Args: rawjson.Value(`{"url":"https://example.com/","after":{"jobs":[1]}}`), Revision: 1,
	}
	edit, err := job.ReadJobEdit(j, rawjson.Value(`{"schedule_in":60}`), job.ReadOptions{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	never := func(*job.Job, *store.ClaimInfo, time.Time) bool { return false }
	c := lifecycle.EditJob(edit, job.Actor{}, never)(&store.Snapshot{Now: now, Job: j})
	if c == nil || !c.Job.DueAt.Equal(job.WaitingDue) || !c.Job.ScheduledAt.Equal(now.Add(time.Minute)) {
		t.Errorf("the edit of a waiting job: %+v", c)
	}
}
