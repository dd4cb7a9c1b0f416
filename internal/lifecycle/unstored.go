package lifecycle

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// unstoredOutcome is the outcome of an attempt whose own outcome can't be stored.
func unstoredOutcome() *job.Outcome {
	return &job.Outcome{Failure: &job.Failure{
		Kind: job.KindUnstored, Message: "what the attempt came to could not be stored, so it is not made again; the request may have been made",
	}}
}

// Unstored returns ends for an attempt whose outcome can't be stored, the later
// the simpler. The first discards the job and tells of it as of a failure; see
// the function Unstored for the others.
func (a *Attempt) Unstored(node int64, began, ended time.Time) []store.Finish {
	told := a.simple(node, func(m *store.Snapshot) *store.Changes {
		e := &ending{Attempt: a, moment: m, job: a.startedAt(began), at: ended, about: a.about(unstoredOutcome())}
		e.job.Discard(e.at)
		e.scheduleNext()
		e.finishJob()
		a.Result = e.job.State
		return &e.changes
	})
	return append([]store.Finish{told}, Unstored(a.Run, a.Number, node, began, ended)...)
}

func (a *Attempt) simple(node int64, decide store.Decide) store.Finish {
	return store.Finish{QueueKey: a.Run.QueueKey, Node: node, Attempt: a.Number, Job: a.Run.Job, Size: len(a.Run.Job.Args), Decide: decide}
}

// Unstored returns ends for an attempt that can't even be prepared, the later
// the simpler: the job is discarded with a log, and its schedule disabled, since
// what its next run needs may be what can't be stored; or the run leaves the
// queue without a word.
func Unstored(run *store.QueueItem, number int, node int64, began, ended time.Time) []store.Finish {
	a := &Attempt{Run: run, Number: number}
	discarded := a.simple(node, func(m *store.Snapshot) *store.Changes {
		j := a.startedAt(began)
		j.Discard(ended)
		about := messageData{number: number, outcome: unstoredOutcome()}
		c := &store.Changes{Job: j, Logs: []job.Log{outcomeLog(j, ended, &about)}}
		if j.ScheduleID != uuid.Nil && m.Schedule.Live() {
			s := *m.Schedule
			s.DisabledAt, s.Previous = m.Now, nil
			s.Epoch++
			c.Schedule = &s
		}
		return c
	})
	gone := a.simple(node, func(*store.Snapshot) *store.Changes { return &store.Changes{} })
	return []store.Finish{discarded, gone}
}
