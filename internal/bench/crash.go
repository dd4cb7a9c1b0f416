package bench

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

const (
	// crashFlight is how many requests are to be under way when the service is
	// killed, and crashFewest how many must be.
	crashFlight = 20
	crashFewest = 10
	// crashWait is how long that is waited for.
	crashWait = 3 * time.Second
)

// crashed is what happened when.
type crashed struct{ killed, restarted, ready time.Time }

// crash kills the service with requests under way, starts it again and sees
// when they are retried and when later jobs fire.
func crash(ctx context.Context, t *trial) error {
	if err := t.start(ctx, t.Sizes.Workers); err != nil {
		return err
	}
	if err := t.learnPace(ctx); err != nil {
		return err
	}
	n := t.Sizes.crash()
	begin := time.Now().Add(spare + time.Duration(1.3*float64(n)/t.pace*float64(time.Second)))
	jobs, expected := t.plan(n, t.target.urls, spread(begin, t.Sizes.Rate))
	// Answers are held back for as long as it takes that many to be under way.
	expected.hold = min(time.Second, time.Duration(crashFlight/t.Sizes.Rate*float64(time.Second)))
	t.target.expect(expected)
	if _, err := t.create(ctx, "creating jobs", jobs, t.Sizes.Clients); err != nil {
		return err
	}
	c, err := t.killAndRestart(ctx, expected)
	if err != nil {
		return err
	}
	t.follow("waiting for all jobs", n, &expected.distinct)
	end := schedule.Later(expected.due[n-1], c.ready).Add(patience(n))
	if err := t.await(ctx, expected, n, end); err != nil {
		return err
	}
	if _, err := until(ctx, end, func() bool { return expected.cutOff(true) == 0 }); err != nil {
		return err
	}
	t.judge("jobs around a crash", expected.outcome(nil), true)
	t.reportCrash(expected, c)
	return nil
}

// killAndRestart kills the service in the middle of a round.
func (t *trial) killAndRestart(ctx context.Context, r *round) (c crashed, err error) {
	middle := r.due[len(r.due)/2]
	t.follow("waiting to kill the service", len(r.seen), &r.distinct)
	if err := sleepUntil(ctx, middle); err != nil {
		return c, err
	}
	if _, err := until(ctx, middle.Add(crashWait), func() bool { return r.underWay() >= crashFewest }); err != nil {
		return c, err
	}
	key := t.service.api.key
	t.service.kill()
	t.service.api.close()
	c.killed = time.Now()
	t.service = nil
	t.follow("starting the service again", len(r.seen), &r.distinct)
	c.restarted = time.Now()
	t.service, err = t.startService(ctx, t.database, key, t.Sizes.Workers)
	c.ready = time.Now()
	return c, err
}

// underWay counts the requests without a response so far.
func (r *round) underWay() (n int) {
	for i := range r.seen {
		a := &r.seen[i]
		if a.times.Load() > 0 && !a.answered.Load() && !a.broken.Load() {
			n++
		}
	}
	return n
}

// cutOff counts the requests whose connection was cut before their answer; only
// those that were not retried, if asked for.
func (r *round) cutOff(notAgain bool) (n int) {
	for i := range r.seen {
		if a := &r.seen[i]; a.broken.Load() && !(notAgain && a.again.Load() > 0) {
			n++
		}
	}
	return n
}

func (t *trial) reportCrash(r *round, c crashed) {
	var again, down, after []float64
	answeredAgain, resumed := 0, time.Time{}
	arrived := func(at time.Time) {
		if at.After(c.restarted) && (resumed.IsZero() || at.Before(resumed)) {
			resumed = at
		}
	}
	for i := range r.seen {
		a := &r.seen[i]
		if a.again.Load() > 0 {
			at := time.Unix(0, a.again.Load())
			arrived(at)
			if a.broken.Load() {
				again = append(again, at.Sub(c.restarted).Seconds())
			} else {
				answeredAgain++
			}
		}
		if a.times.Load() == 0 || r.due[i].Before(c.killed) {
			continue
		}
		arrived(a.time())
		late := float64(a.time().Sub(r.due[i])) / float64(time.Millisecond)
		if r.due[i].Before(c.ready) {
			down = append(down, late)
		} else {
			after = append(after, late)
		}
	}
	cut := r.cutOff(false)
	if lost := r.cutOff(true); lost > 0 {
		t.problem("of %d requests that the crash cut off, %d were not made again", cut, lost)
	}
	t.figure(Figure{Name: "cut", Label: "requests cut off", Value: float64(cut)})
	made := newCurve("made again", again)
	t.figure(Figure{Name: "again_p50", Label: "made again after restart, p50", Unit: "s", Value: made.at(0.5)})
	t.figure(Figure{Name: "again_max", Label: "made again after restart, last", Unit: "s", Value: made.at(1), Mark: t.mark("1 s", "20 s")})
	t.figure(Figure{Name: "answered_again", Label: "made again though answered", Value: float64(answeredAgain)})
	if !resumed.IsZero() {
		t.figure(Figure{Name: "resumed", Label: "first request after restart", Unit: "s", Value: resumed.Sub(c.restarted).Seconds()})
	}
	t.figure(Figure{Name: "ready", Label: "ready after its restart", Unit: "s", Value: c.ready.Sub(c.restarted).Seconds()})
	missed := newCurve("due while down", down)
	t.figure(Figure{Name: "down_max", Label: "due meanwhile, latest", Unit: "ms", Value: missed.at(1)})
	t.lateFigures(late{prefix: "after_", label: "due afterwards, late"}, t.latency("crash, afterwards", after))
}
