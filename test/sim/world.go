package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// world is one run of a plan.
type world struct {
	plan   *plan
	sched  *scheduler
	db     *database
	start  time.Time
	check  *checker
	ambush []*action // that wait for the call that they meet
	steps  int
	trace  uint64 // a hash of all turns, in order

	chances sync.Mutex
	random  *rand.Rand

	nodes  []*node // by position; the process that runs now
	all    []*node // also those that have ended
	actors sync.WaitGroup
	ctx    context.Context

	mu      sync.Mutex
	created map[int]*record // by action
	hits    map[string]int  // by URL, how many requests
	byID    map[int]*action
}

// record is what the client of an action knows of what it has created.
type record struct {
	job      job.Ref
	schedule *job.Job // the first run, if it recurs
}

// result is what a run of a plan has shown.
type result struct {
	broken *violation // nil if every promise was kept
	steps  int
	trace  uint64
	story  []string
	counts map[string]int
}

// settle is how long a run goes on after its plan, with no faults: everything that
// is due by then ends. Nothing has failed in its last part, so that what was due
// before is over.
const (
	settle = 45 * time.Second
	calm   = 22 * time.Second
	// longest is how long a fault lasts, and what clients repeat.
	longest = 26 * time.Second
)

// epoch is when runs begin. A bubble begins in 2000, when the due times of held
// items were not yet in the distant future that tells them from others.
var epoch = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// run carries out a plan in a bubble of virtual time.
func run(t *testing.T, p *plan, dir string, file []byte) (r *result) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(epoch))
		w := &world{
			plan: p, sched: newScheduler(p.seed), start: time.Now(), random: rand.New(rand.NewPCG(p.seed, 3)),
			created: map[int]*record{}, hits: map[string]int{}, byID: map[int]*action{},
		}
		var cancel context.CancelFunc
		w.ctx, cancel = context.WithCancel(context.Background())
		var err error
		if w.db, err = openDatabase(dir, file, accounts); err != nil {
			t.Fatal(err)
		}
		for _, a := range p.actions {
			w.byID[a.id] = a
		}
		w.check = newChecker(w)
		for i := range p.nodes {
			w.nodes = append(w.nodes, nil)
			w.boot(i)
		}
		w.loop()
		cancel()
		for _, n := range w.all {
			w.sched.kill(n)
			n.cancel()
		}
		for _, n := range w.all {
			<-n.done
		}
		w.sched.end()
		w.actors.Wait()
		if err := w.db.close(); err != nil {
			t.Fatal(err)
		}
		r = &result{broken: w.check.broken, steps: w.steps, trace: w.trace, story: w.check.story, counts: w.check.counts}
	})
	return r
}

// chance returns a number from 0 to 1.
func (w *world) chance() float64 {
	w.chances.Lock()
	defer w.chances.Unlock()
	return w.random.Float64()
}

// since returns the time since the start of the run.
func (w *world) since() time.Duration { return time.Since(w.start) }

// boot starts a process of a node.
func (w *world) boot(i int) {
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{world: w, name: fmt.Sprintf("node %d", i), cancel: cancel, done: make(chan struct{}), reads: map[context.Context]int{}}
	w.nodes[i] = n
	w.all = append(w.all, n)
	w.check.note("%s starts", n.name)
	go n.run(ctx)
}

// loop lets calls take their turns and begins the planned actions, until all is
// over or a promise is broken.
func (w *world) loop() {
	next := 0
	revive := map[int]time.Time{}
	for w.check.broken == nil {
		if c := w.sched.next(); c != nil {
			w.turn(c)
			w.check.step()
			continue
		}
		wake := w.plan.length + settle
		if next < len(w.plan.actions) {
			if a := w.plan.actions[next]; a.at <= w.since() {
				next++
				w.begin(a, revive)
				continue
			} else {
				wake = a.at
			}
		}
		wake = min(wake, w.reboot(revive))
		if w.since() >= w.plan.length+settle || w.since() >= w.plan.length+longest && w.check.settled() {
			break
		}
		w.sched.idle(w.ctx, wake-w.since())
	}
	if w.check.broken == nil {
		w.check.end()
	}
}

// reboot starts the nodes again whose time has come, and returns when the next one
// does.
func (w *world) reboot(revive map[int]time.Time) time.Duration {
	wake := w.plan.length + settle
	for i, n := range w.nodes {
		if !n.ended() {
			continue
		}
		at, planned := revive[i]
		if !planned {
			at = time.Now().Add(time.Second) // it failed to start
			revive[i] = at
		}
		if at.After(time.Now()) {
			wake = min(wake, at.Sub(w.start))
			continue
		}
		delete(revive, i)
		w.boot(i)
		wake = w.since()
	}
	return wake
}

// ended reports whether a process is over. What is left of a crashed one has no
// effect.
func (n *node) ended() bool {
	select {
	case <-n.done:
		return true
	default:
		return n.crashed
	}
}

