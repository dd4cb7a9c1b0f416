package rehearse

import (
	"context"
	"runtime"
	"sort"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// Run rehearses a plan. Its error is that of ctx. Every few hundred microseconds it lets
// other goroutines run.
func Run(ctx context.Context, p *Plan) (*Result, error) {
	r := newRehearsal(p)
	for r.queue.len() > 0 && r.queue.first().at < r.until && r.cut == nil {
		end := r.window()
		if err := r.eachApart(ctx, end); err != nil {
			return nil, err
		}
		if err := r.runUntil(ctx, end); err != nil {
			return nil, err
		}
		r.busy.flush()
	}
	return r.result(ctx)
}

// runUntil carries out the events before a time. Its error is that of ctx.
func (r *rehearsal) runUntil(ctx context.Context, end int64) error {
	for ; r.queue.len() > 0 && r.cut == nil; r.steps++ {
		if r.steps%128 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched()
		}
		e := r.queue.first()
		if e.at >= end {
			break
		}
		r.now = time.UnixMicro(e.at).UTC()
		r.step(e)
	}
	return nil
}

// rehearsal is a rehearsal under way.
type rehearsal struct {
	*Plan
	actors  []*actor
	queue   queue
	lines   map[string]*line
	outages []Outage // in order, without overlaps
	until   int64    // To, in microseconds
	now     time.Time
	cut     *Cut
	started []undo // the runs that started now
	busy    busy
	runs    int64
	work    int64

	steps      int
	span       int64   // of windows, in minutes
	windowEnd  int64   // in microseconds
	certain    bool    // the result is not cut
	together   bool    // all events are carried out in order
	apart      bool    // those of one actor are carried out
	queueOfOne []event // a buffer
	dues       []int64 // another
}

// undo is what has to be taken back of a run that started at the moment at which a
// result is cut.
type undo struct {
	actor       *actor
	late, first bool
}

// actor is a schedule in the rehearsal.
type actor struct {
	index        int32
	version      uint32 // of its event; others are stale
	schedule     *job.Schedule
	course       *lifecycle.Course
	run          *job.Job
	attempt      *lifecycle.Attempt // under way
	began        time.Time
	out          *Outcome
	keys         []string  // of its limits
	own          time.Time // the run's own due time, if it needs limits
	limitedSince time.Time // when it began to wait for them
	line         *line     // in which it waits
	taken        bool      // its limits were granted
	counted      bool      // the run has started before

	share    float64
	seed     uint64
	duration time.Duration
	pass     int // the status of a success
	quick    bool
}

func newRehearsal(p *Plan) *rehearsal {
	if p.Runs == 0 {
		p.Runs = MaxRuns
	}
	p.From, p.To = p.From.UTC().Truncate(time.Microsecond), p.To.UTC().Truncate(time.Microsecond)
	r := &rehearsal{Plan: p, until: p.To.UnixMicro(), now: p.From, lines: map[string]*line{}, outages: merged(p.Outages)}
	outcomes := make([]Outcome, len(p.Entries))
	for i := range p.Entries {
		r.enter(&p.Entries[i], &outcomes[i], int32(i))
	}
	return r
}

// merged returns outages in order; those that overlap are one.
func merged(outages []Outage) []Outage {
	sorted := append([]Outage(nil), outages...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].At.Before(sorted[j].At) })
	var all []Outage
	for _, o := range sorted {
		if n := len(all); n > 0 && !o.At.After(all[n-1].end()) {
			all[n-1].For = schedule.Later(all[n-1].end(), o.end()).Sub(all[n-1].At)
			continue
		}
		all = append(all, o)
	}
	return all
}

// down returns the end of the outage at a time; zero if there is none.
func (r *rehearsal) down(at time.Time) time.Time {
	i := sort.Search(len(r.outages), func(i int) bool { return r.outages[i].end().After(at) })
	if i < len(r.outages) && !r.outages[i].At.After(at) {
		return r.outages[i].end()
	}
	return time.Time{}
}

// interrupted returns the end of the outage that begins after a time and before or at
// another; zero if there is none.
func (r *rehearsal) interrupted(after, upTo time.Time) time.Time {
	i := sort.Search(len(r.outages), func(i int) bool { return r.outages[i].At.After(after) })
	if i < len(r.outages) && r.outages[i].At.Before(upTo) {
		return r.outages[i].end()
	}
	return time.Time{}
}

