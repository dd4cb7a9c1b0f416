package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// RememberFor is how long a job holds its key for calls that send the key in the
// header Idempotency-Key, from its creation on.
const RememberFor = 24 * time.Hour

// RememberRequestFor is how long a request_id is remembered.
const RememberRequestFor = 7 * 24 * time.Hour

// KeyHeld is until when a job holds its key whose holding ends at a time that is not
// known yet; see FreeAt. It is later than any other time that is stored.
var KeyHeld = time.Date(2240, 1, 1, 0, 0, 0, 0, time.UTC)

// RememberTaskFor is how long the name of a task is remembered after its end.
const RememberTaskFor = time.Hour

// FreeAt returns when the key of a final job is free that holds it until KeyHeld.
func FreeAt(j *job.Job) time.Time {
	spec := job.ReadSpec(j.Args)
	until := j.InsertedAt
	if spec.Throttle > 0 {
		until = j.InsertedAt.Add(spec.Throttle)
	}
	if spec.Dialect.Speaks(job.DialectCloudTasks) {
		until = schedule.Later(until, j.EndedAt().Add(RememberTaskFor))
	}
	return until
}

// HoldKey sets how long a new one-off job holds its key beyond its end.
func HoldKey(j *job.Job, spec *job.Spec, inHeader bool) {
	if j.Key == nil || j.ScheduleID != uuid.Nil {
		return
	}
	if spec.Dialect.Speaks(job.DialectCloudTasks) {
		j.HeldUntil, j.RememberedUntil = KeyHeld, KeyHeld
	}
	if spec.Throttle > 0 {
		j.HeldUntil = j.InsertedAt.Add(spec.Throttle)
		j.RememberedUntil = j.HeldUntil
	}
	if inHeader {
		j.RememberedUntil = schedule.Later(j.RememberedUntil, j.InsertedAt.Add(RememberFor))
	}
}

// Resolve returns the decision of a create with on_conflict replace or debounce,
// which by has sent; nil for any other.
//
// The new request goes to the job that holds the key if it waits for its first
// attempt, and else to the job that follows it, which is created if there is none.
// A job that is claimed or about to be counts as started: the claim has prepared
// its request. A run of a schedule is never changed.
func Resolve(spec *job.Spec, by job.Actor) store.Resolve {
	if !spec.Replaces() {
		return nil
	}
	wait := time.Duration(-1)
	if spec.OnConflict == job.OnConflictDebounce {
		wait = spec.MaxWait
	}
	replace := func(pending, created *job.Job, now time.Time) *store.Changes {
		j := replaced(pending, created, wait, now)
		return &store.Changes{Job: j, Revisions: []job.Revision{
			job.NewRevision(j.ID, j.Owner, j.Revision, now, by, job.Differences(pending, j)),
		}}
	}
	return func(h *store.KeyHolders, created *job.Job) *store.Changes {
		switch {
		case h.Job.ScheduleID != uuid.Nil:
			return nil
		case h.Follower != nil:
			return replace(h.Follower, created, h.Now)
		case h.Job.State == job.Available && h.Claim == nil && h.Job.DueAt.After(h.Now.Add(Soon)):
			return replace(h.Job, created, h.Now)
		}
		j := *created
		j.Follows, j.Revision = h.Job.Number, 1
		return &store.Changes{Job: &j}
	}
}

// Debounce bounds the due time of a new job by its max_wait.
func Debounce(j *job.Job, spec *job.Spec) {
	if spec.OnConflict == job.OnConflictDebounce {
		bound(j, j.InsertedAt.Add(spec.MaxWait), j.InsertedAt)
	}
}

// replaced returns a pending job with the request and the time of a new one. With a
// wait that is not negative, its due time is at most that long after its creation.
func replaced(pending, created *job.Job, wait time.Duration, now time.Time) *job.Job {
	j := *pending
	j.Name, j.Description, j.Args, j.Hidden, j.Hops = created.Name, created.Description, created.Args, created.Hidden,
		max(j.Hops, created.Hops)
	j.ScheduledAt, j.DueAt = created.ScheduledAt, created.DueAt
	j.Revision++
	if wait >= 0 {
		bound(&j, j.InsertedAt.Add(wait), now)
	}
	return &j
}

// bound moves a job's due time back to latest, but not before now.
func bound(j *job.Job, latest, now time.Time) {
	if j.ScheduledAt.After(latest) {
		j.ScheduledAt, j.DueAt = latest, schedule.Later(latest, now)
	}
}
