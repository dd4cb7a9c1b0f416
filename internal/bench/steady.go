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
	o, cost, err := t.runSteady(ctx)
	if err != nil {
		return err
	}
	if err := t.cpuFigures(ctx, cost, "ceiling/steady_"); err != nil {
		return err
	}
	t.lateFigures(late{label: "late", against: "ceiling/steady_", p50: t.mark("1 ms", ""), p99: t.mark("5 ms", "8 ms"), shown: showAll},
		t.latency("steady", o.late))
	return nil
}

// steadyCost is what steady jobs took.
type steadyCost struct {
	before vitals        // of the service
	target time.Duration // processor time
	load   time.Duration
}

// cpuFigures adds what each of the steady jobs took, the service's part up to now.
func (t *trial) cpuFigures(ctx context.Context, c steadyCost, against string) error {
	after, err := t.service.api.vitals(ctx)
	n := t.Sizes.steady()
	t.cpu(Figure{Name: "cpu", Label: "service's CPU a job", Against: against + "cpu"}, after.cpu-c.before.cpu, n)
	t.cpu(Figure{Name: "target_cpu", Label: "target's CPU a job", Against: against + "target_cpu"}, c.target, n)
	t.cpu(Figure{Name: "load_cpu", Label: "load's CPU a job"}, c.load, n)
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
func (t *trial) runSteady(ctx context.Context) (*outcome, steadyCost, error) {
	jobs, expected := t.planSteady(t.Sizes.steady(), t.Sizes.Rate, t.target.urls)
	t.target.expect(expected)
	cost, err := t.fireSteady(ctx, jobs, expected)
	if err != nil {
		return nil, cost, err
	}
	return t.check("steady jobs", expected), cost, nil
}

// fireSteady creates jobs, each at its time, and waits for them.
func (t *trial) fireSteady(ctx context.Context, jobs []planned, expected *round) (c steadyCost, err error) {
	mark := t.service.api.mark()
	if c.before, err = t.service.api.vitals(ctx); err != nil {
		return c, err
	}
	began := processorTime()
	made, err := t.create(ctx, "creating jobs, each at its time", jobs, t.Sizes.Clients)
	if err != nil {
		return c, err
	}
	t.follow("waiting for the last jobs", len(jobs), &expected.distinct)
	if err := t.await(ctx, expected, len(jobs), jobs[len(jobs)-1].due.Add(patience(len(jobs)))); err != nil {
		return c, err
	}
	c.load, c.target = made.cpu, processorTime()-began
	if _, err := t.settle(ctx, c.before, int(expected.distinct.Load())); err != nil {
		return c, err
	}
	t.service.api.forget(mark)
	return c, nil
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
	cost, err := t.fireSteady(ctx, jobs, expected)
	if err != nil {
		return err
	}
	o := t.check("jobs with callback and webhook", expected)
	if err := t.awaitMessages(ctx, receiver.events); err != nil {
		return err
	}
	if err := t.cpuFigures(ctx, cost, "steady/"); err != nil {
		return err
	}
	t.lateFigures(late{label: "late", against: "steady/", p50: "2.00", p99: "2.00"}, t.latency("webhooks", o.late))
	t.messageFigures(receiver.events, expected)
	return nil
}

// awaitMessages waits for the messages that jobs give rise to, and checks them.
func (t *trial) awaitMessages(ctx context.Context, r *receipts) error {
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
	return nil
}

// messageFigures adds what messages cost: how long they took, and what the
// service spent on each beyond what it spends on steady jobs without any.
func (t *trial) messageFigures(r *receipts, jobs *round) {
	if steady, ok := t.known["steady/cpu"]; ok {
		for _, f := range t.result.Figures {
			if f.Name == "cpu" {
				t.figure(Figure{Name: "message_cpu", Label: "service's CPU a message", Unit: "µs",
					Value: max(0, f.Value-steady) / messagesPerJob})
			}
		}
	}
	c := newCurve("callback", r.delays(jobs, messageCallback))
	t.figure(Figure{Name: "callback_p50", Label: "callback after request, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "callback_p99", Label: "callback after request, p99", Unit: "ms", Value: c.at(0.99)})
	c = newCurve("last event", r.delays(jobs, messageFinished))
	t.figure(Figure{Name: "event_p50", Label: "last event after request, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "event_p99", Label: "last event after request, p99", Unit: "ms", Value: c.at(0.99)})
	t.figure(Figure{Name: "repeated", Label: "messages that came again", Value: float64(r.repeated.Load()), Detail: true})
}
