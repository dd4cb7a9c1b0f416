package bench

import (
	"context"
	"errors"
	"time"
)

const (
	// probe is how many jobs are created to see how fast that goes.
	probe = 200
	// spare is how much earlier than needed a herd's creation is begun.
	spare = 2 * time.Second
	// quietBefore is how long before the herd is due its creation must be over.
	quietBefore = 500 * time.Millisecond
)

// later plans jobs that are due in an hour: nobody waits for them.
func (b *bench) later(n int) []planned {
	due := time.Now().Add(time.Hour)
	jobs, _ := b.plan(n, b.target.urls, func(i int) time.Time { return due.Add(time.Duration(i) * time.Millisecond) })
	return jobs
}

// ingest measures how fast jobs are created.
func ingest(ctx context.Context, t *trial) error {
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	jobs := t.later(t.Sizes.ingest())
	cpu, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	made, err := t.create(ctx, "creating jobs", jobs, t.Sizes.Clients)
	if err != nil {
		return err
	}
	after, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	t.pace = made.perSecond
	t.cpu(Figure{Name: "cpu", Label: "service's CPU a create", Against: "ceiling/ingest_cpu"}, after.cpu-cpu.cpu, len(jobs))
	t.cpu(Figure{Name: "load_cpu", Label: "load's CPU a create", Against: "ceiling/ingest_load_cpu"}, made.cpu, len(jobs))
	t.figure(Figure{Name: "creates", Label: "jobs created", Unit: "/s", Value: made.perSecond, Against: "ceiling/ingest",
		Mark: t.mark("0.55", "0.50")})
	c := made.calls
	t.figure(Figure{Name: "call_p50", Label: "call, p50", Unit: "ms", Value: c.at(0.5), Against: "ceiling/ingest_p50"})
	t.figure(Figure{Name: "call_p90", Label: "call, p90", Unit: "ms", Value: c.at(0.9)})
	t.figure(Figure{Name: "call_p99", Label: "call, p99", Unit: "ms", Value: c.at(0.99), Against: "ceiling/ingest_p99"})
	t.figure(Figure{Name: "call_max", Label: "call, longest", Unit: "ms", Value: c.at(1)})
	bytes, err := t.grown(ctx, len(jobs), "pending job on disk")
	t.result.Figures = append(t.result.Figures, bytes...)
	return err
}

// grown stops the service, so that all it stored is in the file, and returns what
// n jobs have made the file grow by; nothing when there is no file.
func (t *trial) grown(ctx context.Context, n int, label string) ([]Figure, error) {
	if t.database.file == "" {
		return nil, nil
	}
	err := t.stopService(ctx)
	bytes := float64(t.database.bytes()-t.database.empty) / float64(n)
	return []Figure{{Name: "bytes", Label: label, Unit: "bytes", Value: bytes}}, err
}

// learnPace creates a few jobs to see how fast that goes, unless it is known.
func (t *trial) learnPace(ctx context.Context) error {
	if t.pace > 0 {
		return nil
	}
	made, err := t.create(ctx, "seeing how fast jobs are created", t.later(probe), t.Sizes.Clients)
	if err == nil {
		t.pace = made.perSecond
	}
	return err
}

// costing is the processor time that a herd took of the service, and while it
// ran of the target.
type costing struct{ creating, running, target time.Duration }

