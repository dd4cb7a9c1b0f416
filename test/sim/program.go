package sim

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// part is a part of a program that a route of an application carries out.
type part struct {
	does  deed
	many  int           // steps of a parallel part
	lasts time.Duration // of a sleep, or until a wait ends
	event string        // of a wait or a notice; of a webhook the part of its event that runs share
	inner []part        // the program of an invoked run
}

// deed is what a part does.
type deed string

// The deeds, by the names that the SDK gives their steps.
const (
	works    deed = "Run"
	sleeps   deed = "SleepFor"
	calls    deed = "Call"
	awaits   deed = "Wait"
	notifies deed = "Notify"
	invokes  deed = "Invoke"
	hooked   deed = "CreateWebhook" // and waits for it
	branches deed = "parallel"
)

// steps returns how many steps a part has.
func (p *part) steps() int {
	switch p.does {
	case branches:
		return p.many
	case hooked:
		return 2
	}
	return 1
}

func (p *part) String() string {
	switch p.does {
	case branches:
		return fmt.Sprintf("%d at once", p.many)
	case sleeps:
		return fmt.Sprintf("sleep %s", p.lasts)
	case awaits, hooked:
		return fmt.Sprintf("%s %s up to %s", p.does, p.event, p.lasts)
	case notifies:
		return "notify " + p.event
	case invokes:
		return fmt.Sprintf("invoke (%s)", programText(p.inner))
	}
	return string(p.does)
}

func programText(program []part) string {
	var texts []string
	for i := range program {
		texts = append(texts, program[i].String())
	}
	return strings.Join(texts, ", ")
}

// reply is how a route takes a message.
type reply struct {
	how   manner
	after time.Duration // before it begins
}

// manner is what becomes of a message at its route.
type manner string

const (
	well     manner = "proceeds"
	refuses  manner = "fails before its step"
	dies     manner = "dies after its step, before that is stored"
	forgets  manner = "fails when its step is stored"
	drops    manner = "closes the connection when its step is stored"
	stalls   manner = "responds too late"
	storeNot manner = "stores nothing"
)

func (r reply) String() string { return fmt.Sprintf("%s after %s", r.how, r.after) }

// runsIn reports whether there are workflow runs in a plan.
func (p *plan) runsIn() bool {
	for _, a := range p.actions {
		if a.verb == trigger {
			return true
		}
	}
	return false
}

// withRuns reports whether the plan of a seed has workflow runs: that of every fourth, or
// with PUNCTUAL_SIM_WORKFLOWS each one.
func withRuns(seed uint64) bool { return seed%4 == 0 || os.Getenv("PUNCTUAL_SIM_WORKFLOWS") != "" }

// runs adds workflow runs, what clients do to them, and standstills of nodes that send
// their messages.
func (m *maker) runs() {
	m.fails, m.slow = pick(m, 0.0, 0.2, 0.5), pick(m, 0.0, 0.1)
	var started []*action
	for range 1 + m.IntN(4) {
		started = append(started, m.triggers())
	}
	for range pick(m, 0, 3, 6, 12) {
		m.changesRun(pick(m, started...))
	}
	for range pick(m, 0, 0, 1, 2) {
		at := pick(m, started...)
		stop := m.add(&action{
			at: at.at + m.moment(0, 8*time.Second), verb: freeze, node: m.IntN(m.plan.nodes),
			length: pick(m, m.moment(100*time.Millisecond, 2*time.Second), m.moment(9*time.Second, 20*time.Second)),
			meets:  pick(m, "RunMessage", "RunMessage", "RunApply", "QueueClaim"),
		})
		m.add(&action{at: stop.at + m.moment(10*time.Millisecond, 2*time.Second), node: (stop.node + 1) % m.plan.nodes, verb: cancelRun,
			of: at.id, account: at.account})
	}
}

// triggers adds the start of a run.
func (m *maker) triggers() *action {
	a := m.add(&action{
		at: m.moment(100*time.Millisecond, m.plan.length/2), verb: trigger, node: m.IntN(m.plan.nodes), account: m.IntN(accounts),
		retries: m.IntN(4),
	})
	a.program = m.program(a, 2)
	for range m.IntN(12) {
		a.replies = append(a.replies, m.reply())
	}
	if m.one(0.8) {
		a.replies = append(a.replies, reply{well, time.Millisecond})
	} else {
		a.replies = append(a.replies, reply{pick(m, refuses, storeNot), time.Millisecond})
	}
	for range 1 + m.IntN(2) {
		a.answers = append(a.answers, answer{status: pick(m, 200, 200, 500, 0), after: m.moment(time.Millisecond, 300*time.Millisecond)})
	}
	if m.one(0.3) {
		a.due = time.Duration(1+m.IntN(4)) * time.Second
	}
	return a
}

func (m *maker) reply() reply {
	r := reply{well, m.moment(time.Millisecond, 200*time.Millisecond)}
	if m.one(m.fails) {
		r.how = pick(m, refuses, dies, forgets, forgets, drops, drops, stalls)
	}
	if m.one(m.slow) {
		r.after = m.moment(2*time.Second, 6*time.Second)
	}
	return r
}

// program returns a program of up to seven parts. depth is how many runs may invoke each
// other.
func (m *maker) program(a *action, depth int) []part {
	var program []part
	for i := range 1 + m.IntN(7) {
		p := part{does: pick(m, works, works, works, sleeps, calls, awaits, awaits, notifies, hooked, branches, branches, invokes)}
		switch p.does {
		case branches:
			p.many = 2 + m.IntN(3)
		case sleeps:
			p.lasts = time.Duration(1+m.IntN(4)) * time.Second
		case awaits, hooked:
			p.lasts = time.Duration(1+m.IntN(8)) * time.Second
			p.event = m.event(a)
			if p.does == hooked {
				p.event = fmt.Sprintf("webhook-of-part-%d", i)
			}
		case notifies:
			p.event = m.event(a)
		case invokes:
			if depth == 0 {
				p.does = works
				break
			}
			p.inner = m.program(a, depth-1)
		}
		program = append(program, p)
	}
	return program
}

// event returns the name of one of few events.
func (m *maker) event(a *action) string {
	return pick(m, "paid", "shipped", fmt.Sprintf("of-%d", a.id))
}

// changesRun adds what a client does to a run.
func (m *maker) changesRun(of *action) {
	a := m.add(&action{
		at: of.at + m.moment(time.Millisecond, 20*time.Second), node: m.IntN(m.plan.nodes), of: of.id, account: of.account,
		verb: pick(m, notify, notify, notifyRun, notifyRun, notifyRun, callHook, callHook, cancelRun, resume, restart),
	})
	switch a.verb {
	case notify, notifyRun:
		a.key = m.event(of)
	case callHook:
		a.key = fmt.Sprintf("webhook-of-part-%d", m.IntN(4))
		for i := range of.program {
			if of.program[i].does == hooked && m.one(0.9) {
				a.key = of.program[i].event
			}
		}
	case cancelRun:
		if m.one(0.5) {
			a.meets = pick(m, "RunMessage", "RunApply", "QueueFinish")
		}
	}
}
