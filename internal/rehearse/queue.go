package rehearse

import (
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/schedule"
)

// event is when something happens to an actor or, if actor is negative, to the line with
// the index ^actor.
type event struct {
	at      int64 // microseconds since 1970
	actor   int32
	version uint32
}

func (e event) before(f event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.actor < f.actor
}

// queue is a heap of events, the earliest first; those at one time are in the order of
// their actors.
type queue struct {
	events []event
	lines  []*line
}

func (q *queue) len() int     { return len(q.events) }
func (q *queue) first() event { return q.events[0] }

func (q *queue) push(e event) {
	q.events = append(q.events, e)
	i := len(q.events) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q.events[parent]) {
			break
		}
		q.events[i] = q.events[parent]
		i = parent
	}
	q.events[i] = e
}

func (q *queue) pop() {
	n := len(q.events) - 1
	last := q.events[n]
	q.events = q.events[:n]
	if n > 0 {
		q.down(last)
	}
}

// replaceFirst moves the first event to a later time.
func (q *queue) replaceFirst(at int64) {
	e := q.events[0]
	e.at = at
	q.down(e)
}

// down puts an event in the place of the first one. Nearly always it belongs near the end,
// so it takes the way of the earliest events there and comes back from below, which needs
// fewer comparisons.
func (q *queue) down(e event) {
	events := q.events
	i, n := 0, len(events)
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for k := child + 1; k < min(child+4, n); k++ {
			if events[k].before(events[least]) {
				least = k
			}
		}
		events[i] = events[least]
		i = least
	}
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(events[parent]) {
			break
		}
		events[i] = events[parent]
		i = parent
	}
	events[i] = e
}

// busy counts the runs that start in each minute of a window of time, and finds the
// minutes of all windows in which most start.
type busy struct {
	at     time.Time // of the latest run
	begin  int64     // of the window, in minutes since 1970
	counts []int32   // for each minute of the window; they take the bulk of a rehearsal's memory
	top    []Minute
}

func (b *busy) add(at time.Time) {
	b.at = at
	b.counts[schedule.FloorDiv(at.Unix(), 60)-b.begin]++
}

// remove takes back the latest runs, which started in one minute.
func (b *busy) remove(n int) { b.counts[schedule.FloorDiv(b.at.Unix(), 60)-b.begin] -= int32(n) }

// flush considers the minutes of the window, which is over.
func (b *busy) flush() {
	for i, n := range b.counts {
		least := int64(0)
		if len(b.top) == maxBusiest {
			least = b.top[maxBusiest-1].Runs
		}
		if int64(n) > least {
			b.insert(Minute{time.Unix((b.begin+int64(i))*60, 0).UTC(), int64(n)})
		}
	}
	clear(b.counts)
}

// insert puts a minute behind those that have as many runs or more.
func (b *busy) insert(m Minute) {
	i, _ := slices.BinarySearchFunc(b.top, m, func(have, m Minute) int {
		if have.Runs >= m.Runs {
			return -1
		}
		return 1
	})
	b.top = slices.Insert(b.top, i, m)
	b.top = b.top[:min(len(b.top), maxBusiest)]
}
