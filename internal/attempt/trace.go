package attempt

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/tracing"
)

// begun begins the span of the attempt.
func (a *jobAttempt) begun(began time.Time) {
	if a.runner.Tracer == nil {
		return
	}
	a.trace = a.runner.Tracer.Attempt(tracing.Attempt{
		Job: a.Item.Job, Number: a.Number, Method: a.Outgoing.Method, URL: a.Outgoing.URL,
		Due: a.Item.Due, Prepared: a.prepared, Began: began,
	})
}

// traced ends the span of the attempt.
func (a *jobAttempt) traced(o *job.Outcome) {
	if a.trace == nil {
		return
	}
	a.trace.End(o, outcomeName(o, a.judge(o)), a.runner.Queue.Now())
}

// begun begins the span of the attempt.
func (a *deliveryAttempt) begun(began time.Time) {
	r := a.runner
	if r.Tracer == nil {
		return
	}
	kind := tracing.KindAlert
	switch a.item.Delivery.Channel {
	case job.Callback:
		kind = tracing.KindCallback
	case job.Webhook:
		kind = tracing.KindWebhook
	}
	a.trace = r.Tracer.Deliver(tracing.Delivery{
		Delivery: a.item.Delivery, Kind: kind, Number: a.item.Attempt + 1, Due: a.item.Due, Began: schedule.Later(a.begin, began),
	})
}

// propagate adds the field that names a span to its request, unless the job has a
// field of that name.
func propagate(span *tracing.Span, request *execute.Request) {
	if span == nil {
		return
	}
	for _, f := range request.Header {
		if strings.EqualFold(f.Name, tracing.Field) {
			return
		}
	}
	request.Own = append(request.Own, execute.Field{Name: tracing.Field, Value: span.Parent()})
}
