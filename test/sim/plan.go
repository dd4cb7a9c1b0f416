package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// verb is what an action does.
type verb string

// The verbs of clients, whose node serves the call, and of faults, whose node has
// the fault.
const (
	create   verb = "create"  // a job or a schedule: Body
	batch    verb = "batch"   // three jobs: Body each
	edit     verb = "edit"    // what Of created: Body
	cancel   verb = "cancel"  // the job, or the schedule's unfinished one
	rerun    verb = "rerun"   // the job
	runNow   verb = "run"     // the job
	disable  verb = "disable" // the schedule
	enable   verb = "enable"  // the schedule
	remove   verb = "delete"  // the schedule
	setLimit verb = "limit"   // Key: Body
	setGroup verb = "group"   // Key: Body

	trigger   verb = "trigger"   // a workflow run: Program
	notify    verb = "notify"    // all runs that wait for Key
	notifyRun verb = "notify of" // the run, of Key
	callHook  verb = "call the webhook of"
	cancelRun verb = "cancel the run of"
	resume    verb = "resume"  // the run, if it has failed
	restart   verb = "restart" // the run, if it has failed

	crash     verb = "crash"     // after Calls calls; starts again after For
	stop      verb = "stop"      // in order; starts again after For
	cut       verb = "cut"       // no call reaches the database for For
	failing   verb = "failing"   // calls fail at random for For
	slow      verb = "slow"      // calls are slow for For
	stuck     verb = "stuck"     // results of calls come at the end of For
	deaf      verb = "deaf"      // notices are lost, late or doubled for For
	clockStep verb = "clockstep" // the database's clock moves by For
	freeze    verb = "freeze"    // the process stands still for For
)

// dropped is the status of an answer that never comes: the target had closed the
// connection when the request was written to it.
const dropped = -1

// answer is how a target answers a request.
type answer struct {
	status int // 0 closes the connection, dropped does so with one that was kept open
	after  time.Duration
	body   string
	report string        // what is reported to the completion's address
	when   time.Duration // when, after the answer
}

// action is one thing that somebody does in a run. Its number stays when others are
// removed from the plan, and names it in URLs and keys.
type action struct {
	id      int
	at      time.Duration
	meets   string // it waits for a call of this kind, of any node, and happens right before it
	verb    verb
	node    int
	of      int // the action whose record it is about
	account int
	due     time.Duration // of what it creates, after its creation; 0 if not known
	key     string
	body    string
	answers []answer // by request; the last one repeats
	awaits  []int    // actions; what it creates waits for their jobs, as far as there are any
	then    string   // the job that waits for those of a batch; "" for none
	group   string   // that the request names; "" for none
	targets int      // of the group
	length  time.Duration
	calls   int
	program []part  // of a run
	replies []reply // of its route, by request; the last one repeats
	retries int     // of the run's messages
}

// faults are the verbs of faults.
var faults = []verb{crash, stop, cut, failing, slow, stuck, deaf, clockStep, freeze}

