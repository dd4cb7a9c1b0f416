package lifecycle

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// An edit, a disable or a delete of a schedule leaves a run alone that counts as started.
// A node that stood still may not have sent the request of such a run. It must not do so
// afterwards, because the change has been answered: the attempt ends unsent, and the run
// becomes what the change would have made of one that had not started.

// outdated reports whether nothing was sent and the schedule has changed since the
// attempt was prepared.
func (e *ending) outdated() bool {
	f, was := e.about.outcome.Failure, e.Item.Schedule
	if e.job.ScheduleID == uuid.Nil || was == nil || !f.Unsent {
		return false
	}
	now := e.snapshot.Schedule
	return now == nil || now.Epoch != was.Epoch || now.Revision != was.Revision
}

// withdraw ends an attempt that was not sent for a schedule that has changed. A run whose
// schedule was disabled or deleted is cancelled. Another one is due again, and takes over
// what its schedule says, unless it has started by an earlier attempt.
func (e *ending) withdraw() error {
	now, was := e.snapshot.Schedule, e.Item.Schedule
	switch {
	case now == nil, !now.Live() && was.Live():
		return e.withdrawn()
	case e.Number > firstAttempt || now.Revision == was.Revision:
		return e.interrupt()
	}
	e.takeOver(now, was)
	return e.interrupt()
}

// withdrawn cancels the run. Its schedule goes on as after a run that was cancelled.
func (e *ending) withdrawn() error {
	if err := e.job.Cancel(e.at); err != nil {
		return err
	}
	e.job.Attempt--
	past := e.past()
	past.counts = false
	follow(&e.changes, e.snapshot.Schedule, past)
	e.finishJob()
	return nil
}

// takeOver makes the run what its schedule says. A name, a description or a due time of
// the run's own stays.
func (e *ending) takeOver(now, was *job.Schedule) {
	before := *e.job
	if same(e.job.Name, was.Name) {
		e.job.Name = now.Name
	}
	if same(e.job.Description, was.Description) {
		e.job.Description = now.Description
	}
	e.job.Args, e.job.Hidden = now.Args, now.Hidden
	if !job.SameFirstTime(was.Args, before.Args) {
		e.job.Args = job.WithTimeOf(now.Args, before.Args)
	}
	e.job.Revision++
	spec := job.ReadSpec(e.job.Args)
	lane := job.Lane(spec.URL)
	e.changes.Lane, e.changes.UpdateDefinition = &lane, true
	e.changes.Revisions = []job.Revision{
		job.NewRevision(e.job.ID, e.job.Owner, e.job.Revision, e.at, job.Actor{Kind: job.BySystem}, job.Differences(&before, e.job)),
	}
}

func same(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}
