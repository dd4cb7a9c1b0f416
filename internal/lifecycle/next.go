package lifecycle

import (
	"bytes"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// SkipReason is why points of a grid have no run of their own.
type SkipReason string

// The reasons why points have no run.
const (
	SkippedOverlap SkipReason = "overlap" // the run before was under way
	SkippedDown    SkipReason = "down"    // the run before could not start in time
	SkippedExpired SkipReason = "expired" // the run before was discarded as expired
	SkippedLimit   SkipReason = "limit"   // a limit delayed the run before
	SkippedNext    SkipReason = "next"    // the run before asked with $next for a later time
)

// skip is points without a run of their own.
type skip struct {
	schedule.Points
	reason SkipReason
}

// plan is a schedule as the decision about its next run needs it.
type plan struct {
	*job.Schedule
	spec job.Spec
	grid *schedule.Grid
}

// planOf returns the plan of a schedule; nil if it has no frequency.
func planOf(s *job.Schedule) *plan {
	if s == nil {
		return nil
	}
	grid, spec := s.Grid()
	if grid == nil {
		return nil
	}
	return &plan{s, spec, grid}
}

// of returns the plan of a schedule of which p, which may be nil, was the plan. What was
// read of the schedule is used again if it has not changed.
func (p *plan) of(s *job.Schedule) *plan {
	if p == nil || s == nil || p.ID != s.ID || !p.FirstDue.Equal(s.FirstDue) || !bytes.Equal(p.Args, s.Args) {
		return planOf(s)
	}
	return &plan{s, p.spec, p.grid}
}

// pastRun is a run that is final.
type pastRun struct {
	*job.Job
	now time.Time // when it became final
	// started is the start of the attempt that ended; zero if none was under way.
	started time.Time
	counts  bool // for max_runs: it was not cancelled
	expired bool
	held    bool // limits delayed it before it started, or ended without that
	steering
}

// successor is how a schedule continues after a run.
type successor struct {
	due     time.Time // of the next run; zero if there is none
	runs    int64     // that have counted by then
	skipped []skip    // points before the next run without a run of their own
	end     job.End   // why there is no next run
}

// missedFrom returns the time after which points count as missed if the run's
// attempt has not started: all earlier ones have a run or were accounted for.
func (p *plan) missedFrom(j *job.Job) time.Time {
	from := schedule.Later(j.ScheduledAt, p.Since)
	if p.spec.CatchUp == job.CatchUpAll {
		return schedule.Later(from, p.InsertedAt)
	}
	return schedule.Later(from, j.InsertedAt)
}

// late returns the points that a run stands for beside its own because it started
// late. With CatchUpAll, each has a run of its own.
func (p *plan) late(j *job.Job, started time.Time) schedule.Points {
	if p.spec.CatchUp == job.CatchUpAll || started.IsZero() {
		return schedule.Points{}
	}
	return p.grid.Points(p.missedFrom(j), started)
}

// after returns the run that follows a final one.
//
// It is due at the first point after the due time of the final run if that is
// still ahead. Else makeUp chooses one of the points that have passed, or the first
// one ahead.
func (p *plan) after(r pastRun) successor {
	next := successor{runs: r.Runs}
	if r.counts {
		next.runs++
	}
	if r.stop {
		next.end = job.EndedStop
		return next
	}
	if p.spec.MaxRuns > 0 && next.runs >= p.spec.MaxRuns {
		next.end = job.EndedMaxRuns
		return next
	}
	if p.spec.DisableAfter > 0 && r.State == job.Discarded && p.Failures+1 >= p.spec.DisableAfter {
		next.end = job.EndedFailures
		return next
	}
	if !r.next.IsZero() {
		return p.steered(next, r)
	}
	next.due = p.grid.Next(time.Time{}, schedule.Later(r.ScheduledAt, p.Since))
	if !next.due.IsZero() && !next.due.After(r.now) {
		next.due, next.skipped = p.makeUp(r)
	}
	if next.due.IsZero() {
		next.end = job.EndedAt
	}
	return next
}

// steered returns the run that follows at the time that the final run asked for,
// once: the run after it is on the grid again. Points before it have no run.
func (p *plan) steered(next successor, r pastRun) successor {
	covered := schedule.Later(p.missedFrom(r.Job), r.AttemptedAt)
	next.skipped = p.skips(covered, r.now, r.AttemptedAt, waitReason(r.held), passedReason(r.AttemptedAt, r.held))
	if over := p.grid.Points(schedule.Later(covered, r.now), r.next.Add(-time.Microsecond)); over.Count > 0 {
		next.skipped = append(next.skipped, skip{over, SkippedNext})
	}
	if !p.spec.EndsAt.IsZero() && r.next.After(p.spec.EndsAt) {
		next.end = job.EndedAt
		return next
	}
	next.due = r.next
	return next
}

// makeUp returns the due time of the next run if points have passed since the due
// time of the final run, and the points that are skipped:
//
//   - with CatchUpAll the oldest missed point, of the latest CatchUpMost;
//   - after an attempt the latest point that has passed since it started;
//   - after an expired run the latest point, if a run for it has not expired too and
//     CatchUp is not CatchUpNone;
//   - else, or if there is no such point, the first point ahead.
func (p *plan) makeUp(r pastRun) (time.Time, []skip) {
	covered := schedule.Later(p.missedFrom(r.Job), r.AttemptedAt) // earlier points belong to the final run
	waited, reason := waitReason(r.held), passedReason(r.AttemptedAt, r.held)
	started := r.AttemptedAt
	var due time.Time
	switch {
	case p.spec.CatchUp == job.CatchUpAll:
		covered = p.missedFrom(r.Job)
		started = p.waitedUntil(r.Job, started)
		due = p.grid.Latest(job.CatchUpMost, covered, r.now).From
	case r.expired:
		if reason = SkippedExpired; r.held && r.AttemptedAt.IsZero() {
			reason = SkippedLimit
		}
		if last, ok := schedule.LatestIn(p.grid, time.Time{}, covered, r.now); ok && p.spec.CatchUp == job.CatchUpOne &&
			!p.expired(last, r.now) {
			due = last
		}
	case !r.started.IsZero():
		due, _ = schedule.LatestIn(p.grid, time.Time{}, covered, r.now)
	}
	if due.IsZero() {
		return p.grid.Next(time.Time{}, r.now), p.skips(covered, r.now, started, waited, reason)
	}
	return due, p.skips(covered, due.Add(-time.Microsecond), started, waited, reason)
}

// waitedUntil returns the time until which points passed because a run that started
// waited: its start, or zero if it did not wait. Earlier points passed while the run
// before it was under way then; see CatchUpAll in missedFrom.
func (p *plan) waitedUntil(j *job.Job, started time.Time) time.Time {
	if p.grid.Points(schedule.Later(p.missedFrom(j), j.InsertedAt), started).Count == 0 {
		return time.Time{}
	}
	return started
}

// skips returns the points in (after, upTo], divided at the start of the attempt:
// waited is why those before it passed, reason why the others did.
func (p *plan) skips(after, upTo, started time.Time, waited, reason SkipReason) []skip {
	var all []skip
	add := func(after, upTo time.Time, reason SkipReason) {
		if points := p.grid.Points(after, upTo); points.Count > 0 {
			all = append(all, skip{points, reason})
		}
	}
	if started.After(after) {
		late := started
		if late.After(upTo) {
			late = upTo
		}
		add(after, late, waited)
		after = late
	}
	add(after, upTo, reason)
	return all
}

// expired reports whether a run with this due time may no longer start.
func (p *plan) expired(due, now time.Time) bool {
	return p.spec.ExpiresIn != nil && now.After(due.Add(*p.spec.ExpiresIn))
}

// log returns the log of skipped points, in a run's name.
func (s skip) log(j *job.Job, at time.Time) job.Log {
	b := append([]byte(`{"count":`), strconv.FormatInt(s.Count, 10)...)
	b = append(append(b, `,"from":"`...), job.FormatTime(s.From)...)
	b = append(append(b, `","to":"`...), job.FormatTime(s.To)...)
	b = rawjson.AppendText(append(b, `","reason":`...), string(s.reason))
	return newLog(j.Owner, j.Number, job.EventSkipped, at, append(b, '}'))
}

// follow adds to c what a final run means for its schedule: its next run, or the
// schedule's end, and the logs of points without a run of their own.
func follow(c *store.Changes, s *job.Schedule, r pastRun) { planOf(s).follow(c, r) }

// follow is the function follow for a schedule that was read; p may be nil.
func (p *plan) follow(c *store.Changes, r pastRun) {
	if p == nil {
		return
	}
	s := p.Schedule
	if late := p.late(r.Job, r.AttemptedAt); late.Count > 0 {
		c.Logs = append(c.Logs, skip{late, waitReason(r.held)}.log(r.Job, r.now.Add(time.Microsecond)))
	}
	if !s.Live() {
		if r.counts {
			changedSchedule(c, s).Runs = r.Runs + 1
		}
		return
	}
	next := p.after(r)
	if next.end != "" {
		for _, skipped := range next.skipped { // there is no other run for their log
			c.Logs = append(c.Logs, skipped.log(r.Job, r.now.Add(time.Microsecond)))
		}
		endSchedule(c, s, r.Job, next.end, next.runs, r.now)
		return
	}
	c.Next = nextJob(s, &p.spec, next.due, r.now)
	c.Next.Job.Runs, c.Next.Job.KeyRequest = next.runs, r.KeyRequest
	if !r.next.IsZero() {
		c.Next.Job.DueAt = schedule.Later(c.Next.Job.DueAt, r.AttemptedAt.Add(nextDistance))
	}
	for _, skipped := range next.skipped {
		c.Next.Job.Skipped += skipped.Count
		c.Next.Logs = append(c.Next.Logs, skipped.log(c.Next.Job, r.now))
	}
}

// changedSchedule returns the schedule's values in c, which it adds if there are
// none.
func changedSchedule(c *store.Changes, s *job.Schedule) *job.Schedule {
	if c.Schedule == nil {
		changed := *s
		c.Schedule = &changed
	}
	return c.Schedule
}

// endSchedule disables a schedule after its last run, j.
func endSchedule(c *store.Changes, s *job.Schedule, j *job.Job, why job.End, runs int64, at time.Time) {
	changed := changedSchedule(c, s)
	changed.HiddenPrevious = ""
	changed.DisabledAt, changed.Previous, changed.Ended, changed.Runs = at, nil, why, runs
	changed.Epoch++
	payload := append(rawjson.AppendText([]byte(`{"reason":`), string(why)), '}')
	c.Logs = append(c.Logs, newLog(j.Owner, j.Number, job.EventEnded, at.Add(2*time.Microsecond), payload))
}

func nextJob(s *job.Schedule, spec *job.Spec, due, now time.Time) *store.NewJob {
	return &store.NewJob{Lane: job.Lane(spec.URL), Job: &job.Job{
		ID: job.NewID(now), Owner: s.Owner, ScheduleID: s.ID, Key: s.Key, Name: s.Name, Description: s.Description,
		InsertedAt: now, ScheduledAt: due, State: job.Available, DueAt: schedule.Later(due, now), Hops: s.Hops, Runs: s.Runs, Args: s.Args,
		Hidden: s.Hidden,
	}}
}

// settle returns the logs of the points before now that a schedule's unfinished run
// has not accounted for, when the schedule is disabled or gets another grid. It sets
// Since in changed, so that no later decision counts them again.
func settle(m *store.Snapshot, changed *job.Schedule) []job.Log {
	until := m.Now.Add(-time.Microsecond)
	changed.Since = until
	p := planOf(m.Schedule)
	if p == nil || m.Job == nil {
		return nil
	}
	started := m.Job.AttemptedAt
	if m.Claim != nil {
		started = schedule.Later(started, m.Claim.StartAt)
	}
	held := heldBack(m.Job, m.Now)
	reason := passedReason(started, held)
	if !started.After(m.Now) {
		started = p.waitedUntil(m.Job, started)
	}
	var logs []job.Log
	for _, skipped := range p.skips(p.missedFrom(m.Job), until, started, waitReason(held), reason) {
		logs = append(logs, skipped.log(m.Job, m.Now))
	}
	return logs
}

// passedReason returns why points have passed since a run's attempt started, if
// it did. held reports that limits held the run back.
func passedReason(started time.Time, held bool) SkipReason {
	if started.IsZero() {
		return waitReason(held)
	}
	return SkippedOverlap
}

// waitReason returns why points have passed before a run's attempt started.
func waitReason(held bool) SkipReason {
	if held {
		return SkippedLimit
	}
	return SkippedDown
}

// heldBack reports whether limits hold a job back that is due.
func heldBack(j *job.Job, now time.Time) bool {
	own, held := store.OwnDue(j.DueAt)
	return held && !own.After(now)
}
