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
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/tracing"
)

// deliveryAttempt is an attempt of a callback or webhook delivery.
type deliveryAttempt struct {
	runner *Runner
	item   *store.QueueItem
	begin  time.Time
	trace  *tracing.Span
}

// Claim implements dispatch.Attempt.
func (a *deliveryAttempt) Claim() store.Claim {
	return store.Claim{QueueKey: a.item.QueueKey, Attempt: a.item.Attempt + 1, StartAt: a.begin}
}

// TooLate implements dispatch.Attempt. Deliveries don't expire.
func (a *deliveryAttempt) TooLate(time.Time) bool { return false }

// Restart implements dispatch.Attempt. No schedule depends on when a delivery starts.
func (a *deliveryAttempt) Restart(time.Time) {}

// Size implements dispatch.Attempt.
func (a *deliveryAttempt) Size() int64 { return int64(a.item.Delivery.Size()) }

// Fire implements dispatch.Attempt.
func (a *deliveryAttempt) Fire(ctx context.Context, node int64, began time.Time, leave func() bool, requestDone func(bytes int64)) {
	r, d := a.runner, a.item.Delivery
	number := a.item.Attempt + 1
	a.begun(began)
	outcome := r.guarded(kindDelivery, d.Number, func() job.Outcome { return a.send(ctx, leave) })
	ended := schedule.Later(r.Queue.Now(), began.Add(time.Microsecond))
	a.trace.End(&outcome, outcomeName(&outcome, delivered(&outcome)), ended)
	bytes := int64(0)
	if outcome.Response != nil {
		bytes = int64(2 * len(outcome.Response.Body)) // for the log, if the delivery is given up
	}
	var f *store.Finish
	err := fault.Guard(func() error {
		end := lifecycle.EndDelivery(a.item, number, node, outcome, ended)
		if failure := outcome.Failure; failure != nil && failure.Kind == job.KindCancelled {
			// The account was deleted, and its deliveries with it.
			end = store.Finish{QueueKey: a.item.QueueKey, Node: node, Attempt: number, Delivery: &store.DeliveryEnd{}}
		}
		f = &end
		return nil
	})
	aside := func() []store.Finish { return lifecycle.UnstoredDelivery(a.item, number, node, ended) }
	r.finish(ctx, f, err, aside, func() { requestDone(bytes) })
	r.stored(d.Owner.Number)
}

// send sends the request. It loads the parts that the body refers to only now,
// so that waiting deliveries need no memory for them.
func (a *deliveryAttempt) send(ctx context.Context, leave func() bool) job.Outcome {
	r, d := a.runner, a.item.Delivery
	if len(d.Parts) > 0 {
		size := 2 * d.Size() // the logs, and the body assembled from them
		if r.messages.take(ctx, d.Owner.Number, size) != nil {
			return withdrawn(ctx)
		}
		defer r.messages.give(d.Owner.Number, size)
	}
	body, err := r.whole(ctx, d)
	switch {
	case fault.CodeOf(err) == fault.NotFound, errors.Is(err, errIncomplete):
		return job.Outcome{Failure: &job.Failure{Kind: job.KindUnstored, Message: "a part of the delivery's body is missing from the logs"}}
	case ctx.Err() != nil:
		return withdrawn(ctx)
	case err != nil:
		r.logLimited("reading a delivery's body failed; deliveries will be retried", err)
		pause.For(ctx, time.Second)
		return notSent("the delivery's body could not be read; the delivery will be retried")
	}
	return r.deliver(ctx, d, body, send{
		due: a.item.Due, timeout: deliveryTimeout, recent: !lifecycle.DeliveryRetriedAtOnce(a.item.Attempt + 1), span: a.trace,
		leave: leave,
	})
}

// send is how an attempt at a delivery is made.
type send struct {
	due     time.Time
	timeout time.Duration
	recent  bool // see execute.Request
	span    *tracing.Span
	leave   func() bool // see execute.Request; may be nil
}

// deliver makes one attempt at a delivery with the given body.
func (r *Runner) deliver(ctx context.Context, d *job.Delivery, body rawjson.Value, s send) job.Outcome {
	if d.Channel == job.AlertMail {
		if s.leave != nil && !s.leave() {
			return withdrawn(ctx)
		}
		return r.mail(ctx, d, body, s.due)
	}
	request := execute.Request{
		Party: deliveryParty(d), Recent: s.recent,
		Method: "POST", URL: d.URL, Body: body, MessageID: d.MessageID, Timeout: s.timeout, Hops: d.Hops + 1, Leave: s.leave,
		Own: []execute.Field{{Name: "Content-Type", Value: "application/json"}},
	}
	if r.Listeners != nil {
		request.Listener = listener{Listeners: r.Listeners, account: d.Owner.Number}
	}
	propagate(s.span, &request)
	return r.do(ctx, try{kind: kindDelivery, owner: d.Owner, due: s.due, request: request, judge: delivered})
}

func delivered(o *job.Outcome) lifecycle.Verdict {
	if lifecycle.Delivered(o) {
		return lifecycle.Succeeded
	}
	return lifecycle.Failed
}

// SendNow makes one attempt at a delivery that is not in the queue, within the
// given time. Its Hops are those of the call that asks for it.
func (r *Runner) SendNow(ctx context.Context, d *job.Delivery, within time.Duration) job.Outcome {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return r.guarded(kindDelivery, d.Number, func() job.Outcome {
		return r.deliver(ctx, d, d.Body, send{due: r.Queue.Now(), timeout: within, recent: true})
	})
}

// withdrawn returns the outcome of an attempt whose context ended before the
// request was sent.
func withdrawn(ctx context.Context) job.Outcome {
	if errors.Is(context.Cause(ctx), execute.ErrCancelled) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindCancelled, Message: "the account was deleted before the request was sent"}}
	}
	return notSent("the service stopped before the request was sent; the delivery will be retried")
}

// notSent returns an outcome that is retried and does not count as an attempt.
func notSent(message string) job.Outcome {
	return job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted, Message: message, Unsent: true}}
}

// whole returns a delivery's body with its parts, read from their logs.
func (r *Runner) whole(ctx context.Context, d *job.Delivery) (rawjson.Value, error) {
	if len(d.Parts) == 0 {
		return job.Complete(d.Body), nil
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
	return job.Complete(whole), nil
}

// errIncomplete reports that a body's parts are missing from the logs.
var errIncomplete = errors.New("the delivery's body is incomplete")
