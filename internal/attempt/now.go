package attempt

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
)

// SendNow makes one attempt at a delivery that is not in the queue, within the
// given time. Its Hops are those of the call that asks for it.
func (r *Runner) SendNow(ctx context.Context, d *job.Delivery, within time.Duration) job.Outcome {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	now := r.Queue.Now()
	return r.guarded(kindDelivery, d.Number, func() job.Outcome {
		if d.Channel == job.AlertMail {
			return r.mail(ctx, d, d.Body, now)
		}
		return r.do(ctx, kindDelivery, d.Owner.Number, now, execute.Request{
			Method: "POST", URL: d.URL, Body: d.Body, MessageID: d.MessageID, Timeout: within, Hops: d.Hops + 1,
			Own: []execute.Field{{Name: "Content-Type", Value: "application/json"}},
		})
	})
}
