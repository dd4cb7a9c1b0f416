package soak

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// kind is what a job has beside a request.
type kind string

const (
	plain     kind = "plain"
	edited    kind = "edited"    // a client changes its body before it is due
	cancelled kind = "cancelled" // a client cancels it before or when it is due
	retried   kind = "retried"   // its first attempt fails
	doomed    kind = "doomed"    // its only attempt fails; an alert watches
	healed    kind = "healed"    // it succeeds; the same alert watches
	slotted   kind = "slotted"   // under a limit on attempts under way
	rated     kind = "rated"     // under a limit on starts
	reported  kind = "reported"  // its target reports the result later
)

// limited reports whether attempts wait for limits, and are late for a reason.
func (k kind) limited() bool { return k == slotted || k == rated }

// hit is a request at the target.
type hit struct {
	at, end   time.Time // end is zero while it is under way
	version   int64     // of the body
	answered  bool      // the response was written while the connection lasted
	scheduled time.Time
}

// entry is a job that a client has asked for.
type entry struct {
	key     string
	kind    kind
	account int

	number  int64 // 0 while no response has told it
	due     time.Time
	stored  time.Time // when a client was told that it is stored; zero if none was
	version int64     // of the body, which the last acknowledged change has stored
	changed time.Time // when that was acknowledged
	unsure  bool      // a change may have been stored or not
	ended   time.Time // when a client was told that it is cancelled
	hits    []*hit
	took    bool // a reported result was taken
}

// fault is a time in which the process was killed or stopped, with its effects.
type fault struct {
	kind     string
	from, to time.Time
}

// How much later than a fault its effects may show: an attempt whose outcome was not
// stored is made again after the restart, and stored late.
const (
	before = 3 * time.Second
	after  = 8 * time.Second
)

// ledger knows the jobs whose end has not been checked.
type ledger struct {
	mu         sync.Mutex
	entries    map[string]*entry
	faults     []fault
	violations []string
	counts     map[string]int
	late       []time.Duration // since the last sample
	underWay   map[int]int     // by account, of slotted jobs
	starts     map[int][]time.Time
}

func newLedger() *ledger {
	return &ledger{entries: map[string]*entry{}, counts: map[string]int{}, underWay: map[int]int{}, starts: map[int][]time.Time{}}
}

func (l *ledger) do(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *ledger) complain(format string, args ...any) {
	l.do(func() { l.broken(format, args...) })
}

// broken is complain with mu held. The first hundred are kept.
func (l *ledger) broken(format string, args ...any) {
	if l.counts["violations"]++; len(l.violations) < 100 {
		l.violations = append(l.violations, fmt.Sprintf(format, args...))
	}
}

// disturbed reports whether a fault may have had an effect between two times. Called
// with mu held.
func (l *ledger) disturbed(from, to time.Time) bool {
	return slices.ContainsFunc(l.faults, func(f fault) bool {
		return to.After(f.from.Add(-pace.Limit(before))) && (f.to.IsZero() || from.Before(f.to.Add(pace.Limit(after))))
	})
}

// The limits of each account.
const (
	parallel  = 2
	rateCalls = 4
	ratePer   = 5 * time.Second
	// grain is how much longer than the next ones a request may take to reach the
	// target on a busy machine: starts are exact where they leave.
	grain = 2 * time.Second
)

// arrive notes a request and checks it. It returns nil if the ledger does not know it.
func (l *ledger) arrive(key string, h *hit) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	if e == nil {
		l.counts["requests of jobs that were given up"]++
		return nil
	}
	l.counts["requests"]++
	e.hits = append(e.hits, h)
	calm := !l.disturbed(h.at.Add(-before), h.at)
	switch {
	case h.at.Before(h.scheduled):
		l.broken("job %s came %s early", key, h.scheduled.Sub(h.at))
	case calm && !e.kind.limited() && len(e.hits) == 1 && !l.disturbed(h.scheduled, h.at):
		l.late = append(l.late, h.at.Sub(h.scheduled))
	}
	if late := h.at.Sub(e.ended); !e.ended.IsZero() && calm && late > 2*time.Second && late > harness.Allowed(2*time.Second, e.ended) {
		l.broken("job %s came %s after its cancel was acknowledged", key, h.at.Sub(e.ended))
	}
	switch e.kind {
	case slotted:
		if l.underWay[e.account]++; l.underWay[e.account] > parallel && calm {
			l.broken("%d requests of account %d are under way, the limit is %d", l.underWay[e.account], e.account, parallel)
		}
	case rated:
		recent := append(l.starts[e.account], h.at)
		if n := len(recent) - 1 - rateCalls; n >= 0 && calm {
			if span := h.at.Sub(recent[n]); span < ratePer-grain && span < ratePer-harness.Allowed(grain, recent[n]) {
				l.broken("account %d had %d starts in %s, the limit is %d in %s", e.account, rateCalls+1, span, rateCalls, ratePer)
			}
		}
		l.starts[e.account] = recent[max(0, len(recent)-rateCalls-1):]
	}
	return e
}

// leave notes the end of a request.
func (l *ledger) leave(e *entry, h *hit, answered bool) {
	l.do(func() {
		h.end, h.answered = time.Now(), answered
		if e != nil && e.kind == slotted {
			l.underWay[e.account]--
		}
	})
}

// attempts returns how many requests of a job there are without faults.
func (e *entry) attempts() int {
	if e.kind == retried {
		return 2
	}
	return 1
}

// want returns the final state of a job.
func (e *entry) want() string {
	switch {
	case !e.ended.IsZero():
		return "cancelled"
	case e.kind == doomed:
		return "discarded"
	}
	return "completed"
}

// judge compares the end of a job with what was promised, and forgets it.
func (l *ledger) judge(e *entry, state string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, e.key)
	l.counts["jobs "+state]++
	if want := e.want(); state != want && !(e.unsure && state == "cancelled") {
		l.broken("job %s of kind %s is %s in the end, want %s", e.key, e.kind, state, want)
	}
	undisturbed, answered := 0, e.took
	for _, h := range e.hits {
		end := h.end
		if end.IsZero() {
			end = time.Now()
		}
		answered = answered || h.answered
		if !l.disturbed(h.at, end.Add(before)) {
			undisturbed++
		}
		if h.version != e.version && !e.unsure && (h.at.After(e.changed) || e.changed.IsZero()) {
			l.broken("job %s was sent with body %d; its client was told %d", e.key, h.version, e.version)
		}
	}
	if undisturbed > e.attempts() {
		l.broken("job %s of kind %s was sent %d times though no fault touched %d of these", e.key, e.kind, len(e.hits), undisturbed)
	}
	if state == "completed" && !answered {
		l.broken("job %s is completed, but no request of it was answered", e.key)
	}
	if n := len(e.hits) - e.attempts(); n > 0 {
		l.counts["repeated"] += n
	}
}