// turn decides the fate of a call and lets it go on.
func (w *world) turn(c *call) {
	t := w.decide(c)
	w.steps++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s %s %d %d", w.trace, w.since(), c.who, c.what, t.fate, t.after)
	w.trace = h.Sum64()
	w.check.trace(c, t)
	c.turn <- t
	synctest.Wait()
}

// decide returns the fate of a call.
func (w *world) decide(c *call) turn {
	n, r, now := c.node, w.sched.random, time.Now()
	if n == nil {
		return turn{fate: proceed}
	}
	if left := n.goesOn().Sub(now); left > 0 {
		return turn{fate: wait, after: left}
	}
	if a := w.meeting(c); a != nil {
		if !slices.Contains(faults, a.verb) {
			w.ask(a)
			return turn{fate: wait, after: time.Duration(1+r.Int64N(20_000)) * time.Microsecond}
		}
		w.strike(a, n)
		if a.verb == freeze && !c.outside() {
			return turn{fate: lag} // its result finds the process standing still
		}
	}
	if n.crashIn > 0 {
		if n.crashIn--; n.crashIn == 0 {
			late := r.IntN(2) == 0 && !c.outside()
			w.check.note("%s crashes at %q, late %t", n.name, c.what, late)
			w.crash(n)
			if late {
				return turn{fate: forget}
			}
			return turn{fate: perish}
		}
	}
	switch {
	case c.notice() && now.Before(n.deafTill):
		switch r.IntN(4) {
		case 0:
			return turn{fate: refuse}
		case 1:
			return turn{fate: wait, after: time.Duration(1+r.Int64N(2_000_000)) * time.Microsecond}
		case 2:
			return turn{fate: forget} // twice
		}
	case c.outside():
		return turn{fate: proceed}
	case now.Before(n.cut):
		return turn{fate: refuse}
	case now.Before(n.stuck):
		return turn{fate: lag}
	case now.Before(n.failing) && r.IntN(4) == 0:
		if r.IntN(2) == 0 {
			return turn{fate: forget}
		}
		return turn{fate: refuse}
	case now.Before(n.slow) && r.IntN(4) == 0:
		return turn{fate: wait, after: time.Duration(1+r.Int64N(3_000_000)) * time.Microsecond}
	case r.IntN(100) == 0:
		return turn{fate: wait, after: time.Duration(1+r.Int64N(20_000)) * time.Microsecond}
	}
	return turn{fate: proceed}
}

func (c *call) notice() bool { return c.what == "notice" }

// outside reports whether a call is not one to the database.
func (c *call) outside() bool {
	return c.notice() || strings.HasPrefix(c.what, "request ") || strings.HasPrefix(c.what, "response ") ||
		strings.HasPrefix(c.what, resultOf)
}

// crash ends a process at once.
func (w *world) crash(n *node) {
	w.check.crashed(n)
	n.crashed = true
	w.sched.kill(n)
	n.cancel()
}

// begin begins an action.
func (w *world) begin(a *action, revive map[int]time.Time) {
	w.check.note("%d. %s", a.id, a)
	n := w.nodes[a.node]
	switch {
	case a.meets != "":
		w.ambush = append(w.ambush, a)
	case a.verb == crash:
		n.crashIn = a.calls
		revive[a.node] = time.Now().Add(a.length)
	case a.verb == stop:
		n.cancel()
		revive[a.node] = time.Now().Add(a.length)
	case slices.Contains(faults, a.verb):
		w.strike(a, n)
	default:
		w.ask(a)
	}
}

// strike begins a fault of a node or of the database.
func (w *world) strike(a *action, n *node) {
	till := time.Now().Add(a.length)
	switch a.verb {
	case cut:
		n.cut = till
	case failing:
		n.failing = till
	case slow:
		n.slow = till
	case stuck:
		n.stuck = till
	case deaf:
		n.deafTill = till
	case freeze:
		n.standStill(till)
	case clockStep:
		w.db.step(a.length)
	}
}

// ask lets a client carry out its action.
func (w *world) ask(a *action) { w.actors.Go(func() { w.client(a) }) }

// meeting returns the first action that waits for such a call; nil if none does.
func (w *world) meeting(c *call) *action {
	for i, a := range w.ambush {
		if a.meets == c.what {
			w.ambush = slices.Delete(w.ambush, i, i+1)
			w.check.note("%d. meets %s of %s", a.id, c.what, c.who)
			return a
		}
	}
	return nil
}

// deliver passes a notice to a session when it has its turn.
func (w *world) deliver(s *session, n store.Notice) {
	w.actors.Go(func() {
		switch w.sched.await(s.node, s.node.name, "notice") {
		case proceed:
			s.tell(n)
		case forget:
			s.tell(n)
			s.tell(n)
		case refuse: // lost; a cancel is kept in the database, and read a second later
			if len(n.Cancelled) > 0 {
				pause.For(w.ctx, time.Second)
				s.tell(n)
			}
		}
	})
}

// member returns a member of an object as text: of a string its content.
func member(v rawjson.Value, name string) string {
	return strings.Trim(string(rawjson.Get(v, name)), `"`)
}
