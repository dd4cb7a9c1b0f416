package attempt

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
)

// Interrupt ends attempts that a node had begun and did not end, so that they
// are made again at once. A batch that fails for a reason of its content is
// divided until the culprit stands alone; culprit then ends that one and may
// return an error, which ends the rest.
func Interrupt(ctx context.Context, queue store.Queue, runs []*store.QueueItem, culprit func(*store.QueueItem, error) error) error {
	var claimed []*store.QueueItem
	for _, run := range runs {
		if run != nil && run.Claim != nil {
			claimed = append(claimed, run)
		}
	}
	if len(claimed) == 0 {
		return nil
	}
	err := fault.Guard(func() error {
		finishes := make([]store.Finish, 0, len(claimed))
		for _, run := range claimed {
			finishes = append(finishes, interrupted(run, queue))
		}
		_, err := queue.QueueFinish(ctx, finishes)
		return err
	})
	switch {
	case err == nil, fault.CodeOf(err) == fault.Unavailable:
		return err
	case len(claimed) == 1:
		return culprit(claimed[0], err)
	}
	half := len(claimed) / 2
	if err := Interrupt(ctx, queue, claimed[:half], culprit); err != nil {
		return err
	}
	return Interrupt(ctx, queue, claimed[half:], culprit)
}

func interrupted(run *store.QueueItem, queue store.Queue) store.Finish {
	now := queue.Now()
	outcome := job.Outcome{
		Failure: &job.Failure{
			Kind: job.KindInterrupted, Message: "the service stopped before the answer was recorded; the attempt is made again",
		},
		Duration: max(0, now.Sub(run.Claim.StartAt)),
	}
	if run.Kind == store.KindDelivery {
		return lifecycle.EndDelivery(run, run.Claim.Attempt, run.Claim.Node, outcome, now)
	}
	return lifecycle.Resume(run).Finish(run.Claim.Node, outcome, run.Claim.StartAt, later(now, run.Claim.StartAt))
}
