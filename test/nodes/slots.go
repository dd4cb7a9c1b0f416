package nodes

import (
	"cmp"
	"slices"
	"time"
)

// slowest is how long a run of a schedule may take far from every fault, from when it
// was due until its end is recorded.
const slowest = 10 * time.Second

// checkSchedules looks at each schedule's runs in the order of their slots.
func (c *checker) checkSchedules() {
	for _, several := range c.Several {
		c.complain("%s", several)
	}
	runs := map[string][]Job{}
	for _, job := range c.Jobs {
		if job.Schedule != nil {
			runs[*job.Schedule] = append(runs[*job.Schedule], job)
		}
	}
	for id, s := range c.Schedules {
		if len(runs[id]) == 0 {
			c.complain("schedule %s was acknowledged and has no run", id)
			continue
		}
		slices.SortFunc(runs[id], func(a, b Job) int {
			return cmp.Or(a.Job.Scheduled.Compare(b.Job.Scheduled), cmp.Compare(a.Number, b.Number))
		})
		c.checkSlots(s, runs[id])
	}
}

// checkSlots reports runs off the grid, slots that ran twice, runs that don't
// follow the previous one by the rule, and a last run that is not the last that
// was due.
func (c *checker) checkSlots(s *Schedule, runs []Job) {
	if first := runs[0].Job.Scheduled; !first.Equal(s.First) {
		c.complain("the first run of a schedule is due %s, want %s", clock(first), clock(s.First))
	}
	for i := range runs {
		if runs[i].Job.Scheduled.Sub(s.First)%s.Every != 0 {
			c.complain("job %d is due %s, which is off its schedule's grid", runs[i].Number, clock(runs[i].Job.Scheduled))
		}
		if i > 0 {
			c.checkPair(s, &runs[i-1], &runs[i])
		}
	}
	c.checkLast(s, &runs[len(runs)-1])
}

// checkLast reports a schedule that stopped before it was disabled: its last
// run is the last that was due by then, or one that a fault still delayed.
func (c *checker) checkLast(s *Schedule, last *Job) {
	if s.Disabled.IsZero() || !last.Job.Scheduled.Add(s.Every).Before(s.Disabled.Add(-time.Second)) {
		return
	}
	if final, _ := last.final(); c.disturbed(last.Job.Scheduled) && !final.Before(s.Disabled.Add(-grain)) {
		return
	}
	c.complain("the last run of a schedule was due %s, and it was not disabled before %s: %s",
		clock(last.Job.Scheduled), clock(s.Disabled), c.story(last.Number))
}

// checkPair looks at two runs in a row.
func (c *checker) checkPair(s *Schedule, before, after *Job) {
	slot, next := before.Job.Scheduled, after.Job.Scheduled
	final, ended := before.final()
	switch {
	case !ended:
		c.complain("job %d is unfinished, and job %d follows it", before.Number, after.Number)
		return
	case slot.Equal(next):
		c.complain("jobs %d and %d are for the same slot", before.Number, after.Number)
		return
	case after.Job.Inserted.Before(final.Add(-grain)):
		c.complain("job %d was stored %s before job %d was final", after.Number, final.Sub(after.Job.Inserted), before.Number)
	case after.Job.Attempted != nil && after.Job.Attempted.Before(final.Add(-grain)):
		c.complain("job %d was begun %s before job %d was final", after.Number, final.Sub(*after.Job.Attempted), before.Number)
	}
	if next.Sub(slot) == s.Every {
		return // the rule in every calm case
	}
	c.report.Skipped += int(next.Sub(slot)/s.Every) - 1
	began := slot
	if before.Job.Attempted != nil {
		began = *before.Job.Attempted
	}
	// The rule is applied some time between the end of the run and the next
	// one's storing, which a database away may draw apart.
	for _, now := range []time.Time{final, after.Job.Inserted} {
		for _, around := range []time.Duration{-grain, 0, grain} {
			if follows(s, slot, began, now.Add(around)).Equal(next) {
				c.excuse(before, after, s)
				return
			}
		}
	}
	c.complain("job %d, due %s, from %s to %s, is followed by job %d due %s: that is not the next slot",
		before.Number, clock(slot), clock(began), clock(final), after.Number, clock(next))
}

// excuse wants a fault where slots were passed over, or a run that a busy
// machine was slow to make or to record.
func (c *checker) excuse(before, after *Job, s *Schedule) {
	for slot := before.Job.Scheduled; slot.Before(after.Job.Scheduled); slot = slot.Add(s.Every) {
		if c.disturbed(slot) {
			return
		}
	}
	if final, _ := before.final(); final.Sub(before.Job.Scheduled) > slowest+c.Slack {
		c.complain("slots between %s and %s were passed over without a fault: %s",
			clock(before.Job.Scheduled), clock(after.Job.Scheduled), c.story(before.Number))
	}
}

// follows returns the slot of the run after one, written from the promise and
// not from the code: the next slot if that is ahead; else the latest past one
// that is later than the run's start; else the next ahead.
func follows(s *Schedule, slot, began, now time.Time) time.Time {
	next := slot.Add(s.Every)
	if next.After(now) {
		return next
	}
	latest := slot.Add(now.Sub(slot) / s.Every * s.Every)
	if latest.After(began) {
		return latest
	}
	return latest.Add(s.Every)
}
