package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// checkEarly compares the start of a request with the due time that its client was
// told, and with that of its attempt.
func (c *checker) checkEarly(h *hit) {
	r := c.jobs[h.job]
	if r == nil {
		c.breaks(lost, "%s belongs to job %d, which does not exist", h.name, h.job)
		return
	}
	due := r.scheduled
	if told := c.accepts[h.job]; told != nil && told.ScheduledAt.Before(due) {
		due = told.ScheduledAt
	}
	if h.at.Before(due) {
		c.breaks(early, "job %d was sent at %s, due %s", h.job, clock(h.at), clock(due))
	}
	if item := r.item; item != nil && item.node > 0 && item.attempt == h.attempt && h.at.Before(item.due) {
		c.breaks(early, "attempt %d of job %d was sent at %s, due %s", h.attempt, h.job, clock(h.at), clock(item.due))
	}
}

// checkExpiry reports a start after its job has expired.
func (c *checker) checkExpiry(h *hit) {
	r := c.jobs[h.job]
	if r == nil {
		return
	}
	spec := job.ReadSpec(r.args)
	if spec.ExpiresIn == nil {
		return
	}
	c.counts["could expire"]++
	// A job whose due time had passed counts from when it was stored. One that waited
	// for the end of another one counts from then, and is not checked.
	due := r.scheduled
	if r.inserted.After(due) {
		due = r.inserted
	}
	if deadline := due.Add(*spec.ExpiresIn + clockSlack); h.at.After(deadline) && !c.waited[h.job] && !c.moved[h.job] {
		c.breaks(expiry, "job %d was sent at %s, expired %s", h.job, clock(h.at), clock(deadline))
	}
}

// checkAfter reports a start before the end of a job that it had to wait for. One that a
// client runs waits no longer.
func (c *checker) checkAfter(h *hit) {
	r := c.jobs[h.job]
	if r == nil || c.w.plan.runsNow(h.action) {
		return
	}
	completed := rawjson.Text(rawjson.Get(rawjson.Get(r.args, "after"), "on")) == string(job.AfterCompleted)
	for _, number := range c.awaits[h.job] {
		c.counts["after others"]++
		switch other := c.jobs[number]; {
		case other == nil || other.unfinished():
			c.breaks(after, "%s was sent before the end of job %d", h.name, number)
		case completed && other.state != job.Completed:
			c.breaks(after, "%s was sent though job %d is %s", h.name, number, other.state)
		}
	}
}

// clockSlack is how far a start may lie behind the moment at which it was decided:
// in a run calls take time between the two.
const clockSlack = 250 * time.Millisecond

// checkLimits reports starts that limits forbid.
func (c *checker) checkLimits(h *hit) {
	if c.clockMoved() {
		return
	}
	started, open := 1, 1
	named := c.limitsOf(h)
	for _, o := range c.hits {
		if o == h || o.job == 0 || c.accountOf(o) != c.accountOf(h) {
			continue
		}
		theirs := c.limitsOf(o)
		if named["rate"] && theirs["rate"] && h.at.Sub(o.at) < ratePer {
			started++
		}
		if named["slots"] && theirs["slots"] && c.underWay(o) {
			open++
		}
	}
	if len(named) > 0 {
		c.counts["under limits"]++
	}
	if named["rate"] && started > rateCalls {
		c.breaks(rate, "%d requests left within %s, the limit is %d; the last is %s", started, ratePer, rateCalls, h.name)
	}
	if named["slots"] && open > parallel {
		c.breaks(slots, "%d requests are under way, the limit is %d; the last is %s", open, parallel, h.name)
	}
}

// clockMoved reports whether the clock was moved: windows by the two clocks differ.
func (c *checker) clockMoved() bool { return c.had(clockStep) }

// underWay reports whether an attempt is under way as far as its target knows: the
// request, or what it has promised to report.
func (c *checker) underWay(h *hit) bool {
	if h.end.IsZero() {
		return !c.unnoticed(h)
	}
	r := c.jobs[h.job]
	if r == nil || r.item == nil || r.item.node != store.AwaitingNode || r.item.attempt != h.attempt || h.taken || !h.clean {
		return false
	}
	last := h // of the requests of an attempt that was made again, the last one is awaited
	for _, o := range c.hits {
		if o.job == h.job {
			last = o
		}
	}
	return last == h
}

// unnoticed reports whether a process may not have noticed the end of a request because
// it stood still: its target has answered, or its job was cancelled.
func (c *checker) unnoticed(h *hit) bool {
	_, cancelled := c.cancels[h.job]
	return c.had(freeze) && (cancelled || c.w.db.now().Sub(h.at) > h.answer.after)
}

func (c *checker) limitsOf(h *hit) map[string]bool {
	r := c.jobs[h.job]
	if r == nil {
		return nil
	}
	named := map[string]bool{}
	for _, key := range job.LimitsNamed(r.args) {
		named[key] = true
	}
	return named
}

