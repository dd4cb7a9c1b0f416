package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// The promises that are checked, by their names in reports.
const (
	lost     = "nothing is lost"
	early    = "nothing is early"
	single   = "a schedule has one unfinished job"
	final    = "final states are final"
	keys     = "a key is held once"
	lateRun  = "missed time is made up by one late run"
	order    = "events are tried in order"
	rate     = "a rate is not exceeded"
	slots    = "no more than so many are under way"
	expiry   = "nothing starts after it has expired"
	silence  = "nothing is sent after the end"
	retrying = "a failed attempt is retried as often as asked"
	outcome  = "an outcome that was taken stays"
	late     = "nothing is late without a reason"
	fence    = "only the holder of a claim sends"
	told     = "the end is told once"
	edited   = "an edit that was answered takes effect"
)

// violation is a broken promise.
type violation struct{ promise, text string }

func (v *violation) String() string { return v.promise + ": " + v.text }

// hit is a request as its target saw it. Times are by the database's clock.
type hit struct {
	name, url, message, body, token string

	action    int
	job       int64 // 0 for a callback or webhook
	attempt   int
	scheduled time.Time
	node      *node
	answer    answer
	at, end   time.Time // end is zero while it is under way
	clean     bool      // the node took the answer
	taken     bool      // a final outcome was reported and taken
	takenAt   time.Time
	over      bool // the attempt is over though its outcome was awaited
}

// checker compares what happens with what is promised.
type checker struct {
	w *world

	mu     sync.Mutex
	broken *violation
	story  []string
	counts map[string]int

	version  int64
	jobs     map[int64]*row
	accepts  map[int64]*job.Job  // as clients were told last
	cancels  map[int64]time.Time // when a client was told so
	moved    map[int64]bool      // jobs whose times clients have changed
	hits     []*hit
	history  history
	clockAt  []time.Time // when the clock was moved
	unclears map[int]bool
	// lostClaims is set once a claim was committed whose node heard that it failed.
	lostClaims bool
}

func newChecker(w *world) *checker {
	return &checker{
		w: w, counts: map[string]int{}, jobs: map[int64]*row{}, accepts: map[int64]*job.Job{}, cancels: map[int64]time.Time{},
		moved: map[int64]bool{}, unclears: map[int]bool{},
	}
}

// note adds a line to the story.
func (c *checker) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(format, args...)
}

func (c *checker) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf("%12s  ", c.w.since())+fmt.Sprintf(format, args...))
}

// breaks notes a broken promise. The first one counts.
func (c *checker) breaks(promise, format string, args ...any) {
	if c.broken == nil {
		c.broken = &violation{promise, fmt.Sprintf(format, args...)}
		c.tell("BROKEN: %s", c.broken)
	}
}

func (c *checker) trace(call *call, t turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["steps"]++
	switch t.fate {
	case refuse, forget:
		c.counts["faults"]++
		c.lostClaims = c.lostClaims || t.fate == forget && call.what == "QueueClaim"
		c.tell("%s of %s %s", call.what, call.who, map[fate]string{refuse: "fails", forget: "loses its result"}[t.fate])
	}
}

// accepted notes what a client was told of a job.
func (c *checker) accepted(j *job.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.accepts[j.Number]; old != nil && old.Revision > j.Revision {
		return
	}
	c.accepts[j.Number] = j
	c.counts["accepted"]++
	c.tell("job %d of %s is %s, due %s, revision %d", j.Number, text(j.Name), j.State, clock(j.ScheduledAt), j.Revision)
}

