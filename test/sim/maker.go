package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// maker makes plans at random.
type maker struct {
	*rand.Rand
	plan      *plan
	jobs      []*action
	schedules []*action

	// How likely things are in this plan: plans that have much of one thing reach what
	// plans with a little of everything do not.
	recurs, limited, completes, keyed, fails, slow, told, awaits float64
	// conflict is what most calls with a held key ask for.
	conflict string
}

// theme chooses how likely things are.
func (m *maker) theme() {
	m.recurs, m.limited, m.completes = pick(m, 0.0, 0.3, 0.3, 0.7), pick(m, 0.0, 0.35, 0.9), pick(m, 0.0, 0.25, 0.8)
	m.keyed, m.fails, m.slow, m.told = pick(m, 0.0, 0.4, 0.9), pick(m, 0.2, 0.4, 0.9), pick(m, 0.05, 0.15, 0.6), pick(m, 0.1, 0.3, 0.8)
	m.conflict = pick(m, "return", "return", "refuse", "replace")
	m.awaits = pick(m, 0.0, 0.0, 0.2, 0.6)
}

func (m *maker) one(p float64) bool { return m.Float64() < p }

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// moment returns a time of the plan, to the microsecond, so that two things seldom
// happen at the same time.
func (m *maker) moment(from, to time.Duration) time.Duration {
	return (from + time.Duration(m.Int64N(int64(to-from)))).Truncate(time.Microsecond)
}

func (m *maker) add(a *action) *action {
	a.id = len(m.plan.actions) + 1
	m.plan.actions = append(m.plan.actions, a)
	return a
}

func (m *maker) sort() {
	slices.SortStableFunc(m.plan.actions, func(a, b *action) int { return int(a.at - b.at) })
}

// The limits of every run.
const (
	rateCalls = 3
	ratePer   = 5 * time.Second
	parallel  = 2
)

func (m *maker) limits() {
	for account := range accounts {
		m.add(&action{at: time.Millisecond, verb: setLimit, node: m.IntN(m.plan.nodes), account: account, key: "rate",
			body: fmt.Sprintf(`{"rate": {"calls": %d, "per": %g}}`, rateCalls, ratePer.Seconds())})
		m.add(&action{at: time.Millisecond, verb: setLimit, node: m.IntN(m.plan.nodes), account: account, key: "slots",
			body: fmt.Sprintf(`{"parallel": %d}`, parallel)})
	}
}

// creates adds the creation of a job or a schedule.
func (m *maker) creates() {
	a := m.add(&action{at: m.moment(100*time.Millisecond, m.plan.length*3/4), verb: create, node: m.IntN(m.plan.nodes),
		account: m.IntN(accounts)})
	fields := []string{
		fmt.Sprintf(`"url": "https://t%d.example.com/%d"`, m.IntN(3), a.id), fmt.Sprintf(`"name": "%d"`, a.id), `"method": "post"`,
		`"timeout": 4`,
		fmt.Sprintf(`"retries": %d`, m.IntN(4)), fmt.Sprintf(`"backoff": [%d, 2]`, 1+m.IntN(3)),
	}
	add := func(format string, args ...any) { fields = append(fields, fmt.Sprintf(format, args...)) }
	recurs := m.one(m.recurs)
	if m.one(0.8) {
		a.due = m.moment(0, 12*time.Second)
		add(`"schedule_in": %g`, a.due.Seconds())
	}
	if m.one(m.told) {
		add(`"callback_url": "https://callbacks.example.com/%d"`, a.id)
	}
	if m.one(m.told) {
		add(`"webhook_url": "https://webhooks.example.com/%d"`, a.id)
	}
	if m.one(m.limited) {
		add(`"limits": [%s]`, pick(m, `"rate"`, `"slots"`, `"rate", "slots"`))
	}
	if m.one(0.2) {
		add(`"expires_in": %d`, 1+m.IntN(6))
	}
	completes := m.one(m.completes)
	if completes {
		add(`"completion": {"within": %d}`, 2+m.IntN(5))
	}
	if recurs {
		add(`"repeat_every": %d`, 2+m.IntN(6))
		if m.one(0.3) {
			add(`"catch_up": %q`, pick(m, "none", "all"))
		}
		m.schedules = append(m.schedules, a)
	} else {
		m.jobs = append(m.jobs, a)
		if m.one(m.keyed) {
			how := m.conflict
			if m.one(0.2) {
				how = pick(m, "return", "refuse", "replace")
			}
			// Those that are replaced have keys of their own: the model of keys does not
			// know them.
			add(`"idempotency_key": "%c%d", "on_conflict": %q`, how[2], m.IntN(2), how)
		}
	}
	switch {
	case recurs:
	case m.one(0.15):
		a.verb = batch
		m.keysOfBatch(fields)
		if m.one(m.awaits) {
			a.then = fmt.Sprintf(`{"url": "https://t%d.example.com/%d", "name": "then of %[2]d", "method": "post", "retries": 1, "backoff": [2]}`, m.IntN(3), a.id)
		}
	case m.one(m.awaits):
		m.awaited(a)
	}
	a.body = "{" + strings.Join(fields, ", ") + "}"
	for range 1 + m.IntN(3) {
		a.answers = append(a.answers, m.answer(completes, recurs))
	}
	last := m.answer(false, false)
	if m.fails < 0.9 || m.one(0.3) {
		last.status = 200
	}
	if completes && m.one(0.5) {
		last.status, last.report, last.when = 202, `{"result": {"ok": true}}`, m.moment(0, 2*time.Second)
	}
	a.answers = append(a.answers, last)
}

