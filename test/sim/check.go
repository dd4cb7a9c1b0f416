package sim

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
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
	giveWay  = "a retry gives way to the next run"
	edited   = "an edit that was answered takes effect"
	after    = "a job starts after those that it waits for"
)

// violation is a broken promise.
type violation struct{ promise, text string }

func (v *violation) String() string { return v.promise + ": " + v.text }

// hit is a request as its target saw it. Times are by the database's clock.
type hit struct {
	name, url, message, body, token string
	recent                          bool // it goes over no connection that was kept for long

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
	read      int  // when the message of a workflow run was read, as checker.now counts
}

// dropped reports whether the request was lost on a connection that was kept open.
func (h *hit) dropped() bool { return h.answer.status == dropped && !h.recent }

// checker compares what happens with what is promised.
type checker struct {
	w *world

	mu     sync.Mutex
	broken *violation
	story  []string
	counts map[string]int

	version int64
	jobs    map[int64]*row
	accepts map[int64]*job.Job   // as clients were told last
	cancels map[int64]time.Time  // when a client was told so
	moved   map[int64]bool       // jobs whose times clients have changed
	grids   map[string]time.Time // when the first run of a schedule was due
	stored  map[int64]time.Time  // when a job was seen in the database first, which may be long after its insertion time
	ends    map[int64]time.Time  // when jobs became final
	waited  map[int64]bool       // jobs that had to wait for the end of another one
	awaits  map[int64][]int64    // the jobs that a job waits for, or did
	hits    []*hit
	history history
	flows   *runChecker // nil if the plan has no workflow runs
	// lostClaims is set once a claim was committed whose node heard that it failed, or
	// heard of it late.
	lostClaims bool
}

func newChecker(w *world) *checker {
	c := &checker{
		w: w, counts: map[string]int{}, jobs: map[int64]*row{}, accepts: map[int64]*job.Job{}, cancels: map[int64]time.Time{},
		moved: map[int64]bool{}, grids: map[string]time.Time{}, stored: map[int64]time.Time{},
		waited: map[int64]bool{}, awaits: map[int64][]int64{},
		ends: map[int64]time.Time{},
	}
	if w.plan.runsIn() {
		c.flows = newRunChecker(c)
	}
	return c
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
	c.lostClaims = c.lostClaims || (t.fate == forget || t.fate == lag) && call.what == "QueueClaim"
	switch t.fate {
	case refuse, forget:
		c.counts["faults"]++
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
	c.checkAfter(h)
	c.checkTogether(h)
	if c.flows != nil {
		c.flows.checkRequest(h)
	}
}

// left notes the end of a request.
func (c *checker) left(h *hit, cause error) {
	now := c.w.db.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.end.IsZero() {
		h.end = now
	}
	c.checkAborted(h)
	h.clean = cause == nil || strings.Contains(cause.Error(), "deadline")
	if cause != nil {
		c.tell("%s ends: %v", h.name, cause)
	}
}

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

// clock formats a time for the story.
func clock(t time.Time) string { return t.UTC().Format("15:04:05.000000") }
