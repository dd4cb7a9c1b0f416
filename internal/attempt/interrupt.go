package attempt

import (
	"context"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/record"
	"github.com/punctual-dev/punctual/internal/store"
)

// Interrupt ends attempts that a node had begun and did not end, so that they
// are made again at once.
func Interrupt(ctx context.Context, queue store.Queue, runs []*store.Run) error {
	now := queue.Now()
	outcome := job.Outcome{Failure: &job.Failure{
		Kind: job.KindInterrupted, Message: "the service stopped before the answer was recorded; the attempt is made again",
	}}
	var finishes []store.Finish
	for _, run := range runs {
		if run == nil || run.Claim == nil {
			continue
		}
		outcome.Duration = max(0, now.Sub(run.Claim.BeginAt))
		if run.Kind == store.KindDelivery {
			finishes = append(finishes, record.EndDelivery(run, run.Claim.Attempt, run.Claim.Node, outcome, now))
		} else {
			finishes = append(finishes, record.Resume(run).Finish(run.Claim.Node, outcome, run.Claim.BeginAt, later(now, run.Claim.BeginAt)))
		}
	}
	_, err := queue.RunFinish(ctx, finishes)
	return err
}
