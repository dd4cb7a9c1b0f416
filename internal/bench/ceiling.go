package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// bareLimit is how long the bare processes may take to start.
const bareLimit = 30 * time.Second

// startBare starts what the service is held against as a process of its own.
func (b *bench) startBare(ctx context.Context, kind string) (*process, string, error) {
	p, line, err := startProcess(ctx, b.Program, bareLimit, "bench", "--bare="+kind)
	if err != nil {
		return nil, "", fmt.Errorf("the bare %s did not start: %w", kind, err)
	}
	return p, line, nil
}

// order has the bare client make the requests of planned jobs, by workers or by
// a timer each, and waits until it has.
func (b *bench) order(ctx context.Context, p *process, jobs []planned, urls []string, workers int) error {
	order := bareOrder{Authority: b.authority.pem(), HTTP2: b.Sizes.HTTP2, Workers: workers, URLs: urls, First: jobs[0].number}
	for _, j := range jobs {
		order.Due = append(order.Due, j.due.UnixMicro())
	}
	if err := json.NewEncoder(p.stdin).Encode(order); err != nil {
		return fmt.Errorf("the bare client takes no orders: %w", err)
	}
	line, err := p.line(ctx, time.Until(jobs[len(jobs)-1].due)+patience(len(jobs)))
	if err != nil {
		return fmt.Errorf("the bare client: %w", err)
	}
	var report bareReport
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		return fmt.Errorf("the bare client said %q: %w", line, err)
	}
	if report.Failed > 0 {
		return fmt.Errorf("%d of %d requests of the bare client failed, the first with: %s", report.Failed, len(jobs), report.Error)
	}
	return nil
}

// finish lets a bare process end and returns how much processor time it took.
func (p *process) finish() (time.Duration, error) {
	_ = p.stdin.Close() // its sign to end
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.cpu(), p.status
	case <-timer.C:
		p.kill()
		return 0, errors.New("the bare process did not end")
	}
}

// ceiling measures what this machine, Go's client and the target allow.
func ceiling(ctx context.Context, t *trial) error {
	for _, part := range []func(*trial, context.Context) error{(*trial).ceilingHerd, (*trial).ceilingSteady, (*trial).ceilingIngest} {
		if err := part(t, ctx); err != nil {
			return err
		}
	}
	return nil
}

// bareStart is how long before its first request the bare client is ordered.
const bareStart = time.Second

func (t *trial) ceilingHerd(ctx context.Context) error {
	p, _, err := t.startBare(ctx, BareClient)
	if err != nil {
		return err
	}
	defer p.kill()
	due := time.Now().Add(bareStart)
	jobs, expected := t.plan(t.Sizes.Jobs, t.target.urls, func(int) time.Time { return due })
	t.target.expect(expected)
	t.follow("a herd from the bare client", len(jobs), &expected.distinct)
	if err := t.order(ctx, p, jobs, t.target.urls, t.Sizes.Workers); err != nil {
		return err
	}
	cpu, err := p.finish()
	if err != nil {
		return err
	}
	o := t.check("a herd from the bare client", expected)
	c := t.latency("ceiling herd", o.late)
	t.figure(Figure{Name: "herd", Label: "herd, requests", Unit: "/s", Value: o.throughput()})
	t.lateFigures(late{prefix: "herd_", label: "herd late"}, c)
	t.figure(Figure{Name: "cost_cpu", Label: "bare client's CPU a request", Unit: "µs", Value: micros(cpu) / float64(len(jobs))})
	return nil
}

func (t *trial) ceilingSteady(ctx context.Context) error {
	p, _, err := t.startBare(ctx, BareClient)
	if err != nil {
		return err
	}
	defer p.kill()
	jobs, expected := t.plan(t.Sizes.steady(), t.target.urls, spread(time.Now().Add(bareStart), t.Sizes.Rate))
	t.target.expect(expected)
	t.follow("steady, from the bare client", len(jobs), &expected.distinct)
	if err := t.order(ctx, p, jobs, t.target.urls, 0); err != nil {
		return err
	}
	if _, err := p.finish(); err != nil {
		return err
	}
	o := t.check("steady requests of the bare client", expected)
	t.lateFigures(late{prefix: "steady_", label: "steady late", shown: showAll}, t.latency("ceiling steady", o.late))
	return nil
}

func (t *trial) ceilingIngest(ctx context.Context) error {
	p, line, err := t.startBare(ctx, BareHandler)
	if err != nil {
		return err
	}
	defer p.kill()
	url, ok := strings.CutPrefix(line, "listening on ")
	if !ok {
		return fmt.Errorf("the bare handler said %q", line)
	}
	a := newAPI(url, "none", t.Sizes.Clients)
	defer a.close()
	jobs := t.later(t.Sizes.ingest())
	made, err := createAll(ctx, a, jobs, t.Sizes.Clients, t.step("creates at the bare handler", len(jobs)))
	if err != nil {
		return err
	}
	if _, err := p.finish(); err != nil {
		return err
	}
	c := newCurve("ceiling ingest", made.calls)
	t.figure(Figure{Name: "ingest", Label: "ingest, creates", Unit: "/s", Value: made.perSecond})
	t.figure(Figure{Name: "ingest_p50", Label: "ingest call, p50", Unit: "ms", Value: c.at(0.5)})
	t.figure(Figure{Name: "ingest_p99", Label: "ingest call, p99", Unit: "ms", Value: c.at(0.99)})
	return nil
}

// check looks at what became of a round and notes what was wrong with it.
func (t *trial) check(what string, r *round) *outcome {
	o := r.outcome(nil)
	t.judge(what, o, false)
	return o
}

func (t *trial) judge(what string, o *outcome, twiceIsFine bool) {
	if wrong := o.problem(twiceIsFine); wrong != "" {
		t.problem("of %s, %s", what, wrong)
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
