package bench

import (
	"context"
	"time"
)

// steady measures jobs that are due at any time.
func steady(ctx context.Context, t *trial) error {
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	before, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	o, err := t.runSteady(ctx)
	if err != nil {
		return err
	}
	t.lateFigures(late{label: "late", against: "ceiling/steady_", p50: t.mark("1 ms", ""), p99: t.mark("5 ms", "8 ms"), shown: showAll}, t.latency("steady", o.late))
	return t.cpuFigure(ctx, before)
}

// cpuFigure returns what each of the steady jobs took since before.
func (t *trial) cpuFigure(ctx context.Context, before vitals) error {
	after, err := t.service.api.vitals(ctx)
	t.figure(Figure{Name: "cpu", Label: "service's CPU a job", Unit: "µs", Value: micros(after.cpu-before.cpu) / float64(t.Sizes.steady())})
	return err
}

// planSteady plans jobs whose creation is spread over the seconds to come, each
// due a while after it.
func (t *trial) planSteady(n int, rate float64, urls []string) ([]planned, *round) {
	create := spread(time.Now().Add(bareStart/2), rate)
	lead := t.Sizes.lead()
	jobs, expected := t.plan(n, urls, func(i int) time.Time { return create(i).Add(lead) })
	for i := range jobs {
		jobs[i].create = jobs[i].due.Add(-lead)
	}
	return jobs, expected
}

// runSteady creates steady jobs and waits until the service has recorded their
// ends.
func (t *trial) runSteady(ctx context.Context) (*outcome, error) {
	jobs, expected := t.planSteady(t.Sizes.steady(), t.Sizes.Rate, t.target.urls)
	t.target.expect(expected)
	if _, err := t.fireSteady(ctx, jobs, expected); err != nil {
		return nil, err
	}
	return t.check("steady jobs", expected), nil
}

// fireSteady creates jobs, each at its time, and waits for them. It returns what
// the service was before.
func (t *trial) fireSteady(ctx context.Context, jobs []planned, expected *round) (before vitals, err error) {
	mark := t.service.api.mark()
	if before, err = t.service.api.vitals(ctx); err != nil {
		return before, err
	}
	if _, err := t.create(ctx, "creating jobs, each at its time", jobs, t.Sizes.Clients); err != nil {
		return before, err
	}
	t.follow("waiting for the last jobs", len(jobs), &expected.distinct)
	if err := t.await(ctx, expected, len(jobs), jobs[len(jobs)-1].due.Add(patience(len(jobs)))); err != nil {
		return before, err
	}
	if _, err := t.settle(ctx, before, int(expected.distinct.Load())); err != nil {
		return before, err
	}
	t.service.api.forget(mark)
	return before, nil
}

// webhooks measures steady jobs with a webhook for every event.
func webhooks(ctx context.Context, t *trial) error {
	receiver, err := startTarget(t.authority, t.Sizes.HTTP2, "127.0.0.1")
	if err != nil {
		return err
	}
	t.closers = append(t.closers, receiver.close)
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	jobs, expected := t.planSteady(t.Sizes.steady(), t.Sizes.Rate, t.target.urls)
	receiver.events = newReceipts(jobs[0].number, len(jobs))
	for i := range jobs {
		jobs[i].options = hooks(receiver.urls[0], jobs[i].number)
	}
	t.target.expect(expected)
	before, err := t.fireSteady(ctx, jobs, expected)
	if err != nil {
		return err
	}
	o := t.check("jobs with callback and webhook", expected)
	t.lateFigures(late{label: "late", against: "steady/", p50: "2.00", p99: "2.00"}, t.latency("webhooks", o.late))
	if err := t.receipts(ctx, receiver.events, expected); err != nil {
		return err
	}
	return t.cpuFigure(ctx, before)
}

// receipts waits for the messages that jobs give rise to, and checks them.
func (t *trial) receipts(ctx context.Context, r *receipts, jobs *round) error {
	wanted := len(r.seen) * messagesPerJob
	t.follow("waiting for messages", wanted, &r.distinct)
	_, err := until(ctx, time.Now().Add(patience(wanted)), func() bool { return r.distinct.Load() >= int64(wanted) })
	if err != nil {
		return err
	}
	missing, disordered := r.check()
	if missing > 0 {
		t.problem("of %s messages to callbacks and webhooks, %s did not arrive", thousands(wanted), thousands(missing))
	}
	if disordered > 0 {
		t.problem("the events of %s jobs arrived out of order", thousands(disordered))
	}
	c := newCurve("callback", r.delays(jobs))
	t.figure(Figure{Name: "callback_p50", Label: "callback after request, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "callback_p99", Label: "callback after request, p99", Unit: "ms", Value: c.at(0.99)})
	t.figure(Figure{Name: "repeated", Label: "messages that came again", Value: float64(r.repeated.Load()), Detail: true})
	return nil
}
