package attempt

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
)

// Interrupt ends attempts that a node started and did not finish, so that they
// are retried at once. A batch that fails because of its content is halved
// until the faulty item stands alone; then culprit ends that item. An error of
// culprit ends Interrupt.
func Interrupt(ctx context.Context, queue store.Queue, items []*store.QueueItem, culprit func(*store.QueueItem, error) error) error {
	var claimed []*store.QueueItem
	for _, item := range items {
		if item != nil && item.Claim != nil {
			claimed = append(claimed, item)
		}
	}
	if len(claimed) == 0 {
		return nil
	}
	err := fault.Guard(func() error {
		finishes := make([]store.Finish, 0, len(claimed))
		for _, item := range claimed {
			finishes = append(finishes, interrupted(item, queue))
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

func interrupted(item *store.QueueItem, queue store.Queue) store.Finish {
	now := queue.Now()
	outcome := job.Outcome{
		Failure: &job.Failure{
			Kind: job.KindInterrupted, Message: "the service stopped before the response was recorded; the attempt will be retried",
		},
		Duration: max(0, now.Sub(item.Claim.StartAt)),
	}
	if item.Kind == store.KindDelivery {
		return lifecycle.EndDelivery(item, item.Claim.Attempt, item.Claim.Node, outcome, now)
	}
	return lifecycle.Resume(item).Finish(item.Claim.Node, outcome, item.Claim.StartAt, later(now, item.Claim.StartAt))
}
