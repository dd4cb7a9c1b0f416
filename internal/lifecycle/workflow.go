package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// RunMessage returns what the attempt's job is for in the workflow run that it belongs to;
// ok is false if it belongs to none.
func (a *Attempt) RunMessage() (m workflow.Message, ok bool) {
	d := a.Spec.Dialect
	if d == nil || d.Run == "" {
		return workflow.Message{}, false
	}
	return workflow.ReadMessage(d.Run, d.Step)
}

// Settle returns what to store for a message of a workflow run that needs not be sent: the
// job is completed, and its log says why nothing was sent.
func (a *Attempt) Settle(node int64, span Span) store.Finish {
	o := job.Outcome{Failure: &job.Failure{Kind: job.KindCancelled,
		Message: "the step that this message is for is stored already, or its workflow run has ended; nothing was sent", Unsent: true}}
	about := a.about(&o, Succeeded)
	return store.Finish{
		QueueKey: a.Item.QueueKey, Node: node, Attempt: a.Number, Job: a.Item.Job, Size: a.size(&about),
		Decide: func(m *store.Snapshot) *store.Changes {
			e, err := a.ending(m, about, span)
			if err == nil {
				err = e.succeed()
			}
			return e.finished(err)
		},
	}
}
