package lifecycle

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Release decides about a job that waits for others, once some of these have ended: it
// becomes due if that was the last one, and is cancelled if it needs one to be completed
// that isn't. The Sealer, nil for one without keys, opens a hidden body that gets the
// summary of a batch. Nil leaves the job waiting.
func Release(r *store.Released, m *store.Snapshot, sealer job.Sealer) *store.Changes {
	if !r.Batch && r.Unfinished != 0 && job.AfterOf(m.Job.Args).On != job.AfterFinal {
		return orphan(r, m)
	}
	if r.Open {
		return nil
	}
	j := *m.Job
	j.ScheduledAt = releasedDue(&j, r.LastAt)
	j.DueAt = schedule.Later(j.ScheduledAt, m.Now)
	if r.Batch {
		// A body that can't be opened now can't be sent either: its attempt says why.
		_ = job.Summarize(&j, &r.Summary, sealer)
	}
	return &store.Changes{Job: &j, UpdateDefinition: true}
}

// releasedDue returns when a job is due, given when the last of those has ended that it
// waited for: its delay counts from then, and a time of its own stays if it is later.
func releasedDue(j *job.Job, last time.Time) time.Time {
	if in := rawjson.Get(j.Args, "schedule_in"); !rawjson.IsNull(in) {
		return last.Add(job.DurationOf(in))
	}
	if at := rawjson.Get(j.Args, "scheduled_at"); !rawjson.IsNull(at) {
		return schedule.Later(j.ScheduledAt, last)
	}
	return last
}

// orphan cancels a job because another one, which it waited for, was not completed.
func orphan(r *store.Released, m *store.Snapshot) *store.Changes {
	spec := job.ReadSpec(m.Job.Args)
	c, _, err := cancel(m, &spec, false)
	if err != nil {
		return nil
	}
	b := strconv.AppendInt([]byte(`{"job_id":`), r.Unfinished, 10)
	b = append(append(append(b, `,"state":"`...), r.State.String()...), `"}`...)
	c.Logs = append(c.Logs, newLog(m.Job.Owner, m.Job.Number, job.EventOrphaned, m.Now, b))
	return c
}
