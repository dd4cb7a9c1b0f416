package rehearse

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// line is the line of a limit.
type line struct {
	index  int32 // in queue.lines
	key    string
	state  *limit.State
	actors []*actor // in order of their own due times
	wakeAt int64    // of its event; 0 for none
	// blocked is set if it waits for the end of an attempt.
	blocked bool
}

// maxPlanned is how many waiting runs one pass of a line considers.
const maxPlanned = 256

// limitsOf returns the keys of the limits that the runs of a schedule need, of those that
// there are.
func (r *rehearsal) limitsOf(s *job.Schedule) []string {
	keys, _ := store.LimitsNeeded(&job.Job{Args: s.Args})
	var needed []string
	for _, key := range keys {
		l, ok := r.Limits[key]
		if !ok {
			continue
		}
		needed = append(needed, key)
		if r.lines[key] == nil {
			r.lines[key] = &line{index: int32(len(r.queue.lines)), key: key, state: &limit.State{Limit: l}}
			r.queue.lines = append(r.queue.lines, r.lines[key])
		}
	}
	return needed
}

// hold makes an actor's run, which is due, wait for its limits.
func (r *rehearsal) hold(a *actor) {
	a.own, a.limitedSince = a.run.DueAt, r.now
	l := r.lines[a.keys[0]]
	r.join(a, l)
	item := &store.QueueItem{Job: a.run, Schedule: a.schedule, OwnDue: a.own}
	if deadline := a.course.Deadline(item); !deadline.IsZero() {
		r.push(a, schedule.Later(r.now, deadline).Add(time.Microsecond))
	} else {
		a.version++
	}
	r.pass(l)
}

func (r *rehearsal) join(a *actor, l *line) {
	i, _ := slices.BinarySearchFunc(l.actors, a, func(have, a *actor) int {
		if have.own.Before(a.own) || have.own.Equal(a.own) && have.index < a.index {
			return -1
		}
		return 1
	})
	l.actors = slices.Insert(l.actors, i, a)
	a.line = l
}

func (r *rehearsal) leave(a *actor) {
	if i := slices.Index(a.line.actors, a); i >= 0 {
		a.line.actors = slices.Delete(a.line.actors, i, i+1)
	}
	a.line = nil
}

// expireHeld discards a run that its limits hold and that may not start any more.
func (r *rehearsal) expireHeld(a *actor) {
	r.leave(a)
	r.held(a)
	r.begin(a, r.now)
}

// held counts an attempt that limits have held back until now.
func (r *rehearsal) held(a *actor) {
	if waited := r.now.Sub(a.limitedSince); waited > 0 {
		a.out.Limited.Count++
		a.out.Limited.Longest = max(a.out.Limited.Longest, waited)
	}
}

// pass grants starts to the first runs of a line.
func (r *rehearsal) pass(l *line) {
	for r.cut == nil {
		n := min(len(l.actors), maxPlanned)
		waiting := slices.Clone(l.actors[:n])
		items := make([]limit.Item, n)
		for i, a := range waiting {
			items[i] = limit.Item{Due: a.own, Keys: a.keys}
		}
		states := map[string]*limit.State{l.key: l.state}
		for _, key := range store.KeysOf(l.key, items) {
			states[key] = r.lines[key].state
		}
		decisions, next, blocked := limit.Plan(l.key, items, states, limit.Window{Now: r.now})
		var moved []*line
		for i, d := range decisions {
			a := waiting[i]
			r.leave(a)
			if d.Grant {
				r.held(a)
				a.taken = true
				r.begin(a, r.now)
				continue
			}
			r.join(a, r.lines[d.MoveTo])
			if !slices.Contains(moved, r.lines[d.MoveTo]) {
				moved = append(moved, r.lines[d.MoveTo])
			}
		}
		for _, s := range states {
			s.Starts.Compact(r.now, s.Per)
		}
		for _, other := range moved {
			r.pass(other)
		}
		l.blocked = blocked
		if !next.IsZero() {
			r.wakeAt(l, next)
		}
		if len(decisions) < maxPlanned {
			return
		}
	}
}

// wakeAt plans the next pass of a line.
func (r *rehearsal) wakeAt(l *line, at time.Time) {
	if up := r.down(at); !up.IsZero() {
		at = up
	}
	if micros := at.UnixMicro(); l.wakeAt == 0 || micros < l.wakeAt {
		l.wakeAt = micros
		r.queue.push(event{at: micros, actor: ^l.index})
	}
}

func (r *rehearsal) wake(l *line) {
	if l.wakeAt != r.now.UnixMicro() {
		return // an earlier pass took its place
	}
	l.wakeAt = 0
	if up := r.down(r.now); !up.IsZero() {
		r.wakeAt(l, up)
		return
	}
	r.pass(l)
}

// free ends what an actor's attempt has of its limits.
func (r *rehearsal) free(a *actor) {
	if !a.taken {
		return
	}
	a.taken = false
	for _, key := range a.keys {
		l := r.lines[key]
		l.state.InFlight--
		if len(l.actors) > 0 {
			r.wakeAt(l, r.now)
		}
	}
}
