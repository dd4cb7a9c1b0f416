package lifecycle

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// deadline is the latest time at which an attempt may start, and the reason.
type deadline struct {
	at  time.Time // zero for none
	why string
}

func (d deadline) passed(start time.Time) bool { return !d.at.IsZero() && start.After(d.at) }

func (d deadline) failure() *job.Failure {
	return &job.Failure{Kind: job.KindExpired, Message: d.why + "; nothing was sent"}
}

// deadlineOf returns until when an attempt of a job may start. p is nil for a
// one-off job.
func deadlineOf(j *job.Job, spec *job.Spec, p *plan) deadline {
	due := dueTime(j, p)
	var d deadline
	if spec.ExpiresIn != nil {
		d = deadline{due.Add(*spec.ExpiresIn), "the attempt could not start within expires_in of the due time"}
	}
	if p == nil || p.spec.CatchUp != job.CatchUpNone {
		return d
	}
	next := p.grid.Next(time.Time{}, schedule.Later(due, p.Since))
	if before := next.Add(-time.Microsecond); !next.IsZero() && (d.at.IsZero() || before.Before(d.at)) {
		d = deadline{before, "the run could not start before the next one was due"}
	}
	return d
}

// itemDeadline is deadlineOf for an item read for firing. A limit may have changed
// its due time.
func itemDeadline(item *store.QueueItem, spec *job.Spec, p *plan) deadline {
	j := item.Job
	if !item.OwnDue.IsZero() {
		own := *j
		own.DueAt = item.OwnDue
		j = &own
	}
	return deadlineOf(j, spec, p)
}

// Deadline returns until when an attempt of an item may start; zero for no bound.
func Deadline(item *store.QueueItem) time.Time {
	spec := job.ReadSpec(item.Job.Args)
	return itemDeadline(item, &spec, planOf(item.Schedule)).at
}

// dueTime returns the due time from which a deadline counts: a time that was past
// when it was asked for is due at once.
func dueTime(j *job.Job, p *plan) time.Time {
	switch {
	case p != nil:
		return schedule.Later(j.ScheduledAt, p.InsertedAt)
	case j.State == job.Available:
		return j.DueAt
	default:
		return schedule.Later(j.ScheduledAt, j.InsertedAt)
	}
}

// checkDeadline sets Expired if the attempt may not start at a time.
func (a *Attempt) checkDeadline(start time.Time) {
	if a.Expired == nil && a.deadline.passed(start) {
		a.Expired = a.deadline.failure()
	}
}

// TooLate reports whether the attempt may not start any more at a time.
func (a *Attempt) TooLate(start time.Time) bool { return a.deadline.passed(start) }

// StartsAt sets when the attempt really starts, which is later than announced if
// it waited for a slot. It may have expired by then.
func (a *Attempt) StartsAt(start time.Time) {
	a.checkDeadline(start)
	a.countPoints(start)
}

// countPoints sets how many points of the schedule's grid the run stands for.
func (a *Attempt) countPoints(start time.Time) {
	a.Points = 1 + a.Item.Job.Skipped
	if a.plan != nil {
		a.Points += a.plan.late(a.Item.Job, start).Count
	}
}

// Expire returns what to store instead of the attempt's outcome if it has expired.
// The job is discarded; the attempt never starts and does not count.
func (a *Attempt) Expire(node int64, span Span) store.Finish {
	about := a.about(&job.Outcome{Failure: a.Expired}, Failed)
	return store.Finish{
		QueueKey: a.Item.QueueKey, Node: node, Attempt: a.Number, Job: a.Item.Job, Size: a.size(&about),
		Decide: func(m *store.Snapshot) *store.Changes {
			e, err := a.ending(m, about, span)
			if err == nil {
				e.job.Attempt, e.job.AttemptedAt = a.Number-1, a.Item.Job.AttemptedAt
				e.expired = true
				err = e.discard()
			}
			return e.finished(err)
		},
	}
}

// expireRetry reports an attempt that failed, and discards its job because the
// retry would start too late.
func (e *ending) expireRetry() error {
	if err := e.job.Discard(e.at); err != nil {
		return err
	}
	e.expired = true
	e.scheduleNext()

	failed := *e
	failed.changes = store.Changes{}
	failed.logOutcome()
	if e.Spec.WebhookURL != "" {
		failed.addAttemptEvents()
	}
	e.changes.Logs = append(failed.changes.Logs, e.changes.Logs...)
	e.changes.Deliveries = append(failed.changes.Deliveries, e.changes.Deliveries...)

	e.about = messageData{
		number: e.Number + 1, method: e.about.method, request: e.about.request, args: e.about.args,
		outcome: &job.Outcome{Failure: e.deadline.failure()}, verdict: Failed,
	}
	e.trackHealth()
	e.at = e.at.Add(time.Microsecond) // after the log of the attempt
	e.changes.Job = e.job
	e.changes.Logs = append(e.changes.Logs, outcomeLog(e.job, e.at, &e.about))
	if e.Spec.WebhookURL != "" {
		e.addAttemptEvents()
		e.addFinal()
	}
	e.addCallback()
	return nil
}
