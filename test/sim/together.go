package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// The promises of groups and of ordered limits.
const (
	fannedOut = "a group's jobs are stored together"
	inOrder   = "an ordered limit starts jobs in order"
)

// The ordered limit of each account, and how many jobs it has under way at once, by account.
const orderKey = "order"

var orderParallel = [accounts]int{1, 2}

// together adds jobs and schedules with groups, and jobs with an ordered limit.
func (m *maker) together() {
	m.theme()
	for range pick(m, 0, 1, 1, 3) {
		m.grouped()
	}
	for account := range accounts {
		if !m.one(0.5) {
			continue
		}
		m.add(&action{at: time.Millisecond, verb: setLimit, node: m.IntN(m.plan.nodes), account: account, key: orderKey,
			body: fmt.Sprintf(`{"parallel": %d, "ordered": true}`, orderParallel[account])})
		for range 2 + m.IntN(5) {
			a := m.created(account)
			a.due = m.moment(0, 6*time.Second)
			for i := range a.answers {
				a.answers[i].after %= time.Second // so that all have their turn before the end
			}
			a.body = fmt.Sprintf(`{"url": "https://t%d.example.com/%d", "name": "%[2]d", %s, "schedule_in": %g, "limits": [%q]}`,
				m.IntN(3), a.id, m.basics(), a.due.Seconds(), orderKey)
		}
	}
}

// created adds the creation of a job, without its body.
func (m *maker) created(account int) *action {
	a := m.add(&action{at: m.moment(100*time.Millisecond, m.plan.length/2), verb: create, node: m.IntN(m.plan.nodes), account: account})
	for range 1 + m.IntN(3) {
		a.answers = append(a.answers, m.answer(false, false))
	}
	last := m.answer(false, false)
	last.status, last.body = 200, ""
	a.answers = append(a.answers, last)
	return a
}

func (m *maker) basics() string {
	return fmt.Sprintf(`"method": "post", "timeout": 4, "retries": %d, "backoff": [1, 2]`, m.IntN(4))
}

// groupRest is how many seconds longer runs of a group are apart where slots are few, so that
// the slots can carry their jobs.
const groupRest = 20

// grouped adds a group and a job or a schedule that names it.
func (m *maker) grouped() {
	a := m.created(m.IntN(accounts))
	a.group = fmt.Sprintf("g%d", a.id)
	a.targets = 1 + m.IntN(4)
	var targets []string
	for i := range a.targets {
		targets = append(targets, fmt.Sprintf(`{"name": "t%d", "url": "https://t%[1]d.example.com/%d"}`, i, a.id))
	}
	m.add(&action{at: time.Millisecond, verb: setGroup, node: m.IntN(m.plan.nodes), account: a.account, key: a.group,
		body: `{"targets": [` + strings.Join(targets, ", ") + `]}`})
	a.body = fmt.Sprintf(`{"group": %q, "name": "%d", %s`, a.group, a.id, m.basics())
	switch {
	case m.one(0.5):
		every := 3 + m.IntN(6)
		if m.plan.slots == fewSlots {
			every += groupRest // four attempts of each of four targets may last for 64 s together
		}
		a.body += fmt.Sprintf(`, "repeat_every": %d`, every)
	case m.one(m.limited): // jobs of a schedule could be more than the limit lets through
		a.body += `, "limits": ["slots"]`
	}
	a.body += "}"
}

// checkGroups reports groups of which some jobs are stored and others not: of a run that
// has become its jobs, and of a request.
func (c *checker) checkGroups(jobs map[int64]*row) {
	children, requested := map[int64]int{}, map[string]int{}
	for _, r := range jobs {
		a := c.w.byName(r.name)
		switch {
		case a == nil || a.group == "":
		case r.parent != 0:
			children[r.parent]++
		case r.schedule == "":
			requested[r.name]++
		}
	}
	for number, r := range jobs {
		a := c.w.byName(r.name)
		if a == nil || a.group == "" || r.schedule == "" {
			continue
		}
		want := 0
		if r.state == job.Completed {
			c.counts["runs with groups"]++
			want = a.targets
		}
		if children[number] != want {
			c.breaks(fannedOut, "run %d is %s and became %d jobs, want %d", number, r.state, children[number], want)
		}
	}
	for name, n := range requested {
		if targets := c.w.byName(name).targets; n%targets != 0 {
			c.breaks(fannedOut, "%d jobs of %s are stored, the group has %d targets", n, name, targets)
		}
	}
}

// checkTogether reports a request of a run with a group, and a start under an ordered limit
// that comes too early.
func (c *checker) checkTogether(h *hit) {
	r := c.jobs[h.job]
	if r == nil {
		return
	}
	if job.GroupNamed(r.args) != "" {
		c.breaks(fannedOut, "%s was sent though it is for a group", h.name)
	}
	if !c.limitsOf(h)[orderKey] || c.clockMoved() {
		return
	}
	started := map[int64]bool{}
	for _, o := range c.hits {
		if o != h {
			started[o.job] = true
		}
	}
	if started[h.job] {
		return // it has a place
	}
	c.counts["in order"]++
	held := 0
	for number, o := range c.jobs {
		if number == h.job || o.account != r.account || !o.unfinished() || !c.names(o, orderKey) {
			continue
		}
		if started[number] {
			held++
			continue
		}
		first := o.scheduled.Before(r.scheduled) || o.scheduled.Equal(r.scheduled) && number < h.job
		if first && o.item != nil && o.item.node == 0 && h.at.Sub(c.stored[number]) > clockSlack {
			c.breaks(inOrder, "%s was sent, due %s, before job %d, due %s", h.name, clock(r.scheduled), number, clock(o.scheduled))
		}
	}
	if most := orderParallel[c.w.byName(r.name).account]; held >= most {
		c.breaks(inOrder, "%s was sent while %d jobs that have started are not final, the limit is %d", h.name, held, most)
	}
}

// byName returns the action whose jobs have a name; nil if there is none.
func (w *world) byName(name string) *action {
	id, _ := strconv.Atoi(name)
	return w.byID[id]
}

// names reports whether a job names a limit.
func (c *checker) names(r *row, key string) bool {
	for _, named := range job.LimitsNamed(r.args) {
		if named == key {
			return true
		}
	}
	return false
}
