package rehearse

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// begin starts the attempt of an actor's run, or discards the run if it is too late.
func (r *rehearsal) begin(a *actor, began time.Time) {
	item := &store.QueueItem{Job: a.run, Schedule: a.schedule, Attempt: a.run.Attempt}
	item.Due = a.run.DueAt
	if !a.own.IsZero() {
		item.Due, item.OwnDue = schedule.Later(a.own, began), a.own
	}
	attempt := a.course.Begin(item, began)
	if attempt.Expired != nil {
		ended := began.Add(time.Microsecond)
		f := attempt.Expire(0, lifecycle.Span{Began: began, Ended: ended})
		if a.run.Attempt == 0 {
			a.out.Expired++
		} else {
			a.out.Failed++
		}
		if r.effort() {
			r.apply(a, f.Decide(a.snapshot(ended)))
			r.free(a)
		}
		return
	}
	switch {
	case a.counted:
		if !r.effort() {
			return
		}
	case !r.count(a):
		return
	}
	a.counted = true
	a.attempt, a.began = attempt, began
	end := r.ending(a, began)
	if up := r.interrupted(began, end); !up.IsZero() {
		end = up
	}
	r.push(a, schedule.Later(end, r.From))
}

func (a *actor) snapshot(now time.Time) *store.Snapshot {
	return &store.Snapshot{Now: now, Job: a.run, Schedule: a.schedule}
}

// end ends the attempt that is under way: as its target answers, or because the service
// went down meanwhile.
func (r *rehearsal) end(a *actor) {
	attempt := a.attempt
	a.attempt = nil
	outcome := a.outcome(attempt.Number)
	if !r.interrupted(a.began, r.ending(a, a.began)).IsZero() {
		outcome = job.Outcome{Failure: &job.Failure{Kind: job.KindInterrupted,
			Message: "the service stopped while the request was under way"}}
	}
	outcome.Duration = r.now.Sub(a.began)
	f := attempt.Finish(0, outcome, lifecycle.Span{Began: a.began, Ended: r.now, Random: r.Random})
	changes := f.Decide(a.snapshot(r.now))
	if changes.Job != nil && changes.Job.State == job.Discarded {
		a.out.Failed++
	}
	r.apply(a, changes)
	r.free(a)
}

// apply stores what a decision says.
func (r *rehearsal) apply(a *actor, c *store.Changes) {
	a.version++ // the deadline of a run that limits held is no event any more
	if c.Schedule != nil {
		a.schedule = c.Schedule
		a.course = a.course.Of(a.schedule)
	}
	a.skipped(c.Logs)
	if r.Final != nil && c.Job != nil && c.Job.State.Final() {
		r.Final(int(a.index), c.Job)
	}
	a.own = time.Time{}
	switch {
	case c.Next != nil:
		a.skipped(c.Next.Logs)
		a.run, a.counted = c.Next.Job, false
		r.push(a, a.run.DueAt)
	case c.Job != nil && !c.Job.State.Final():
		a.run = c.Job
		r.push(a, a.run.DueAt)
	case !a.schedule.Live():
		a.out.Ends = &Ends{At: a.schedule.DisabledAt, Reason: a.schedule.Ended}
	}
}

// skipped counts the points that logs say have no run.
func (a *actor) skipped(logs []job.Log) {
	for i := range logs {
		points, reason, ok := lifecycle.Skipped(&logs[i])
		if !ok {
			continue
		}
		a.out.Skipped += points.Count
		switch reason {
		case lifecycle.SkippedOverlap:
			a.out.Overlaps += points.Count
		case lifecycle.SkippedLimit:
			a.out.byLimit += points.Count
		}
	}
}

// outcome returns what the target answers to an attempt.
func (a *actor) outcome(number int) job.Outcome {
	if !a.fails(a.run.ScheduledAt, number) {
		return job.Outcome{Response: &job.Response{Status: a.pass}}
	}
	if a.course.Spec().Success.Contains(http.StatusInternalServerError) {
		return job.Outcome{Failure: &job.Failure{Kind: job.KindConnect, Message: "the rehearsed target can't be reached"}}
	}
	return job.Outcome{Response: &job.Response{Status: http.StatusInternalServerError}}
}

// passing returns a status that is a success.
func passing(spec *job.Spec) int {
	for status := http.StatusOK; status < 600; status++ {
		if spec.Success.Contains(status) && (status != http.StatusAccepted || spec.Completion.Within == 0) {
			return status
		}
	}
	return http.StatusOK
}

// fails reports whether an attempt fails.
func (a *actor) fails(due time.Time, number int) bool {
	return a.share > 0 && fails(a.seed, a.share, due.UnixMicro(), number)
}

// Fails reports whether an attempt of a run fails, numbered from 1, if a share of the
// attempts of its key does.
func Fails(key string, share float64, due time.Time, number int) bool {
	return fails(seedOf(key), share, due.UnixMicro(), number)
}

// fails is the function Fails for a due time in microseconds since 1970.
func fails(seed uint64, share float64, due int64, number int) bool {
	h := mix(seed ^ mix(uint64(due)) ^ mix(uint64(number)<<32))
	return float64(h>>11)/(1<<53) < share
}

// seedOf returns a number that depends on a key (FNV-1a).
func seedOf(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return h
}

// mix spreads the bits of a number (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
