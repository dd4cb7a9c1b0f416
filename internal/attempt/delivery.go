package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// deliveryAttempt is a try of a callback or webhook message.
type deliveryAttempt struct {
	runner *Runner
	run    *store.QueueItem
	begin  time.Time
}

// Claim implements dispatch.Attempt.
func (a *deliveryAttempt) Claim() store.Claim {
	return store.Claim{QueueKey: a.run.QueueKey, Attempt: a.run.Attempt + 1, StartAt: a.begin}
}

// Size implements dispatch.Attempt.
func (a *deliveryAttempt) Size() int64 { return int64(a.run.Delivery.Size()) }

// Fire implements dispatch.Attempt.
func (a *deliveryAttempt) Fire(ctx context.Context, node int64, began time.Time, answered func(bytes int64)) {
	r, d := a.runner, a.run.Delivery
	number := a.run.Attempt + 1
	outcome := r.guarded(kindDelivery, d.Number, func() job.Outcome { return a.send(ctx) })
	ended := later(r.Queue.Now(), began.Add(time.Microsecond))
	bytes := int64(0)
	if outcome.Response != nil {
		bytes = int64(2 * len(outcome.Response.Body)) // stands in the log when it is given up
	}
	var f *store.Finish
	err := fault.Guard(func() error {
		end := lifecycle.EndDelivery(a.run, number, node, outcome, ended)
		if failure := outcome.Failure; failure != nil && failure.Kind == job.KindCancelled {
			// The account was deleted, and so the message goes.
			end = store.Finish{QueueKey: a.run.QueueKey, Node: node, Attempt: number, Delivery: &store.DeliveryEnd{}}
		}
		f = &end
		return nil
	})
	aside := func() []store.Finish { return lifecycle.UnstoredDelivery(a.run, number, node, ended) }
	r.finish(ctx, f, err, aside, func() { answered(bytes) })
	r.stored(d.Owner.Number)
}

// send makes the request. What the message refers to is read only now, so that
// messages that wait need no memory for it.
func (a *deliveryAttempt) send(ctx context.Context) job.Outcome {
	r, d := a.runner, a.run.Delivery
	if len(d.Parts) > 0 {
		size := 2 * d.Size() // the logs, and the message made of them
		if r.messages.take(ctx, d.Owner.Number, size) != nil {
			return withdrawn(ctx)
		}
		defer r.messages.give(d.Owner.Number, size)
	}
	body, err := r.whole(ctx, d)
	switch {
	case fault.CodeOf(err) == fault.NotFound, errors.Is(err, errIncomplete):
		return job.Outcome{Failure: &job.Failure{Kind: job.KindUnstored, Message: "a part of the message is missing from the logs"}}
	case ctx.Err() != nil:
		return withdrawn(ctx)
	case err != nil:
		r.logLimited("reading a message failed; deliveries are made again", err)
		pause(ctx, time.Second)
		return notMade("the message could not be read; the delivery is made again")
	}
	return r.do(ctx, kindDelivery, d.Owner.Number, a.run.Due, execute.Request{
		Method: "POST", URL: d.URL, Body: body, MessageID: d.MessageID, Timeout: deliveryTimeout, Hops: d.Hops + 1,
		Own: []execute.Field{{Name: "Content-Type", Value: "application/json"}},
	})
}

// withdrawn is the outcome of a try whose context ended before the request was made.
func withdrawn(ctx context.Context) job.Outcome {
	if errors.Is(context.Cause(ctx), execute.ErrCancelled) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindCancelled, Message: "the account was deleted before the message was sent"}}
	}
	return notMade("the service stopped before the message was sent; the delivery is made again")
}

func notMade(message string) job.Outcome {
	return job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Message: message}}
}

// whole returns a message's body with its parts, read from their logs.
func (r *Runner) whole(ctx context.Context, d *job.Delivery) (rawjson.Value, error) {
	if len(d.Parts) == 0 {
		return d.Body, nil
	}
	payloads := map[uuid.UUID]rawjson.Value{}
	for _, p := range d.Parts {
		if payloads[p.Log] != nil {
			continue
		}
		log, err := r.Logs.LogGet(ctx, d.Owner, p.Log)
		if err != nil {
			return nil, err
		}
		payloads[p.Log] = log.Payload
	}
	whole, err := d.Whole(payloads)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIncomplete, err)
	}
	return whole, nil
}

// errIncomplete marks a message that its logs do not make whole.
var errIncomplete = errors.New("the message is incomplete")