// runHerd creates n jobs, all due at one instant after the last one's creation,
// and waits until the service has recorded their ends.
func (t *trial) runHerd(ctx context.Context, n int, urls []string) (o *outcome, cpu costing, err error) {
	if err := t.learnPace(ctx); err != nil {
		return nil, cpu, err
	}
	const tries = 3
	for range tries {
		lead := spare + quietBefore + time.Duration(1.3*float64(n)/t.pace*float64(time.Second))
		due := time.Now().Add(lead)
		jobs, expected := t.plan(n, urls, func(int) time.Time { return due })
		t.target.expect(expected)
		mark := t.service.api.mark()
		before, err := t.service.api.vitals(ctx)
		if err != nil {
			return nil, cpu, err
		}
		made, err := t.create(ctx, "creating the herd", jobs, t.Sizes.Clients)
		if err != nil {
			return nil, cpu, err
		}
		t.pace = made.perSecond
		inTime := made.last.Before(due.Add(-quietBefore))
		if cpu, err = t.fireHerd(ctx, before, expected, due); err != nil {
			return nil, cpu, err
		}
		t.service.api.forget(mark)
		o := t.check("a herd", expected)
		if inTime || len(t.result.Problems) > 0 {
			return o, cpu, nil
		}
	}
	return nil, cpu, errors.New("the herd could not be created before it was due, since the machine is too busy")
}

// fireHerd waits for a herd that has been created.
func (t *trial) fireHerd(ctx context.Context, before vitals, expected *round, due time.Time) (cpu costing, err error) {
	n := len(expected.seen)
	createdAt, err := t.service.api.vitals(ctx)
	if err != nil {
		return cpu, err
	}
	t.follow("waiting for the herd", n, &expected.distinct)
	// The service's idle time does not count.
	if err := sleepUntil(ctx, due.Add(-quietBefore/2)); err != nil {
		return cpu, err
	}
	awake, err := t.service.api.vitals(ctx)
	if err != nil {
		return cpu, err
	}
	began := processorTime()
	if err := t.await(ctx, expected, n, due.Add(patience(n))); err != nil {
		return cpu, err
	}
	target := processorTime() - began
	after, err := t.settle(ctx, before, int(expected.distinct.Load()))
	return costing{createdAt.cpu - before.cpu, after.cpu - awake.cpu, target}, err
}

// herd measures jobs that are due at one instant.
func herd(ctx context.Context, t *trial) error {
	if err := t.paceApart(ctx); err != nil {
		return err
	}
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	o, cpu, err := t.runHerd(ctx, t.Sizes.Jobs, t.target.urls)
	if err != nil {
		return err
	}
	t.cpu(Figure{Name: "cpu", Label: "service's CPU to run a job", Against: "ceiling/herd_cpu"}, cpu.running, t.Sizes.Jobs)
	t.cpu(Figure{Name: "target_cpu", Label: "target's CPU a job", Against: "ceiling/herd_target_cpu"}, cpu.target, t.Sizes.Jobs)
	t.figure(Figure{Name: "throughput", Label: "jobs", Unit: "/s", Value: o.throughput(), Against: "ceiling/herd",
		Mark: t.mark("0.75", "0.50")})
	t.lateFigures(late{prefix: "late_", label: "late", against: "ceiling/herd_", shown: showAll}, t.latency("herd", o.late))
	n := float64(t.Sizes.Jobs)
	bytes, err := t.grown(ctx, t.Sizes.Jobs, "job with its logs on disk")
	t.costs = append(t.costs, append([]Figure{
		{Name: "cpu", Label: "service's CPU a job", Unit: "µs", Value: micros(cpu.creating+cpu.running) / n, Against: "ceiling/herd_cpu",
			Mark: "110 µs"},
		{Name: "cpu_create", Label: "of it to create it", Unit: "µs", Value: micros(cpu.creating) / n},
		{Name: "cpu_run", Label: "of it to run and log it", Unit: "µs", Value: micros(cpu.running) / n},
	}, bytes...))
	return err
}

// paceApart learns the pace in a database of its own, so that nothing but the
// herd makes the other one grow.
func (t *trial) paceApart(ctx context.Context) error {
	if t.pace > 0 || t.BaseURL != "" {
		return nil
	}
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	if err := t.learnPace(ctx); err != nil {
		return err
	}
	return t.stopService(ctx)
}

// cost returns what the herds took.
func cost(_ context.Context, t *trial) error {
	if t.run >= len(t.costs) {
		return errors.New("no herd came to its end, from which to take it")
	}
	t.result.Figures = t.costs[t.run]
	return nil
}
