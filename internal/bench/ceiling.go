package bench

import (
	"context"
	"encoding/json"
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
// a timer each, waits until it has, and returns what that took.
func (b *bench) order(ctx context.Context, p *process, jobs []planned, urls []string, workers int) (spent spending, err error) {
	order := bareOrder{Authority: b.authority.pem(), HTTP2: b.Sizes.HTTP2, Workers: workers, URLs: urls, First: jobs[0].number}
	for _, j := range jobs {
		order.Due = append(order.Due, j.due.UnixMicro())
	}
	if err := json.NewEncoder(p.stdin).Encode(order); err != nil {
		return spent, fmt.Errorf("the bare client takes no orders: %w", err)
	}
	began := processorTime() // of this process, whose one other task is to be the target
	line, err := p.line(ctx, time.Until(jobs[len(jobs)-1].due)+patience(len(jobs)))
	if err != nil {
		return spent, fmt.Errorf("the bare client: %w", err)
	}
	var report bareReport
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		return spent, fmt.Errorf("the bare client said %q: %w", line, err)
	}
	if report.Failed > 0 {
		return spent, fmt.Errorf("%d of %d requests of the bare client failed, the first with: %s", report.Failed, len(jobs), report.Error)
	}
	return spending{client: time.Duration(report.CPU), target: processorTime() - began}, nil
}

// spending is the processor time of those at both ends of requests.
type spending struct{ client, target time.Duration }

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
	spent, err := t.order(ctx, p, jobs, t.target.urls, t.Sizes.Workers)
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	o := t.check("a herd from the bare client", expected)
	c := t.latency("ceiling herd", o.late)
	t.cpu(Figure{Name: "herd_cpu", Label: "herd, client's CPU a request"}, spent.client, len(jobs))
	t.cpu(Figure{Name: "herd_target_cpu", Label: "herd, target's CPU a request"}, spent.target, len(jobs))
	t.figure(Figure{Name: "herd", Label: "herd, requests", Unit: "/s", Value: o.throughput()})
	t.lateFigures(late{prefix: "herd_", label: "herd late"}, c)
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
	spent, err := t.order(ctx, p, jobs, t.target.urls, 0)
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	o := t.check("steady requests of the bare client", expected)
	t.cpu(Figure{Name: "steady_cpu", Label: "steady, client's CPU a request"}, spent.client, len(jobs))
	t.cpu(Figure{Name: "steady_target_cpu", Label: "steady, target's CPU a request"}, spent.target, len(jobs))
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
	made, err := t.load.create(ctx, a, jobs, 0, t.Sizes.Clients, t.step("creates at the bare handler", len(jobs)))
	if err != nil {
		return err
	}
	if err := p.finish(); err != nil {
		return err
	}
	c := made.calls
	t.cpu(Figure{Name: "ingest_cpu", Label: "ingest, handler's CPU a create"}, p.cpu(), len(jobs))
	t.cpu(Figure{Name: "ingest_load_cpu", Label: "ingest, load's CPU a create"}, made.cpu, len(jobs))
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

// cpu adds a figure of processor time that n jobs took.
func (t *trial) cpu(f Figure, took time.Duration, n int) {
	f.Unit, f.Value = "µs", micros(took)/float64(n)
	t.figure(f)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
