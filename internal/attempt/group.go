package attempt

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// Groups reads groups of targets.
type Groups interface {
	// GroupGet returns one of an account's groups, or a NotFound fault.
	GroupGet(ctx context.Context, account int64, name string) (*job.Group, error)
}

// fanOut ends a run whose schedule names a group: it becomes a job for each target. The
// outcome is nil then; else it says why it could not.
func (r *Runner) fanOut(ctx context.Context, a *jobAttempt, node int64, began time.Time, requestDone func(bytes int64)) *job.Outcome {
	group, err := r.Groups.GroupGet(ctx, a.Item.Account, a.Spec.Group)
	if err == nil && r.Admit != nil {
		err = r.Admit(ctx, a.Item.Account, len(group.TargetList()))
	}
	switch {
	case fault.CodeOf(err) == fault.TooMany || fault.CodeOf(err) == fault.Forbidden:
		return &job.Outcome{Failure: &job.Failure{Kind: job.KindGroup,
			Message: "the run did not become jobs for the targets of its group: " + err.Error()}}
	case fault.CodeOf(err) == fault.NotFound:
		return &job.Outcome{Failure: &job.Failure{Kind: job.KindGroup,
			Message: "the group " + a.Spec.Group + " does not exist any more; nothing was sent"}}
	case err != nil:
		r.logLimited("reading groups failed; runs will be retried", err)
		pause.For(ctx, time.Second)
		outcome := notSent("the group could not be read; the run will be retried")
		return &outcome
	}
	f, err := a.FanOut(node, group.TargetList(), a.span(began))
	if err != nil {
		return &job.Outcome{Failure: &job.Failure{Kind: job.KindGroup, Message: "what the schedule's redact hides could not be read: " +
			err.Error()}}
	}
	f.Decide = r.decided(a.Item, f.Decide)
	aside := func() []store.Finish { return a.Unstored(node, a.span(began)) }
	if r.finish(ctx, &f, nil, aside, func() { requestDone(0) }) && a.Result.Final() {
		r.Metrics.Finished(a.Result.String())
	}
	return nil
}
