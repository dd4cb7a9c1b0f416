package rehearse

import (
	"context"
	"sort"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// A rehearsal goes on in windows of time. Schedules without limits have nothing to do with
// one another, so within a window each of them is carried out apart from the others, which
// needs no queue, and most of its runs at once (sprint). Where the result may be cut, which
// needs the order of all runs, and where the caller wants to be told of them in order, all
// schedules are carried out together.

const (
	// maxWindow and minWindow are in minutes. maxWindow bounds the memory of busy.
	maxWindow = 1 << 16
	minWindow = 1 << 6
	// sprintRuns bounds the runs of one step.
	sprintRuns = 512
)

// window begins the window of the first event and returns its end.
func (r *rehearsal) window() int64 {
	begin := schedule.FloorDiv(r.queue.first().at, schedule.MicrosPerMinute)
	end := func() int64 { return min(r.until, (begin+r.span)*schedule.MicrosPerMinute) }
	if r.span == 0 {
		r.span = maxWindow
		r.together = r.oneByOne || r.Each != nil
		r.certain = !r.together && r.fits(r.until)
		r.busy.counts = make([]int32, min(maxWindow, schedule.FloorDiv(r.until-1, schedule.MicrosPerMinute)-begin+1))
		r.dues = make([]int64, sprintRuns)
	}
	for !r.together && !r.certain && !r.fits(end()) {
		if r.span /= 4; r.span < minWindow {
			r.together, r.span = true, maxWindow
		}
	}
	r.busy.begin, r.windowEnd = begin, end()
	r.busy.counts = r.busy.counts[:min(int64(cap(r.busy.counts)), r.span)]
	return r.windowEnd
}

// fits reports whether the result is certainly not cut before a time. Each run has a point
// of its own, later than that of the run before.
func (r *rehearsal) fits(end int64) bool {
	runs, work := r.runs, r.work
	last := time.UnixMicro(end - 1)
	for _, a := range r.actors {
		if a.run == nil || !a.schedule.Live() {
			continue
		}
		most, attempts := 1+a.course.Grid().Count(a.run.ScheduledAt, last), int64(2)
		if spec := a.course.Spec(); a.share > 0 || spec.Completion.Within > 0 {
			if spec.Dialect != nil {
				return false // it retries for a time, however often
			}
			attempts += int64(spec.Retries)
		}
		runs, work = runs+most, work+most*attempts+2*int64(len(r.outages))
		if runs > int64(r.Runs) || work > workPerRun*int64(r.Runs) {
			return false
		}
	}
	return true
}

// eachApart carries out the events before a time of the actors without limits, one actor
// after the other, if it may. Its error is that of ctx.
func (r *rehearsal) eachApart(ctx context.Context, end int64) error {
	if r.together {
		return nil
	}
	all := r.queue
	kept := queue{lines: all.lines}
	r.apart = true
	for _, e := range all.events {
		if e.actor < 0 || !r.actors[e.actor].quick || e.at >= end {
			kept.push(e)
			continue
		}
		r.queue = queue{events: append(r.queueOfOne[:0], e), lines: all.lines}
		if err := r.runUntil(ctx, end); err != nil {
			return err
		}
		for _, e := range r.queue.events {
			kept.push(e)
		}
		r.queueOfOne = r.queue.events
	}
	r.queue, r.apart = kept, false
	return nil
}

// sprint carries out the undisturbed runs of an actor that is apart, as hurry does one by
// one, up to the next that may be disturbed. It returns false if that is the first.
func (r *rehearsal) sprint(a *actor) bool {
	if !a.calm(r.now) {
		return false
	}
	run, now := a.run, r.now.UnixMicro()
	took, before := r.ending(a, r.now).Sub(r.now), r.windowEnd
	if i := sort.Search(len(r.outages), func(i int) bool { return r.outages[i].At.After(r.now) }); i < len(r.outages) {
		before = min(before, r.outages[i].At.Add(-took).UnixMicro()+1) // later ones are interrupted
	}
	if now >= before {
		return false
	}
	begin, last, prev, n := r.busy.begin*schedule.MicrosPerMinute, now, now, int64(0)
	for _, next := range a.course.AppendUndisturbed(r.dues[:0], run, took, time.UnixMicro(before)) {
		if a.share > 0 && fails(a.seed, a.share, last, 1) {
			break
		}
		r.busy.counts[(last-begin)/schedule.MicrosPerMinute]++
		if len(a.out.First) < maxFirst {
			a.out.First = append(a.out.First, time.UnixMicro(last).UTC())
		}
		prev, last = last, next
		n++
	}
	if n == 0 {
		return false
	}
	r.runs, a.out.Runs, run.Runs = r.runs+n, a.out.Runs+n, run.Runs+n
	run.InsertedAt = r.ending(a, time.UnixMicro(prev).UTC())
	run.ScheduledAt = time.UnixMicro(last).UTC()
	run.DueAt = run.ScheduledAt
	r.queue.replaceFirst(last)
	return true
}

// calm reports whether the run of an actor starts at a time as the first attempt of a run
// that nothing has delayed.
func (a *actor) calm(now time.Time) bool {
	run := a.run
	return run.Attempt == 0 && run.State == job.Available && a.schedule.Failures == 0 && run.ScheduledAt.Equal(now) &&
		!run.DueAt.After(now) && run.Skipped == 0
}