// awaited lets an action wait for up to two others of its account.
func (m *maker) awaited(a *action) {
	for range 2 {
		if other := pick(m, m.jobs...); other != a && other.account == a.account && !slices.Contains(a.awaits, other.id) {
			a.awaits = append(a.awaits, other.id)
		}
	}
	if len(a.awaits) > 0 {
		a.key = pick(m, string(job.AfterCompleted), string(job.AfterFinal))
	}
}

// keysOfBatch makes the keys of batches differ from those of single jobs, because the
// model of keys knows single jobs only.
func (m *maker) keysOfBatch(fields []string) {
	for i, f := range fields {
		fields[i] = strings.Replace(f, `"idempotency_key": "`, `"idempotency_key": "b`, 1)
	}
}

// answer returns what a target answers to one request.
func (m *maker) answer(completes, recurs bool) answer {
	r := answer{status: 200, after: m.moment(time.Millisecond, 300*time.Millisecond)}
	if m.one(m.fails) {
		r.status = pick(m, 500, 0, dropped)
	}
	if m.one(m.slow) {
		r.after = m.moment(3*time.Second, 6*time.Second) // of which some exceed the timeout
	}
	switch {
	case completes && m.one(0.7):
		r.status, r.when = 202, m.moment(0, 8*time.Second)
		r.report = pick(m, `{"result": {"$set": {"a": 1}}}`, `{"error": "no"}`, `{"error": "never", "retry": false}`, `{"progress": 50}`)
	case recurs && m.one(0.2):
		r.body = pick(m, `{"$next": 3.5}`, `{"$stop": true}`, `{"$set": {"n": 1}}`)
	case m.one(0.1):
		r.body = `{"$fail": "not today"}`
	}
	return r
}

// changes adds a change of something that was created.
func (m *maker) changes() {
	of, isSchedule := m.jobs, false
	if m.one(0.5) {
		of, isSchedule = m.schedules, true
	}
	if len(of) == 0 {
		return
	}
	target := pick(m, of...)
	a := m.add(&action{
		at: target.at + m.moment(time.Millisecond, 15*time.Second), node: m.IntN(m.plan.nodes), of: target.id, account: target.account,
	})
	if isSchedule {
		a.verb = pick(m, edit, cancel, disable, enable, disable, enable, remove, runNow)
		a.body = pick(m, `{"repeat_every": 3}`, `{"description": "edited"}`, `{"schedule_in": 4}`)
	} else {
		a.verb = pick(m, edit, edit, edit, cancel, cancel, rerun, runNow)
		a.body = pick(m, `{"schedule_in": 6}`, `{"schedule_in": 0.5}`, `{"description": "edited"}`,
			fmt.Sprintf(`{"body": {"v": %d}}`, a.id), fmt.Sprintf(`{"body": {"v": %d}}`, a.id))
	}
	if a.verb != edit {
		a.body = ""
	}
	if target.due > 0 && m.one(0.7) { // when its attempt is claimed, starts or has just started
		a.at = target.at + target.due + m.moment(-800*time.Millisecond, 200*time.Millisecond)
		if m.one(0.5) {
			a.meets = pick(m, "QueueClaim", "QueueClaim", "QueueFinish")
		}
	}
}

// faults adds a fault.
func (m *maker) faults() {
	a := m.add(&action{at: m.moment(time.Second, m.plan.length), node: m.IntN(m.plan.nodes),
		length: m.moment(100*time.Millisecond, 8*time.Second)})
	switch a.verb = pick(m, crash, crash, crash, stop, cut, cut, stuck, failing, failing, slow, deaf, clockStep); a.verb {
	case crash:
		a.calls = 1 + m.IntN(60)
	case cut, stuck:
		a.length = pick(m, m.moment(time.Second, 25*time.Second), m.moment(15*time.Second, 20*time.Second))
		if m.one(0.5) {
			a.meets = pick(m, "QueueClaim", "QueueFinish")
		}
	case clockStep:
		a.length = m.moment(-5*time.Second, 10*time.Second)
	}
}

// freezes adds a standstill of a node around the start of an attempt. Most of the time
// its job is cancelled or edited meanwhile, through another node if there is one.
func (m *maker) freezes() {
	if len(m.jobs) == 0 {
		return
	}
	target := pick(m, m.jobs...)
	start := max(0, target.at+target.due-m.moment(0, 130*time.Millisecond))
	a := m.add(&action{at: start, verb: freeze, node: m.IntN(m.plan.nodes),
		length: pick(m, m.moment(time.Millisecond, 300*time.Millisecond), m.moment(0, 4*time.Second),
			m.moment(9*time.Second, 20*time.Second))})
	if m.one(0.3) {
		a.meets = pick(m, "QueueClaim", "QueueLoad", "QueueHeld")
	}
	if m.one(0.8) {
		change := m.add(&action{
			at: start + m.moment(0, min(a.length+time.Microsecond, 500*time.Millisecond)), node: (a.node + 1) % m.plan.nodes,
			verb: pick(m, cancel, cancel, edit), of: target.id, account: target.account,
		})
		if change.verb == edit {
			change.body = fmt.Sprintf(`{"body": {"v": %d}}`, change.id)
		}
	}
}
