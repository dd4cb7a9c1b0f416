package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/client"
	appoutbox "github.com/punctual-dev/punctual/client/outbox"
)

const (
	// outboxWriters is how many transactions the application has under way at once.
	outboxWriters = 8
	// outboxBulk is how many rows a transaction has that makes rows for the relay to catch
	// up with.
	outboxBulk = 1000
	// outboxAhead is when those jobs are due, so that the service stores them only.
	outboxAhead = time.Hour
	// outboxLook is how often it looks how many rows the relay has moved. The relay's metrics
	// cost as much CPU as some hundred rows.
	outboxLook = 50 * time.Millisecond
)

// outbox measures jobs that are committed with an application's data: one in each
// transaction at a steady rate, then many that wait when the relay starts.
func outbox(ctx context.Context, t *trial) (err error) {
	a, err := t.newApplication(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	if err := t.outboxSteady(ctx, a); err != nil {
		return err
	}
	return t.outboxCatchUp(ctx, a)
}

// outboxSteady measures from each row to its stored job, and from each COMMIT to the job's
// request.
func (t *trial) outboxSteady(ctx context.Context, a *application) (err error) {
	relay, err := t.startRelay(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, relay.end()) }()
	n := t.Sizes.steady()
	at := spread(time.Now().Add(bareStart/2), t.Sizes.Rate)
	jobs, expected := t.plan(n, t.target.urls, at)
	t.target.expect(expected)
	service, relayed, err := t.outboxVitals(ctx, relay)
	if err != nil {
		return err
	}
	t.follow("committing rows, each at its time", n, &expected.distinct)
	if err := a.commitEach(ctx, jobs, expected); err != nil {
		return err
	}
	if err := t.await(ctx, expected, n, time.Now().Add(patience(n))); err != nil {
		return err
	}
	if _, err := t.settle(ctx, service, int(expected.distinct.Load())); err != nil {
		return err
	}
	serviceAfter, relayedAfter, err := t.outboxVitals(ctx, relay)
	if err != nil {
		return err
	}
	o := t.check("steady rows of an outbox", expected)
	t.cpu(Figure{Name: "relay_cpu", Label: "relay's CPU a row"}, relayedAfter.cpu-relayed.cpu, n)
	t.cpu(Figure{Name: "cpu", Label: "service's CPU a job", Against: "steady/cpu"}, serviceAfter.cpu-service.cpu, n)
	stored := relayedAfter.stored.since(relayed.stored)
	t.figure(Figure{Name: "stored_p50", Label: "insert to stored, p50", Unit: "ms", Value: 1000 * stored.at(.5)})
	t.figure(Figure{Name: "stored_p90", Label: "insert to stored, p90", Unit: "ms", Value: 1000 * stored.at(.9)})
	t.figure(Figure{Name: "stored_p99", Label: "insert to stored, p99", Unit: "ms", Value: 1000 * stored.at(.99), Mark: "20 ms"})
	t.lateFigures(late{label: "COMMIT to request", shown: showAll}, t.latency("outbox", o.late))
	return nil
}

