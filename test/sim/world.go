package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

// world is one run of a plan.
type world struct {
	plan  *plan
	sched *scheduler
	db    *database
	start time.Time
	check *checker
	ends  time.Time // when the faults are over
	steps int
	trace uint64 // a hash of all turns, in order

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
	action   *action
	job      job.Ref
	schedule *job.Job // the first run, if it recurs
	acked    time.Time
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
	n := &node{world: w, name: fmt.Sprintf("node %d", i), cancel: cancel, done: make(chan struct{})}
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
	return c.notice() || strings.HasPrefix(c.what, "request ") || strings.HasPrefix(c.what, "response ")
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
	till := time.Now().Add(a.length)
	switch a.verb {
	case crash:
		n.crashIn = a.calls
		revive[a.node] = till
	case stop:
		n.cancel()
		revive[a.node] = till
	case cut:
		n.cut = till
	case failing:
		n.failing = till
	case slow:
		n.slow = till
	case deaf:
		n.deafTill = till
	case clockStep:
		w.db.step(a.length)
	default:
		w.actors.Go(func() { w.client(a) })
	}
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
				pause(w.ctx, time.Second)
				s.tell(n)
			}
		}
	})
}

// live returns the service of a node, or of another one that serves.
func (w *world) live(i int) *service.Service {
	for k := range w.nodes {
		if s := w.nodes[(i+k)%len(w.nodes)].serving(); s != nil {
			return s
		}
	}
	return nil
}

// client carries out a client's action. It repeats what can be repeated until it
// gets an answer.
func (w *world) client(a *action) {
	for try := 0; ; try++ {
		if w.sched.await(nil, "client", fmt.Sprintf("%d. %s", a.id, a.verb)); w.ctx.Err() != nil {
			return
		}
		var err error = fault.Unreachable(nil)
		if s := w.live(a.node + try); s != nil {
			e := w.try(s, a)
			if e == nil || fault.CodeOf(e) != fault.Unavailable {
				w.check.answered(a, e)
				return
			}
			err = e
		}
		if w.check.unclear(a, err); !a.repeatable() || try == 20 || w.ctx.Err() != nil {
			return
		}
		pause(w.ctx, 700*time.Millisecond)
	}
}

// repeatable reports whether a call may be made again when its outcome is unclear.
func (a *action) repeatable() bool { return a.verb != rerun && a.verb != runNow && a.verb != batch }

// try makes the call of an action once.
func (w *world) try(s *service.Service, a *action) error {
	ctx, owner := w.ctx, w.db.owners[a.account]
	switch a.verb {
	case create:
		began := w.check.stamp()
		j, conflict, err := s.Create(ctx, owner, []byte(a.body), nil)
		if err == nil {
			w.made(a, j)
		}
		w.check.keyed(a, began, j, conflict, err)
		return err
	case batch:
		item := service.BatchItem{Body: rawjson.Value(a.body)}
		b, err := s.ReadBatch(ctx, owner, []service.BatchItem{item, item, item}, true)
		if err != nil {
			return err
		}
		results, err := s.CreateBatch(ctx, b)
		if err == nil {
			for _, r := range results {
				w.made(a, r.Job)
			}
		}
		return err
	case setLimit:
		_, _, err := s.SetLimit(ctx, owner, a.key, rawjson.Value(a.body))
		return err
	}
	w.mu.Lock()
	r := w.created[a.of]
	w.mu.Unlock()
	if r == nil {
		return fault.New(fault.NotFound, "it was not created")
	}
	return w.change(s, a, r)
}

// change makes the call of an action that changes a record.
func (w *world) change(s *service.Service, a *action, r *record) error {
	ctx, owner := w.ctx, w.db.owners[a.account]
	var err error
	var j *job.Job
	switch of := r.schedule; {
	case a.verb == cancel:
		if j, err = s.Cancel(ctx, owner, r.job); err == nil {
			w.check.cancelled(j)
		}
	case a.verb == rerun:
		if j, err = s.Rerun(ctx, owner, r.job, nil); err == nil {
			w.check.accepted(j)
		}
	case a.verb == edit && of != nil:
		_, err = s.EditSchedule(ctx, owner, of.ScheduleID, rawjson.Value(a.body), service.Match{})
	case a.verb == edit:
		if j, err = s.EditJob(ctx, owner, r.job, rawjson.Value(a.body), service.Match{}); err == nil {
			w.check.accepted(j)
		}
	case a.verb == runNow && of != nil:
		if j, _, err = s.RunSchedule(ctx, owner, of.ScheduleID); err == nil {
			w.check.accepted(j)
		}
	case a.verb == runNow:
		if j, err = s.RunNow(ctx, owner, r.job); err == nil {
			w.check.accepted(j)
		}
	case a.verb == disable:
		_, err = s.Disable(ctx, owner, of.ScheduleID)
	case a.verb == enable:
		_, err = s.Enable(ctx, owner, of.ScheduleID)
	case a.verb == remove:
		err = s.Delete(ctx, owner, of.ScheduleID)
	}
	return err
}

// made notes what a client was told of what it has created.
func (w *world) made(a *action, j *job.Job) {
	w.check.accepted(j)
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &record{action: a, job: job.Ref{Number: j.Number}}
	if strings.Contains(a.body, "repeat_every") {
		r.schedule = j
	}
	if w.created[a.id] == nil {
		w.created[a.id] = r
	}
}

// actionOf returns the action that a URL names.
func actionOf(url string) int {
	id, _ := strconv.Atoi(path.Base(url))
	return id
}

// eventOf returns which event a webhook's body tells.
func eventOf(body string) string { return member(rawjson.Value(body), "type") }

// arrives notes a request and returns how its target answers.
func (w *world) arrives(n *node, h *hit) answer {
	w.mu.Lock()
	count := w.hits[h.url]
	w.hits[h.url]++
	w.mu.Unlock()
	a := w.byID[h.action]
	r := answer{status: 200, after: time.Millisecond}
	switch {
	case a == nil:
	case h.job == 0:
		if count == 1 { // of a callback or webhook, the second one fails
			r.status = 503
		}
	default:
		r = a.answers[min(count, len(a.answers)-1)]
	}
	h.answer = r
	w.check.arrived(n, h)
	if r.report != "" && h.token != "" {
		w.actors.Go(func() { w.report(n, h, r) })
	}
	return r
}

// leaves notes the end of a request.
func (w *world) leaves(h *hit, cause error) { w.check.left(h, cause) }

// report reports the outcome of an attempt, as its target.
func (w *world) report(n *node, h *hit, r answer) {
	pause(w.ctx, r.after+r.when)
	for try := 0; try < 20 && w.ctx.Err() == nil; try++ {
		w.sched.await(nil, "target", "report of "+h.name)
		if w.ctx.Err() != nil {
			return
		}
		if s := w.live(h.action + try); s != nil {
			w.check.reporting(h)
			_, err := s.Complete(w.ctx, h.token, rawjson.Value(r.report))
			if err == nil || fault.CodeOf(err) != fault.Unavailable {
				w.check.reported(h, r, err)
				return
			}
			w.check.reported(h, r, err)
		}
		pause(w.ctx, 900*time.Millisecond)
	}
}

// member returns a member of an object as text: of a string its content.
func member(v rawjson.Value, name string) string {
	return strings.Trim(string(rawjson.Get(v, name)), `"`)
}