func (a *action) String() string {
	text := fmt.Sprintf("at %s", a.at)
	if a.meets != "" {
		text += fmt.Sprintf(", before the next %s,", a.meets)
	}
	switch a.verb {
	case create, batch:
		text += fmt.Sprintf(" account %d asks node %d to %s %s", a.account, a.node, a.verb, a.body)
		if len(a.awaits) > 0 {
			text += fmt.Sprintf(" after those of %v", a.awaits)
		}
		if a.then != "" {
			text += " and then " + a.then
		}
		for _, r := range a.answers {
			text += fmt.Sprintf("; its target answers %s", r)
		}
	case setGroup:
		text += fmt.Sprintf(" account %d asks node %d to set the group %s to %s", a.account, a.node, a.key, a.body)
	case setLimit:
		text += fmt.Sprintf(" account %d asks node %d to set the limit %s to %s", a.account, a.node, a.key, a.body)
	case edit, cancel, rerun, runNow, disable, enable, remove:
		text += fmt.Sprintf(" its client asks node %d to %s what %d created %s", a.node, a.verb, a.of, a.body)
	case trigger:
		text += fmt.Sprintf(" account %d asks node %d to start a run of %s with %d retries", a.account, a.node, programText(a.program),
			a.retries)
		for _, r := range a.replies {
			text += fmt.Sprintf("; its route %s", r)
		}
	case notify, notifyRun, callHook, cancelRun, resume, restart:
		text += fmt.Sprintf(" its client asks node %d to %s what %d started: %s", a.node, a.verb, a.of, a.key)
	case crash:
		text += fmt.Sprintf(" node %d crashes at its call %d from now, and starts again %s later", a.node, a.calls, a.length)
	case stop:
		text += fmt.Sprintf(" node %d stops in order, and starts again %s later", a.node, a.length)
	case cut:
		text += fmt.Sprintf(" node %d is cut off from the database for %s", a.node, a.length)
	case failing:
		text += fmt.Sprintf(" calls of node %d to the database fail before or after their commit for %s", a.node, a.length)
	case slow:
		text += fmt.Sprintf(" calls of node %d to the database are slow for %s", a.node, a.length)
	case stuck:
		text += fmt.Sprintf(" results of calls of node %d to the database come %s later", a.node, a.length)
	case deaf:
		text += fmt.Sprintf(" notices to node %d are lost, late or doubled for %s", a.node, a.length)
	case freeze:
		text += fmt.Sprintf(" node %d stands still for %s", a.node, a.length)
	case clockStep:
		text += fmt.Sprintf(" the clock of the database moves by %s", a.length)
	}
	return strings.TrimSpace(text)
}

func (r answer) String() string {
	text := fmt.Sprintf("%d after %s", r.status, r.after)
	if r.status == 0 {
		text = fmt.Sprintf("nothing, and closes after %s", r.after)
	}
	if r.body != "" {
		text += " with " + r.body
	}
	if r.report != "" {
		text += fmt.Sprintf(" and reports %s %s later", r.report, r.when)
	}
	return text
}

// plan is what happens in a run, beside the order of calls.
type plan struct {
	seed    uint64
	nodes   int
	slots   int           // requests of a kind that a node has under way
	length  time.Duration // after which nothing is planned any more
	actions []*action     // in order of their times
}

// runsNow reports whether a client asks to run what an action created, before it is
// due.
func (p *plan) runsNow(id int) bool {
	return slices.ContainsFunc(p.actions, func(a *action) bool { return a.verb == runNow && a.of == id })
}

const accounts = 2

// fewSlots are so few that requests wait for them.
const fewSlots = 8

// newPlan makes the plan of a seed.
func newPlan(seed uint64) *plan {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 2)), plan: &plan{seed: seed, length: 40 * time.Second}}
	m.plan.nodes, m.plan.slots = 1+m.IntN(3), pick(m, fewSlots, 64)
	m.theme()
	m.limits()
	alone := 3 + m.IntN(10)
	if withRuns(seed) {
		alone = m.IntN(3)
	}
	for range alone {
		m.creates()
	}
	for range pick(m, 0, 4, 8, 25) {
		m.changes()
	}
	for range pick(m, 0, 0, 1, 2, 4) {
		m.faults()
	}
	// Of random numbers of their own, so that a seed's other actions stay the same.
	still := &maker{Rand: rand.New(rand.NewPCG(seed, 4)), plan: m.plan, jobs: m.jobs}
	for range pick(still, 0, 0, 0, 1, 3) {
		still.freezes()
	}
	if withRuns(seed) {
		(&maker{Rand: rand.New(rand.NewPCG(seed, 5)), plan: m.plan}).runs()
	}
	if seed%3 == 0 {
		(&maker{Rand: rand.New(rand.NewPCG(seed, 6)), plan: m.plan}).together()
	}
	m.sort()
	return m.plan
}
