package bench

import (
	"context"
	"errors"
	"sync/atomic"
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
	before, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	made, err := t.createBy(ctx, t.load, jobs, batchJobs, batchClients, t.step("creating jobs in batches", len(jobs)))
	if err != nil {
		return err
	}
	after, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	t.cpu(Figure{Name: "cpu", Label: "service's CPU a job", Against: "ingest/cpu"}, after.cpu-before.cpu, len(jobs))
	t.cpu(Figure{Name: "load_cpu", Label: "load's CPU a job"}, made.cpu, len(jobs))
	t.figure(Figure{Name: "single", Label: "jobs created, one a call", Unit: "/s", Value: single.perSecond})
	t.figure(Figure{Name: "creates", Label: "jobs created in batches", Unit: "/s", Value: made.perSecond, Against: "bulk/single",
		Mark: t.mark("4.00", "")})
	c := made.calls
	t.figure(Figure{Name: "call_p50", Label: "batch, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "call_p99", Label: "batch, p99", Unit: "ms", Value: c.at(0.99)})
	alone, _, err := t.runSteady(ctx)
	if err != nil {
		return err
	}
	t.lateFigures(late{prefix: "alone_", label: "steady alone, late", shown: showMost}, t.latency("steady alone", alone.late))
	beside, err := t.besideBatches(ctx)
	if err != nil {
		return err
	}
	t.lateFigures(late{prefix: "beside_", label: "steady beside batches, late", against: "bulk/alone_", p99: "3.00", shown: showMost},
		t.latency("steady beside batches", beside.late))
	return nil
}

// besideBatches creates steady jobs while batches are created.
func (t *trial) besideBatches(ctx context.Context) (*outcome, error) {
	beside, err := t.startLoad(ctx)
	if err != nil {
		return nil, err
	}
	defer beside.kill()
	ended, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-ended:
				failed <- nil
				return
			default:
				_, err = t.createBy(ctx, beside, t.later(batchJobs), batchJobs, 1, new(atomic.Int64))
			}
		}
		failed <- err
	}()
	o, _, err := t.runSteady(ctx)
	close(ended)
	return o, errors.Join(err, <-failed)
}
