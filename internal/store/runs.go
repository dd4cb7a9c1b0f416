package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// RunWrite is a change of workflow runs, with the jobs that continue them.
type RunWrite struct {
	Account int64
	// Runs are the ids of the runs that Decide needs, each once. Creates: it may create
	// one of them, so it needs the number of live runs.
	Runs    []string
	Creates bool
	// Keys are the records of steps that Decide needs.
	Keys []workflow.Key
	// Events are the events that the runs may wait for, or that were kept for them.
	// TakesKept: Decide uses up what was kept, so it needs the first with its body, and no
	// others.
	Events    []string
	TakesKept bool
	// Jobs are the jobs that Decide chooses from. They have no idempotency keys.
	Jobs []NewJob
	// Size is approximately how many bytes the steps have.
	Size int
	// Decide returns what to store. Its fault refuses the change. Like a Decide it must
	// not block, and may be called again.
	Decide func(*RunSnapshot) (*RunChanges, error)
	// Accept gets the results of the jobs that Decide has chosen, before the commit; its
	// fault refuses the change.
	Accept func([]Inserted) error
}

// RunSnapshot has what a RunWrite names, as far as it exists, as the transaction sees it.
type RunSnapshot struct {
	Now   time.Time
	Runs  map[string]*workflow.Run
	Steps map[workflow.Key]*workflow.Step // without their bodies
	// Waiting are the records of the runs that wait for the Events, then those that keep
	// them, which have no bodies but with TakesKept.
	Waiting []*workflow.Step
	// Live is how many runs are under way, up to workflow.MaxLive; only with Creates.
	Live int
}

// RunChanges is what a RunWrite stores, in one transaction.
type RunChanges struct {
	Jobs    []int // of RunWrite.Jobs
	New     []*workflow.Run
	Changed []*workflow.Run
	Steps   []*workflow.Step // new ones
	Settled []workflow.Key
}

// RunEnd is the end of a job as the run sees it that the job belongs to.
type RunEnd struct {
	Account int64
	Run     string
	// Counted: the job was one of Run.Open.
	Counted bool
	// Call is the number of the call whose last response the job has brought to the route;
	// 0 for none. If the route has stored no result of it, the call is not open any more.
	Call int
	// State is the state in which it leaves the run; 0 if the run goes on.
	State workflow.State
	At    time.Time
	Job   uuid.UUID
	// Failure is the job that reports the failure; uuid.Nil if there is none.
	Failure uuid.UUID
	Outcome *RunOutcome // nil if nobody wants to know
}

// RunOutcome is what the tracker of alerts learns if the end of a job turns out to be that
// of its workflow run.
type RunOutcome struct {
	AlertOutcome               // of a run that has succeeded
	Failed       rawjson.Value // Detail for one that has failed
}

// RunEndOf returns what changes mean for the run that the job belongs to; ok is false if
// they mean nothing.
func RunEndOf(c *Changes) (end RunEnd, ok bool) {
	j := c.Job
	if j == nil || !j.State.Final() {
		return RunEnd{}, false
	}
	run, step := job.RunOf(j.Args)
	m, ok := workflow.ReadMessage(run, step)
	if !ok || run == "" || m.Failure || m.Kind == workflow.Wait {
		return RunEnd{}, false
	}
	end = RunEnd{Outcome: c.RunOutcome, Account: j.Owner.Number, Run: run, At: EndedAt(j), Job: j.ID,
		Counted: !m.Callback && m.Kind != workflow.Call}
	switch {
	case j.State == job.Cancelled:
		end.State = workflow.Cancelled
	case j.State == job.Completed && m.Last:
		end.Call = m.Number
	case j.State == job.Discarded && (m.Callback || m.Kind != workflow.Call):
		end.State = workflow.Failed
		for i := range c.Also {
			if _, step := job.RunOf(c.Also[i].Job.Args); step == workflow.FailureText {
				end.Failure = c.Also[i].Job.ID
			}
		}
	}
	return end, end.Counted || end.State != 0 || end.Call != 0
}

// RunMessage is what is needed to send a message of a run.
type RunMessage struct {
	Run        *workflow.Run  // nil if it is gone
	Of, Result *workflow.Step // see workflow.Decide
	// Steps are what the route reads: those up to the message's own, unless they have more
	// bytes than were asked for.
	Steps []*workflow.Step
}

// Runs stores workflow runs and their steps. The end of a run's job is noted in the
// transaction that stores it.
type Runs interface {
	// RunApply carries out a change in one transaction, and returns the results of the
	// jobs that Decide has chosen, in that order. It returns a Conflict fault if another
	// call has created a run meanwhile that Decide creates, and ErrUnstorable if the
	// database refuses one of the records.
	RunApply(ctx context.Context, w *RunWrite) ([]Inserted, error)
	// RunGet returns one of an account's runs, or a NotFound fault.
	RunGet(ctx context.Context, account int64, id string) (*workflow.Run, error)
	// RunSteps returns up to limit records of a run from a position on, in order, of
	// which all but the first have up to bytes together. With workflow.NoBodies, they have
	// no bodies, and none is left out.
	RunSteps(ctx context.Context, account int64, id string, from, limit int, bytes int64) ([]*workflow.Step, error)
	// RunMessage returns what is needed to send the message that is of a record. It
	// returns no steps if these have more than bytes together.
	RunMessage(ctx context.Context, account int64, of workflow.Key, bytes int64) (*RunMessage, error)
	// RunPage returns up to limit of an account's runs that were created before a time or,
	// at that time, have a smaller id, latest first. Zero begins with the latest. They have
	// no results.
	RunPage(ctx context.Context, account int64, before time.Time, id string, limit int) ([]*workflow.Run, error)
	// RunJobs returns up to limit ids of a run's jobs behind a position that may be
	// unfinished, in order of their records.
	RunJobs(ctx context.Context, account int64, id string, after, limit int) (jobs []uuid.UUID, positions []int, err error)
	// RunWaiting returns up to limit records of the account that wait for an event, or keep
	// it, behind a position of a run, in order of both.
	RunWaiting(ctx context.Context, account int64, event, run string, after, limit int) ([]*workflow.Step, error)
	// RunHooks returns up to limit records of an account's steps that have made a webhook
	// whose calls are an event, latest first, without their bodies.
	RunHooks(ctx context.Context, account int64, event string, limit int) ([]*workflow.Step, error)
	// RunsUnreported returns up to limit runs of all accounts behind an account's run, in that
	// order, of whose ends the runs don't know that wait for them; without results.
	RunsUnreported(ctx context.Context, account int64, id string, limit int) ([]*workflow.Run, error)
	// RunPrune deletes up to limit runs that ended before a time, and returns how many it
	// deleted. It deletes up to a thousand steps of each at once.
	RunPrune(ctx context.Context, before time.Time, limit int) (removed int, more bool, err error)
	// RunCopy stores copied records unchanged: a run, unless it is nil, and steps. It skips
	// those that exist.
	RunCopy(ctx context.Context, run *workflow.Run, steps []*workflow.Step) error
}
