package lifecycle

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Course is a schedule that was read once, so that many of its runs can be rehearsed.
// What happens to them is decided as for real runs: an attempt of [Course.Begin] is
// finished with the decisions of [Attempt.Finish] and [Attempt.Expire].
type Course struct{ plan *plan }

// CourseOf returns the course of a schedule, for the use of one goroutine; nil if it has
// no frequency.
func CourseOf(s *job.Schedule) *Course {
	p := planOf(s)
	if p == nil {
		return nil
	}
	p.grid = p.grid.Private()
	return &Course{p}
}

// Of returns the course of the schedule after a change.
func (c *Course) Of(s *job.Schedule) *Course { return &Course{c.plan.of(s)} }

// Grid returns the schedule's due times. The caller must not change it.
func (c *Course) Grid() *schedule.Grid { return c.plan.grid }

// Spec returns the schedule's args. The caller must not change it.
func (c *Course) Spec() *job.Spec { return &c.plan.spec }

// Begin is the function Begin for an attempt whose request is never sent, so it is not
// rendered. item is that of a run of the course's schedule.
func (c *Course) Begin(item *store.QueueItem, now time.Time) *Attempt {
	a := &Attempt{
		Item: item, Number: item.Attempt + 1, StartAt: schedule.Later(item.Due, now), held: item.HeldBack(),
		Spec: c.plan.spec, Outgoing: job.Unrendered(&c.plan.spec), plan: c.plan,
	}
	a.deadline = itemDeadline(item, &a.Spec, a.plan)
	a.StartsAt(a.StartAt)
	return a
}

// Deadline returns until when an attempt of an item may start; zero for no bound.
func (c *Course) Deadline(item *store.QueueItem) time.Time {
	return itemDeadline(item, &c.plan.spec, c.plan).at
}

// Undisturbed returns when the next run is due after a run that started when it was
// due, ended at a time and was a success. ok is false if more follows from it than
// that: points without a run, a late run, or the end of the schedule.
//
// It is what plan.after decides about such a run, without the rest: a rehearsal calls it
// for each of a million runs.
func (c *Course) Undisturbed(run *job.Job, ended time.Time) (due time.Time, ok bool) {
	p := c.plan
	if p.spec.MaxRuns > 0 && run.Runs+1 >= p.spec.MaxRuns {
		return time.Time{}, false
	}
	due = p.grid.Next(time.Time{}, schedule.Later(run.ScheduledAt, p.Since))
	return due, due.After(ended)
}

// AppendUndisturbed appends when the runs after a run are due, in order and in microseconds
// since 1970, as far as the capacity of due reaches: those before a time that follow runs
// which start when they are due, take a time, are successes, and which [Course.Undisturbed]
// is true of.
func (c *Course) AppendUndisturbed(due []int64, run *job.Job, took time.Duration, before time.Time) []int64 {
	p := c.plan
	if p.spec.MaxRuns > 0 {
		most := max(p.spec.MaxRuns-1-run.Runs, 0)
		due = due[:len(due):min(int64(cap(due)), int64(len(due))+most)]
	}
	old, last := len(due), run.ScheduledAt.UnixMicro()
	due = p.grid.AppendDue(due, schedule.Later(run.ScheduledAt, p.Since), before)
	for i, next := range due[old:] {
		if next-last <= took.Microseconds() {
			return due[:old+i]
		}
		last = next
	}
	return due
}

// NextRun returns the run of a schedule that is due at a time and created at another.
func NextRun(s *job.Schedule, due, now time.Time) *job.Job {
	spec := job.ReadSpec(s.Args)
	return nextJob(s, &spec, due, now).Job
}

// Skipped returns the points that a log says have no run of their own, and why; false
// if it is another log.
func Skipped(log *job.Log) (schedule.Points, SkipReason, bool) {
	points, ok := readSkip(log)
	return points, SkipReason(skipReason(log)), ok
}
