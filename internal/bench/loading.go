package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// load is the process that creates jobs. It is apart from the target, so that
// the processor time of each can be told.
type load struct {
	*process
	keep bool // the service is not the bench's own: what is created must be cancelled
}

// created is what creating jobs came to.
type created struct {
	calls     Curve
	perSecond float64
	last      time.Time     // when the last response arrived
	cpu       time.Duration // of the load
}

// loadPatience is how long the load may give no sign. It gives one every
// loadTells, but the machine may be busy.
const loadPatience = 2 * time.Minute

func (b *bench) startLoad(ctx context.Context) (*load, error) {
	p, _, err := b.startBare(ctx, BareLoad)
	return &load{process: p, keep: b.BaseURL != ""}, err
}

// create has jobs created at a service, each at its time. When ctx ends, what
// has been created is still noted.
func (l *load) create(ctx context.Context, a *api, jobs []planned, batch, clients int, done *atomic.Int64) (*created, error) {
	if err := writeOrder(l.stdin, loadOrder{URL: a.url, Key: a.key, Clients: clients, Batch: batch, Keep: l.keep}, jobs); err != nil {
		return nil, fmt.Errorf("the load takes no orders: %w%s", err, l.errors.said())
	}
	for {
		report, err := l.report(ctx, loadPatience)
		if err != nil && ctx.Err() != nil {
			_ = l.stdin.Close() // its sign to break off
			if report, err = l.report(context.WithoutCancel(ctx), stopLimit); err == nil && !report.Last {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the load: %w", err)
		}
		done.Store(report.Done)
		if !report.Last {
			continue
		}
		a.remember(report.Paths)
		if report.Error != "" {
			return nil, errors.Join(ctx.Err(), errors.New(report.Error))
		}
		return &created{report.Calls, report.PerSecond, time.UnixMicro(report.Ended), time.Duration(report.CPU)}, nil
	}
}

// report reads a report of the load.
func (l *load) report(ctx context.Context, limit time.Duration) (report loadReport, err error) {
	line, err := l.line(ctx, limit)
	if err != nil {
		return report, err
	}
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		return report, fmt.Errorf("it said %.200q: %w", line, err)
	}
	return report, nil
}

// create creates jobs of a trial, and returns how fast that went.
func (t *trial) create(ctx context.Context, what string, jobs []planned, clients int) (*created, error) {
	return t.createBy(ctx, t.load, jobs, 0, clients, t.step(what, len(jobs)))
}

func (t *trial) createBy(ctx context.Context, l *load, jobs []planned, batch, clients int, done *atomic.Int64) (*created, error) {
	made, err := l.create(ctx, t.service.api, jobs, batch, clients, done)
	if err != nil {
		return nil, errors.Join(err, t.alive())
	}
	return made, nil
}