// enter makes an entry take part.
func (r *rehearsal) enter(e *Entry, out *Outcome, index int32) {
	s := Slim(e.Schedule)
	a := &actor{index: index, schedule: s, out: out, course: lifecycle.CourseOf(s)}
	out.Key, out.Name, out.Disabled = s.Key, s.Name, !s.Live()
	if !e.New {
		out.ID = s.ID.String()
	}
	r.actors = append(r.actors, a)
	if out.Disabled || a.course == nil {
		return
	}
	a.pass = passing(a.course.Spec())
	a.keys = r.limitsOf(e.Schedule)
	if s.Key != nil {
		a.share, a.duration = r.Fail[*s.Key], r.Duration[*s.Key]
		a.seed = seedOf(*s.Key)
	}
	a.quick = len(a.keys) == 0 && !r.oneByOne && r.Final == nil && a.course.Spec().Success.Contains(a.pass)
	if e.Run == nil {
		r.over(a)
		return
	}
	run := *e.Run
	run.Args, a.run = s.Args, &run
	if !e.Started.IsZero() && !e.Started.After(r.From) { // an attempt is under way
		a.counted, a.taken = true, true
		for _, key := range a.keys {
			r.lines[key].state.Take(e.Started)
		}
		r.begin(a, e.Started)
		return
	}
	a.counted = a.run.Attempt > 0
	r.push(a, schedule.Later(a.run.DueAt, r.From))
}

// over notes that a schedule had ended before the rehearsal began.
func (r *rehearsal) over(a *actor) {
	grid := a.course.Grid()
	if at := grid.Until; !at.IsZero() {
		if last, ok := schedule.LatestIn(grid, time.Time{}, grid.Begin.Add(-1), at); ok {
			at = last
		}
		a.out.Ends = &Ends{At: at, Reason: job.EndedAt}
	}
}

// step carries out the first event.
func (r *rehearsal) step(e event) {
	if e.actor < 0 {
		r.queue.pop()
		r.wake(r.queue.lines[^e.actor])
		return
	}
	a := r.actors[e.actor]
	switch {
	case e.version != a.version:
		r.queue.pop()
	case a.attempt != nil:
		r.queue.pop()
		r.end(a)
	default:
		r.due(a)
	}
}

// due is called when the run of an actor is due, or may have expired while limits hold
// it.
func (r *rehearsal) due(a *actor) {
	if up := r.down(r.now); !up.IsZero() {
		r.queue.pop()
		r.push(a, up)
		return
	}
	if r.apart && r.sprint(a) || a.quick && r.hurry(a) {
		return
	}
	r.queue.pop()
	switch {
	case a.line != nil:
		r.expireHeld(a)
	case len(a.keys) > 0:
		r.hold(a)
	default:
		r.begin(a, r.now)
	}
}

// hurry carries out an undisturbed run as one step: it starts when it is due and is a
// success, and nothing follows but the next run. It returns false for any other.
func (r *rehearsal) hurry(a *actor) bool {
	run := a.run
	if !a.calm(r.now) || a.fails(run.ScheduledAt, 1) {
		return false
	}
	ended := r.ending(a, r.now)
	if len(r.outages) > 0 && !r.interrupted(r.now, ended).IsZero() {
		return false
	}
	due, ok := a.course.Undisturbed(run, ended)
	if !ok {
		return false
	}
	if !r.count(a) {
		return true
	}
	run.Runs++
	run.InsertedAt, run.ScheduledAt, run.DueAt = ended, due, due
	r.queue.replaceFirst(due.UnixMicro())
	return true
}

// ending returns when an attempt that starts at a time ends: always after its start.
func (r *rehearsal) ending(a *actor, began time.Time) time.Time {
	return began.Add(max(a.duration, time.Microsecond))
}

// push plans the next event of an actor.
func (r *rehearsal) push(a *actor, at time.Time) {
	a.version++
	r.queue.push(event{at: at.UnixMicro(), actor: a.index, version: a.version})
}

// count counts a run that starts now. It returns false if there are too many.
func (r *rehearsal) count(a *actor) bool {
	if r.runs >= int64(r.Runs) {
		r.cutHere(CutRuns)
		return false
	}
	if n := len(r.started); n > 0 && !r.busy.at.Equal(r.now) {
		r.started = r.started[:0]
	}
	due := a.run.ScheduledAt
	u := undo{actor: a, late: a.ready(r.now).After(schedule.Later(due, a.schedule.InsertedAt)), first: len(a.out.First) < maxFirst}
	r.runs++
	a.out.Runs++
	if u.late {
		a.out.Late++
	}
	if u.first {
		a.out.First = append(a.out.First, due)
	}
	r.started = append(r.started, u)
	r.busy.add(r.now)
	if r.Each != nil {
		r.Each(Start{int(a.index), due, r.now})
	}
	return true
}

// ready returns when the run that starts now could have started without limits.
func (a *actor) ready(now time.Time) time.Time {
	if a.own.IsZero() {
		return now
	}
	return a.limitedSince
}

// cutHere ends the result just before now. What has started now does not count.
func (r *rehearsal) cutHere(reason string) {
	r.cut = &Cut{At: r.now, Reason: reason}
	if !r.busy.at.Equal(r.now) {
		return
	}
	for _, u := range r.started {
		r.runs--
		u.actor.out.Runs--
		if u.late {
			u.actor.out.Late--
		}
		if u.first {
			u.actor.out.First = u.actor.out.First[:len(u.actor.out.First)-1]
		}
	}
	r.busy.remove(len(r.started))
}

// effort counts work that is no run. It returns false if there was too much.
func (r *rehearsal) effort() bool {
	if r.work++; r.work > workPerRun*int64(r.Runs) {
		r.cutHere(CutWork)
		return false
	}
	return true
}
