package lifecycle

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// FansOut reports whether the attempt sends no request: it is that of a run whose schedule
// names a group, and becomes a job for each of the group's targets.
func (a *Attempt) FansOut() bool { return a.Spec.Group != "" }

// FanOut returns what to store when a run becomes its jobs: it is completed, and they are
// due at once. They get its options, so it has no callback and no events itself. Its error,
// of what is hidden, can be shown.
func (a *Attempt) FanOut(node int64, targets []job.Target, span Span) (store.Finish, error) {
	args := make([]store.NewJob, len(targets))
	size := 0
	for i, t := range targets {
		one, hidden, err := job.ForTarget(a.Item.Job.Args, &a.Item.Job.Hidden, t, true, a.sealer, a.Item.Job.Owner)
		if err != nil {
			return store.Finish{}, err
		}
		args[i] = store.NewJob{Lane: job.Lane(t.URL), Job: &job.Job{Args: one, Hidden: hidden}}
		size += len(one) + hidden.Size()
	}
	about := a.about(&job.Outcome{}, Succeeded)
	return store.Finish{
		QueueKey: a.Item.QueueKey, Node: node, Attempt: a.Number, Job: a.Item.Job, Size: a.size(&about) + size,
		Decide: func(m *store.Snapshot) *store.Changes {
			e, err := a.ending(m, about, span)
			if err == nil {
				err = e.fanOut(args)
			}
			return e.finished(err)
		},
	}, nil
}

func (e *ending) fanOut(args []store.NewJob) error {
	if err := e.job.Complete(e.at); err != nil {
		return err
	}
	e.scheduleNext()
	e.trackHealth()
	e.changes.Job = e.job
	run := e.job
	for _, n := range args {
		n.Job = &job.Job{
			ID: job.NewID(e.at), Owner: run.Owner, ScheduleID: uuid.Nil, Name: run.Name, Description: run.Description, InsertedAt: e.at,
			ScheduledAt: run.ScheduledAt, State: job.Available, DueAt: e.at, Hops: run.Hops, Parent: run.Number, Trace: run.Trace,
			Args: n.Job.Args, Hidden: n.Job.Hidden,
		}
		e.changes.Also = append(e.changes.Also, n)
	}
	return nil
}