// outboxCatchUp measures how fast a relay moves rows that wait for it.
func (t *trial) outboxCatchUp(ctx context.Context, a *application) (err error) {
	n := t.Sizes.ingest()
	due := time.Now().Add(outboxAhead)
	jobs, _ := t.plan(n, t.target.urls, func(int) time.Time { return due })
	done := t.step("committing rows that wait for a relay", n)
	for i := 0; i < n; i += outboxBulk {
		if _, err := a.commit(ctx, jobs[i:min(n, i+outboxBulk)], due); err != nil {
			return err
		}
		done.Store(int64(i))
	}
	before, err := t.service.api.vitals(ctx)
	if err != nil {
		return err
	}
	relay, err := t.startRelay(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, relay.end()) }()
	done = t.step("catching up", n)
	var first, last vitals
	var firstAt time.Time
	var failed error
	caughtUp, err := untilEach(ctx, outboxLook, time.Now().Add(patience(n)), func() bool {
		if last, failed = relay.api.vitals(ctx); failed != nil {
			return true
		}
		if firstAt.IsZero() && last.relayed > 0 {
			first, firstAt = last, time.Now()
		}
		done.Store(int64(last.relayed))
		return last.relayed >= float64(n)
	})
	took := time.Since(firstAt)
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if !caughtUp {
		t.problem("of %s rows %s became jobs", thousands(n), thousands(int(last.relayed)))
		return nil
	}
	after, err := t.service.api.vitals(ctx)
	t.cpu(Figure{Name: "catch_relay_cpu", Label: "catching up, relay's CPU a row"}, last.cpu, n)
	t.cpu(Figure{Name: "catch_cpu", Label: "catching up, service's CPU"}, after.cpu-before.cpu, n)
	// Without what the relay had moved when it was first seen at work; with few rows that is all.
	if moved := last.relayed - first.relayed; moved > 0 {
		t.figure(Figure{Name: "catch", Label: "catching up, rows", Unit: "/s", Value: moved / took.Seconds(), Mark: "10,000/s"})
	}
	return err
}

// outboxVitals returns those of the service and of the relay.
func (t *trial) outboxVitals(ctx context.Context, r *relay) (service, relayed vitals, err error) {
	if service, err = t.service.api.vitals(ctx); err == nil {
		relayed, err = r.api.vitals(ctx)
	}
	return service, relayed, err
}

// relay is a running punctual outbox run.
type relay struct {
	*process
	api *api
}

// startRelay starts a relay and waits until it is the active one.
func (t *trial) startRelay(ctx context.Context, a *application) (*relay, error) {
	p, line, err := startProcess(ctx, t.Program, startLimit, "outbox", "run", "--source="+a.url, "--url="+t.service.api.url,
		"--api-key="+t.service.api.key, "--listen=127.0.0.1:0", "--log-level=error")
	if err != nil {
		return nil, fmt.Errorf("the relay did not start: %w", err)
	}
	r := &relay{process: p, api: newAPI(strings.TrimPrefix(line, "listening on "), "", 1)}
	var failed error
	active, err := until(ctx, time.Now().Add(startLimit), func() bool {
		var v vitals
		v, failed = r.api.vitals(ctx)
		return failed != nil || v.active
	})
	if err = errors.Join(failed, err); err == nil && !active {
		err = fmt.Errorf("the relay was not active within %s%s", startLimit, p.errors.said())
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return r, nil
}

// end stops the relay.
func (r *relay) end() error {
	r.api.close()
	if err := r.stop(); err != nil {
		return fmt.Errorf("the relay did not stop as it should: %w", err)
	}
	return nil
}

// commitEach commits jobs, each in a transaction of its own at the time that is planned
// for it. What counts as due is when its COMMIT began.
func (a *application) commitEach(ctx context.Context, jobs []planned, expected *round) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var writers sync.WaitGroup
	for range outboxWriters {
		writers.Go(func() {
			for i := range next {
				began, err := a.commit(ctx, jobs[i:i+1], time.Time{})
				if err != nil {
					stop(err)
					return
				}
				expected.due[i] = began
			}
		})
	}
	for i := range jobs {
		if sleepUntil(ctx, jobs[i].due) != nil {
			break
		}
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	writers.Wait()
	return context.Cause(ctx)
}

// commit commits jobs in one transaction, and returns when its COMMIT began. A due time of
// zero is now.
func (a *application) commit(ctx context.Context, jobs []planned, due time.Time) (began time.Time, err error) {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return began, fmt.Errorf("beginning a transaction of the application: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	for i := range jobs {
		request := client.JobRequest{Method: http.MethodPost, URL: jobs[i].url, ScheduledAt: due,
			Body: json.RawMessage(appendBody(nil, jobs[i].number, bodyBytes))}
		if _, err := appoutbox.Enqueue(ctx, tx, request, appoutbox.In(a.dialect)); err != nil {
			return began, err
		}
	}
	began = time.Now()
	if err := tx.Commit(); err != nil {
		return began, fmt.Errorf("committing a transaction of the application: %w", err)
	}
	return began, nil
}
