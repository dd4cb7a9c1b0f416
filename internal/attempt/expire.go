package attempt

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// expire discards the job of an attempt that may not start any more.
func (r *Runner) expire(ctx context.Context, a *jobAttempt, node int64, began time.Time, requestDone func(bytes int64)) {
	f := a.Expire(node, a.span(began))
	f.Decide = r.decided(a.Item, f.Decide)
	aside := func() []store.Finish { return a.Unstored(node, a.span(began)) }
	if r.finish(ctx, &f, nil, aside, func() { requestDone(0) }) {
		r.Metrics.Finished(a.Result.String())
	}
}