func text(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// cancelled notes that a client was told that a job is cancelled.
func (c *checker) cancelled(j *job.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.State == job.Cancelled && c.cancels[j.Number].IsZero() {
		c.cancels[j.Number] = time.Now()
		c.tell("job %d is cancelled", j.Number)
	}
}

// answered notes the answer to a client's call.
func (c *checker) answered(a *action, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[string(a.verb)]++
	if err == nil {
		c.tell("%d. is answered", a.id)
		return
	}
	c.tell("%d. is answered: %v", a.id, err)
	if code := fault.CodeOf(err); code == fault.Internal {
		c.breaks("no call fails with a defect", "%d. %s: %v", a.id, a, err)
	}
}

// unclear notes that a client does not know what became of its call.
func (c *checker) unclear(a *action, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unclears[a.id] = true
	c.tell("%d. fails: %v", a.id, err)
}

// crashed ends the requests of a node that has crashed.
func (c *checker) crashed(n *node) {
	now := c.w.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["crashes"]++
	for _, h := range c.hits {
		if h.node == n && h.end.IsZero() {
			h.end = now
		}
	}
}

// arrived checks a request that reaches its target.
func (c *checker) arrived(n *node, h *hit) {
	h.node, h.at = n, c.w.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits = append(c.hits, h)
	c.counts["requests"]++
	c.tell("%s sends %s of job %d; the answer is %s", n.name, h.name, h.job, h.answer)
	if h.job == 0 {
		return
	}
	c.checkEarly(h)
	c.checkLate(h)
	c.checkBackoff(h)
	c.checkFence(n, h)
	c.checkDefinition(h)
	c.checkExpiry(h)
	c.checkLimits(h)
	c.checkSilence(h)
}

// left notes the end of a request.
func (c *checker) left(h *hit, cause error) {
	now := c.w.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.end.IsZero() {
		h.end = now
	}
	h.clean = cause == nil || strings.Contains(cause.Error(), "deadline")
	if cause != nil {
		c.tell("%s ends: %v", h.name, cause)
	}
}

func (c *checker) reporting(*hit) {}

// reported notes the answer to a target's report.
func (c *checker) reported(h *hit, r answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts["reports"]++
	if err != nil {
		c.tell("the report %s of %s is answered: %v", r.report, h.name, err)
		switch fault.CodeOf(err) {
		case fault.Gone, fault.Conflict:
			h.over = true
		case fault.Internal:
			c.breaks("no call fails with a defect", "the report of %s: %v", h.name, err)
		}
		return
	}
	c.tell("the report %s of %s is taken", r.report, h.name)
	if !strings.Contains(r.report, "progress") {
		h.taken, h.takenAt = true, time.Now()
	}
}

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
	// A job that came late, because it was followed or its due time had passed, counts
	// from when it was due by the service: never before it was stored.
	due := r.scheduled
	if r.inserted.After(due) {
		due = r.inserted
	}
	if deadline := due.Add(*spec.ExpiresIn + clockSlack); h.at.After(deadline) && r.follows == 0 && !c.moved[h.job] {
		c.breaks(expiry, "job %d was sent at %s, expired %s", h.job, clock(h.at), clock(deadline))
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
func (c *checker) clockMoved() bool {
	for _, a := range c.w.plan.actions {
		if a.verb == clockStep && a.at <= c.w.since() {
			return true
		}
	}
	return false
}

// underWay reports whether an attempt is under way as far as its target knows: the
// request, or what it has promised to report.
func (c *checker) underWay(h *hit) bool {
	if h.end.IsZero() {
		return true
	}
	r := c.jobs[h.job]
	return r != nil && r.item != nil && r.item.node == store.AwaitingNode && r.item.attempt == h.attempt && !h.taken && h.clean
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
	if c.faulty() {
		return 4 * time.Second
	}
	return 100 * time.Millisecond
}

// faulty reports whether there was a fault, or a node was started, so far.
func (c *checker) faulty() bool {
	for _, a := range c.w.plan.actions {
		if a.isFault() && a.at <= c.w.since() {
			return true
		}
	}
	return c.w.since() < time.Second
}

// lateBy is how late a request may be without a reason. Calls that take their turn
// later delay it.
const lateBy = 150 * time.Millisecond

// checkLate reports a start that is late though there was no fault, no limit and no
// other job to wait for.
func (c *checker) checkLate(h *hit) {
	r := c.jobs[h.job]
	if r == nil || c.w.plan.slots == fewSlots || c.faulty() || len(c.limitsOf(h)) > 0 || r.item == nil {
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
	if r == nil || c.clockMoved() || c.moved[h.job] {
		return
	}
	for _, o := range c.hits {
		if o != h && o.job == h.job && o.clean && o.attempt < h.attempt && h.at.Sub(o.end) < time.Second {
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
	for _, o := range c.hits {
		if o != h && o.job == h.job && o.taken && strings.Contains(o.answer.report, "result") && time.Since(o.takenAt) > c.noticed() {
			c.breaks(silence, "%s was sent %s after its result was taken", h.name, time.Since(o.takenAt))
		}
	}
}

// clock formats a time for the story.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000000") }
