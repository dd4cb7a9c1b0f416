package bench

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

const (
	batchJobs    = 1000 // jobs of a batch
	batchClients = 4    // connections that send batches
)

// bulk measures jobs that are created a thousand a request: how many a second, held
// against single creates, and what steady jobs beside them notice.
func bulk(ctx context.Context, t *trial) error {
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	single, err := t.create(ctx, "creating single jobs", t.later(t.Sizes.ingest()), t.Sizes.Clients)
	if err != nil {
		return err
	}
	jobs := t.later(max(batchJobs, 4*t.Sizes.ingest()))
	made, err := createBatches(ctx, t.service.api, jobs, t.step("creating jobs in batches", len(jobs)))
	if err != nil {
		return errors.Join(err, t.alive())
	}
	t.figure(Figure{Name: "single", Label: "jobs created, one a call", Unit: "/s", Value: single.perSecond})
	t.figure(Figure{Name: "creates", Label: "jobs created in batches", Unit: "/s", Value: made.perSecond, Against: "bulk/single", Mark: t.mark("4.00", "")})
	c := newCurve("bulk", made.calls)
	t.figure(Figure{Name: "call_p50", Label: "batch, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "call_p99", Label: "batch, p99", Unit: "ms", Value: c.at(0.99)})
	alone, err := t.runSteady(ctx)
	if err != nil {
		return err
	}
	t.lateFigures(late{prefix: "alone_", label: "steady alone, late", shown: showMost}, t.latency("steady alone", alone.late))
	beside, err := t.besideBatches(ctx)
	if err != nil {
		return err
	}
	t.lateFigures(late{prefix: "beside_", label: "steady beside batches, late", against: "bulk/alone_", p99: "3.00", shown: showMost}, t.latency("steady beside batches", beside.late))
	return nil
}

// besideBatches creates steady jobs while batches are created.
func (t *trial) besideBatches(ctx context.Context) (*outcome, error) {
	batches, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		var err error
		for err == nil && batches.Err() == nil {
			// A batch that is under way is not broken off: nobody would know
			// whether it was stored.
			_, err = createBatches(context.WithoutCancel(ctx), t.service.api, t.later(batchJobs), new(atomic.Int64))
		}
		failed <- err
	}()
	o, err := t.runSteady(ctx)
	stop()
	return o, errors.Join(err, <-failed)
}

// createBatches creates jobs in batches over a few connections.
func createBatches(ctx context.Context, a *api, jobs []planned, done *atomic.Int64) (*created, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	start := time.Now()
	result := &created{calls: make([]float64, (len(jobs)+batchJobs-1)/batchJobs)}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(batchClients, len(result.calls)) {
		wait.Go(func() {
			var body []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(result.calls) || ctx.Err() != nil {
					return
				}
				batch := jobs[i*batchJobs : min(len(jobs), (i+1)*batchJobs)]
				body = body[:0]
				for k := range batch {
					body = append(batch[k].appendCreate(body), '\n')
				}
				began := time.Now()
				if err := a.createBatch(ctx, body); err != nil {
					stop(err)
					return
				}
				result.calls[i] = float64(time.Since(began)) / float64(time.Millisecond)
				done.Add(int64(len(batch)))
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	result.last = time.Now()
	result.perSecond = float64(len(jobs)) / result.last.Sub(start).Seconds()
	return result, nil
}