func (c *checker) accountOf(h *hit) int64 {
	if r := c.jobs[h.job]; r != nil {
		return r.account
	}
	return 0
}

// noticed returns how long after an end was acknowledged another node may still send.
// With faults its notice may be late by seconds.
func (c *checker) noticed() time.Duration {
	if c.had(cut, failing, slow, stuck, deaf) {
		return 4 * time.Second
	}
	return 100 * time.Millisecond
}

// had reports whether there was a fault of some kinds so far.
func (c *checker) had(kinds ...verb) bool {
	for _, a := range c.w.plan.actions {
		if slices.Contains(kinds, a.verb) && a.at <= c.w.since() {
			return true
		}
	}
	return false
}

// lateBy is how late a request may be without a reason. Calls that take their turn
// later delay it.
const lateBy = 150 * time.Millisecond

// checkLate reports a start that is late though there was no fault, no limit and no
// other job to wait for.
func (c *checker) checkLate(h *hit) {
	r := c.jobs[h.job]
	if r == nil || c.w.plan.slots == fewSlots || c.w.since() < time.Second || c.had(faults...) || len(c.limitsOf(h)) > 0 || r.item == nil {
		return
	}
	c.counts["timed"]++
	if lateness := h.at.Sub(r.item.due); lateness > lateBy {
		c.breaks(late, "%s was sent %s after %s, when it was due", h.name, lateness, clock(r.item.due))
	}
}

// checkBackoff reports a retry that comes before the shortest wait of any plan, one
// second after the failure.
func (c *checker) checkBackoff(h *hit) {
	r := c.jobs[h.job]
	if r == nil || c.clockMoved() || c.moved[h.job] || c.w.plan.runsNow(h.action) {
		return
	}
	if h.attempt > 1 && !h.recent {
		c.breaks(retrying, "%s may use a connection that was kept for long", h.name)
	}
	last := map[int]*hit{} // by attempt; what became of one that was made again counts no more
	for _, o := range c.hits {
		if o != h && o.job == h.job && o.attempt < h.attempt {
			last[o.attempt] = o
		}
	}
	for attempt := 1; attempt < h.attempt; attempt++ {
		o := last[attempt]
		if o == nil || !o.clean {
			continue
		}
		if attempt == 1 && h.attempt == 2 && o.dropped() {
			c.counts["dropped requests that were sent again"]++
			continue // at once
		}
		if h.at.Sub(o.end) < time.Second {
			c.breaks(early, "%s was sent %s after attempt %d had failed", h.name, h.at.Sub(o.end), o.attempt)
		}
	}
}

// checkDefinition reports a request with a body that its job had before an edit.
func (c *checker) checkDefinition(h *hit) {
	told, r := c.accepts[h.job], c.jobs[h.job]
	if told == nil || r == nil {
		return
	}
	value := func(args rawjson.Value) string { return member(rawjson.Get(args, "body"), "v") }
	sent := member(rawjson.Value(h.body), "v")
	if sent != value(told.Args) && sent != value(r.args) {
		c.breaks(edited, "%s has the body %s, its client was told %s", h.name, h.body, told.Args)
	}
}

// checkFence reports a request from a node that does not hold the claim.
func (c *checker) checkFence(n *node, h *hit) {
	r := c.jobs[h.job]
	if r == nil || !r.unfinished() || n.self == nil || c.moved[h.job] {
		return
	}
	if self := n.self(); r.item == nil || r.item.node != self || r.item.attempt != h.attempt {
		c.breaks(fence, "%s, which is %d, sent %s, whose queue item is %+v", n.name, self, h.name, r.item)
	}
}

// checkSilence reports a request of a job whose end was acknowledged.
func (c *checker) checkSilence(h *hit) {
	if at, ok := c.cancels[h.job]; ok && time.Since(at) > c.noticed() {
		c.breaks(silence, "%s was sent %s after its client was told that it is cancelled", h.name, time.Since(at))
	}
	if r := c.jobs[h.job]; r != nil && (r.state == job.Completed || r.state == job.Discarded) &&
		time.Since(c.ends[h.job]) > 100*time.Millisecond {
		c.breaks(silence, "%s was sent %s after the job was %s", h.name, time.Since(c.ends[h.job]), r.state)
	}
	for _, o := range c.hits {
		if o != h && o.job == h.job && o.taken && strings.Contains(o.answer.report, "result") && time.Since(o.takenAt) > c.noticed() {
			c.breaks(silence, "%s was sent %s after its result was taken", h.name, time.Since(o.takenAt))
		}
	}
}

// checkAborted reports a request that went on although its job was cancelled. A node
// with faults may not hear of it.
func (c *checker) checkAborted(h *hit) {
	at, ok := c.cancels[h.job]
	if ok && !c.had(faults...) && time.Since(at) > c.noticed() {
		c.breaks(silence, "%s went on for %s after its client was told that it is cancelled", h.name, time.Since(at))
	}
}
