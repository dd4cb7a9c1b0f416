package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// hangingOf is how many of ten targets do not respond.
const hangingOf = 9

// slow measures how targets that do not respond delay jobs for those that do.
func slow(ctx context.Context, t *trial) error {
	var err error
	n := t.Sizes.slowHosts()
	if t.target, err = startTarget(t.authority, t.Sizes.HTTP2, loopbacks(n)...); err != nil {
		return err
	}
	t.closers = append(t.closers, t.target.close)
	// As many requests at once as the service makes if it is not told otherwise:
	// hanging ones are to take all they can get.
	if err := t.start(ctx, 0); err != nil {
		return err
	}
	hang := n * hangingOf / 10
	share := float64(hangingOf) / 10
	hanging, stuck := t.planSteady(max(1, int(share*float64(t.Sizes.steady()))), share*t.Sizes.Rate, t.target.urls[:hang])
	jobs, expected := t.planSteady(max(1, int((1-share)*float64(t.Sizes.steady()))), (1-share)*t.Sizes.Rate, t.target.urls[hang:])
	limit := fmt.Sprintf(`,"timeout":%d,"retries":0`, max(1, int(t.Sizes.lead().Seconds())))
	for i := range hanging {
		hanging[i].url = strings.TrimSuffix(hanging[i].url, pathJob) + pathHang
		hanging[i].options = limit
	}
	t.target.expect(stuck)
	t.target.expect(expected)
	all := slices.Concat(hanging, jobs)
	slices.SortFunc(all, func(a, b planned) int { return a.create.Compare(b.create) })
	if _, err := t.create(ctx, "creating jobs, each at its time", all, t.Sizes.Clients); err != nil {
		return err
	}
	t.follow("waiting for the jobs of targets that answer", len(jobs), &expected.distinct)
	if err := t.await(ctx, expected, len(jobs), jobs[len(jobs)-1].due.Add(patience(len(jobs)))); err != nil {
		return err
	}
	return t.judgeSlow(expected, stuck)
}

func (t *trial) judgeSlow(expected, stuck *round) error {
	o := t.check("jobs for targets that answer", expected)
	// Those that hang may still wait for their turn, but must not have been early.
	hung := stuck.outcome(nil)
	hung.missing = 0
	t.judge("jobs for targets that hang", hung, false)
	t.lateFigures(late{label: "answering ones late", p99: "50 ms"}, t.latency("slow, the others", o.late))
	t.figure(Figure{Name: "hung", Label: "requests left hanging", Value: float64(len(hung.late)), Detail: true})
	t.target.free()
	return nil
}

// hosts measures a herd for many hosts, and another one after all connections
// have been closed, so that only sessions are left to take up.
func hosts(ctx context.Context, t *trial) error {
	var err error
	if t.target, err = startTarget(t.authority, t.Sizes.HTTP2, loopbacks(t.Sizes.hosts())...); err != nil {
		return err
	}
	t.closers = append(t.closers, t.target.close)
	if err := t.bareHosts(ctx); err != nil {
		return err
	}
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	var throughput [2]float64
	for i, name := range []string{"first", "second"} {
		t.target.hangUp()
		if err := sleepUntil(ctx, time.Now().Add(quietBefore)); err != nil {
			return err
		}
		handshakes, resumed := t.target.handshakes.Load(), t.target.resumed.Load()
		o, cpu, err := t.runHerd(ctx, t.Sizes.Jobs, t.target.urls)
		if err != nil {
			return err
		}
		t.cpu(Figure{Name: name + "_cpu", Label: "service's CPU, " + name + " herd", Against: "hosts/bare_" + name + "_cpu"}, cpu.running,
			t.Sizes.Jobs)
		throughput[i] = o.throughput()
		f := Figure{Name: name, Label: name + " herd, jobs", Unit: "/s", Value: o.throughput(), Against: "hosts/bare_" + name}
		if i == 0 {
			f.Mark = "0.80"
		}
		t.figure(f)
		t.lateFigures(late{prefix: name + "_", label: name + " herd late", shown: showNone}, t.latency("hosts, "+name, o.late))
		t.figure(Figure{Name: name + "_handshakes", Label: name + " herd, handshakes",
			Value: float64(t.target.handshakes.Load() - handshakes), Detail: true})
		t.figure(Figure{Name: name + "_resumed", Label: name + " herd, sessions taken up",
			Value: float64(t.target.resumed.Load() - resumed)})
	}
	t.figure(Figure{Name: "gain", Label: "second herd against first", Unit: "x", Value: throughput[1] / throughput[0], Mark: "3 x"})
	return nil
}

// bareHosts has the bare client do the same.
func (t *trial) bareHosts(ctx context.Context) error {
	p, _, err := t.startBare(ctx, BareClient)
	if err != nil {
		return err
	}
	defer p.kill()
	for _, name := range []string{"first", "second"} {
		t.target.hangUp()
		due := time.Now().Add(bareStart)
		jobs, expected := t.plan(t.Sizes.Jobs, t.target.urls, func(int) time.Time { return due })
		t.target.expect(expected)
		t.follow("a herd for many hosts from the bare client", len(jobs), &expected.distinct)
		spent, err := t.order(ctx, p, jobs, t.target.urls, t.Sizes.Workers)
		if err != nil {
			return err
		}
		o := t.check("a herd for many hosts from the bare client", expected)
		t.cpu(Figure{Name: "bare_" + name + "_cpu", Label: "bare client's CPU, " + name + " herd"}, spent.client, len(jobs))
		t.figure(Figure{Name: "bare_" + name, Label: "bare client, " + name + " herd", Unit: "/s", Value: o.throughput()})
	}
	return p.finish()
}
