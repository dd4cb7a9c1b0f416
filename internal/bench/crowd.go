package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

const (
	// fewEvery is how often the account with few jobs creates one, and fewLead
	// how long before it is due.
	fewEvery = 100 * time.Millisecond
	fewLead  = time.Second
)

// crowd measures what one account notices of another one's many jobs.
func crowd(ctx context.Context, t *trial) error {
	var many *round
	err := t.start(ctx, t.Sizes.Workers, func(ctx context.Context, s records) (err error) {
		many, err = t.fillCrowd(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	ready := time.Now()
	few, done, err := t.fireCrowd(ctx, many)
	if err != nil {
		return err
	}
	begin := schedule.Later(many.due[0], ready)
	o := t.check("the many jobs of one account", many)
	others := few.outcome(func(i int) bool {
		return i < done && !few.due[i].Before(begin) && few.due[i].Before(o.lastArrival)
	})
	t.judge("the few jobs of another account", others, false)
	if others.planned == 0 {
		return errors.New("the many jobs were done before one of the few was due; give a greater --n")
	}
	total := float64(len(o.late)+len(others.late)) / o.lastArrival.Sub(begin).Seconds()
	t.lateFigures(late{label: "other account late", p99: "250 ms"}, t.latency("crowd, the other", others.late))
	t.figure(Figure{Name: "few", Label: "jobs of the other", Value: float64(others.planned), Detail: true})
	t.figure(Figure{Name: "throughput", Label: "jobs of both accounts", Unit: "/s", Value: total, Against: "herd/throughput", Mark: "0.90"})
	return nil
}

// fillCrowd stores the many jobs, due shortly after the service will be ready.
func (t *trial) fillCrowd(ctx context.Context, s records) (*round, error) {
	account, _, err := t.newAccount(ctx, s, "many")
	if err != nil {
		return nil, err
	}
	n := t.Sizes.crowd()
	pace, err := t.fillPace(ctx, s, account.Owner, n)
	if err != nil {
		return nil, err
	}
	due := time.Now().Add(2*spare + time.Duration(1.3*float64(n)/pace*float64(time.Second)))
	jobs, many := t.plan(n, t.target.urls, func(int) time.Time { return due })
	t.target.expect(many)
	filled := t.step("putting one account's jobs into the store", n)
	return many, insert(ctx, s, func(i int) planned { return jobs[i] }, n, func(int) job.Owner { return account.Owner }, filled)
}

// fireCrowd creates few jobs, one after the other, until the many are done. It
// returns the round of the few, and how many it has created.
func (t *trial) fireCrowd(ctx context.Context, many *round) (few *round, done int, err error) {
	n := len(many.seen)
	end := schedule.Later(many.due[0], time.Now()).Add(patience(n))
	jobs, few := t.plan(int(time.Until(end)/fewEvery)+1, t.target.urls, func(int) time.Time { return end })
	t.target.expect(few)
	t.follow("waiting for both accounts' jobs", n, &many.distinct)
	creating, stop := context.WithCancel(ctx)
	defer stop()
	created, failed := make(chan int, 1), make(chan error, 1)
	go func() {
		made, err := t.createFew(creating, jobs, few)
		created <- made
		failed <- err
	}()
	err = t.await(ctx, many, n, end)
	stop()
	done = <-created
	if err = errors.Join(err, <-failed); err != nil {
		return nil, 0, err
	}
	return few, done, t.await(ctx, few, done, time.Now().Add(fewLead+patience(done)))
}

// createFew creates jobs until ctx ends, and returns how many.
func (t *trial) createFew(ctx context.Context, jobs []planned, few *round) (int, error) {
	ticker := time.NewTicker(fewEvery)
	defer ticker.Stop()
	for i := range jobs {
		select {
		case <-ctx.Done():
			return i, nil
		case <-ticker.C:
		}
		jobs[i].due = time.Now().Add(fewLead).Truncate(time.Microsecond)
		few.due[i] = jobs[i].due
		// A create that is under way is not to be broken off: nobody would know
		// whether it was stored.
		if err := t.service.api.create(context.WithoutCancel(ctx), jobs[i].appendCreate(nil)); err != nil {
			return i, fmt.Errorf("creating one of the few jobs: %w", err)
		}
	}
	return len(jobs), nil
}
