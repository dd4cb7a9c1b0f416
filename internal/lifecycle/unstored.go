package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// unstoredOutcome returns the outcome that replaces one that can't be stored.
func unstoredOutcome() *job.Outcome {
	return &job.Outcome{Failure: &job.Failure{
		Kind: job.KindUnstored, Message: "the outcome of the attempt could not be stored, so it is not retried; the request may have been sent",
	}}
}

// Unstored returns finishes for an attempt whose outcome can't be stored, from
// the most complete to the simplest. The first discards the job and reports a
// failure in its log and deliveries; the function [Unstored] describes the
// others.
func (a *Attempt) Unstored(node int64, span Span) []store.Finish {
	reported := a.simple(node, func(m *store.Snapshot) *store.Changes {
		e, err := a.ending(m, a.about(unstoredOutcome(), Failed), span)
		if err == nil {
			err = e.discard()
		}
		return e.finished(err)
	})
	return append([]store.Finish{reported}, Unstored(a.Item, a.Number, node, span)...)
}

func (a *Attempt) simple(node int64, decide store.Decide) store.Finish {
	return store.Finish{QueueKey: a.Item.QueueKey, Node: node, Attempt: a.Number, Job: a.Item.Job, Size: len(a.Item.Job.Args),
		Decide: decide}
}

// Unstored returns finishes for an attempt that can't even be prepared, from
// the most complete to the simplest: the first discards the job with a log and
// disables its schedule, because the next run may need what can't be stored;
// the second only removes the item from the queue.
func Unstored(item *store.QueueItem, number int, node int64, span Span) []store.Finish {
	a := &Attempt{Item: item, Number: number}
	discarded := a.simple(node, func(m *store.Snapshot) *store.Changes {
		j, err := a.startedAt(span.Began)
		if err == nil {
			err = j.Discard(span.Ended)
		}
		if err != nil {
			return &store.Changes{}
		}
		about := messageData{number: number, outcome: unstoredOutcome()}
		c := &store.Changes{Job: j, Logs: []job.Log{outcomeLog(j, span.Ended, &about)}, EndCompletions: true}
		disable(m, c)
		return c
	})
	gone := a.simple(node, func(*store.Snapshot) *store.Changes { return &store.Changes{} })
	return []store.Finish{discarded, gone}
}
