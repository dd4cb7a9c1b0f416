package attempt

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// How many abandoned items are read at once, at first and at most: each may hold
// some MiB. The number doubles after a batch that held less than smallBytes.
const (
	firstAbandoned = 8
	maxAbandoned   = 64
	smallBytes     = 1 << 20
)

// Interrupt ends attempts that a node started and did not finish, so that they
// are retried at once. A batch that fails because of its content is halved until
// the faulty item is the only one; then culprit ends that item. An error of culprit
// ends Interrupt. Retries are spread by random, as [Config] says.
func Interrupt(ctx context.Context, queue Queue, random func() float64, claims []store.Abandoned,
	culprit func(store.Abandoned, error) error) error {
	for n := firstAbandoned; len(claims) > 0; {
		part := claims[:min(n, len(claims))]
		claims = claims[len(part):]
		bytes, err := interrupt(ctx, queue, random, part, culprit)
		if err != nil {
			return err
		}
		if n = min(2*n, maxAbandoned); bytes > smallBytes {
			n = firstAbandoned
		}
	}
	return nil
}

// interrupt is Interrupt for items that are read at once. It returns about how
// many bytes they held.
func interrupt(ctx context.Context, queue Queue, random func() float64, claims []store.Abandoned,
	culprit func(store.Abandoned, error) error) (bytes int, err error) {
	err = fault.Guard(func() error {
		refs := make([]store.QueueKey, len(claims))
		for i := range claims {
			refs[i] = claims[i].QueueKey
		}
		items, err := queue.QueueLoad(ctx, refs)
		if err != nil {
			return err
		}
		finishes := make([]store.Finish, len(claims))
		for i, item := range items {
			if item == nil || item.Claim == nil {
				finishes[i] = gone(claims[i]) // its record has no such attempt
				continue
			}
			bytes += held(item)
			finishes[i] = interrupted(item, queue.Now(), random())
		}
		_, err = queue.QueueFinish(ctx, finishes)
		return err
	})
	switch {
	case err == nil, fault.CodeOf(err) == fault.Unavailable:
		return bytes, err
	case len(claims) == 1:
		return bytes, culprit(claims[0], err)
	}
	half := len(claims) / 2
	if _, err := interrupt(ctx, queue, random, claims[:half], culprit); err != nil {
		return bytes, err
	}
	_, err = interrupt(ctx, queue, random, claims[half:], culprit)
	return bytes, err
}

// held returns about how many bytes an item that was read holds.
func held(item *store.QueueItem) int {
	if item.Delivery != nil {
		return len(item.Delivery.Body)
	}
	n := job.Size(item.Job)
	if s := item.Schedule; s != nil {
		n += job.ScheduleSize(s)
	}
	return n
}

// Drop removes an abandoned item from the queue and leaves its record as it is.
func Drop(ctx context.Context, queue Queue, c store.Abandoned) error {
	_, err := queue.QueueFinish(ctx, []store.Finish{gone(c)})
	return err
}

// gone returns a finish that removes an item from the queue and stores nothing
// else.
func gone(c store.Abandoned) store.Finish {
	f := store.Finish{QueueKey: c.QueueKey, Node: c.Node, Attempt: c.Attempt}
	if c.Kind == store.KindDelivery {
		f.Delivery = &store.DeliveryEnd{Attempt: c.Attempt}
		return f
	}
	f.Job = &job.Job{Number: c.Number, Owner: job.Owner{Number: c.Account}}
	f.Decide = func(*store.Snapshot) *store.Changes { return &store.Changes{} }
	return f
}

func interrupted(item *store.QueueItem, now time.Time, random float64) store.Finish {
	outcome := job.Outcome{
		Failure: &job.Failure{
			Kind: job.KindInterrupted, Message: "the service stopped before the response was recorded; the attempt will be retried",
		},
		Duration: max(0, now.Sub(item.Claim.StartAt)),
	}
	if item.Kind == store.KindDelivery {
		return lifecycle.EndDelivery(item, item.Claim.Attempt, item.Claim.Node, outcome, now)
	}
	return lifecycle.Resume(item).Finish(item.Claim.Node, outcome, lifecycle.Span{
		Began: item.Claim.StartAt, Ended: schedule.Later(now, item.Claim.StartAt), Random: random,
	})
}
