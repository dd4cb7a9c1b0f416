package nodes

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// recordWithin is how much later than its response an attempt may be
	// recorded: one whose node fails in between is retried, as it should be.
	recordWithin = 3 * time.Second
	// noticeWithin is how long a node may take to see that it can't go on, or
	// to stop a request that another node has cancelled.
	noticeWithin = 2 * time.Second
	// toldWithin is how long the notification of a cancel may take to another node that
	// has claimed the job. A request that was sent meanwhile must be
	// aborted.
	toldWithin = 250 * time.Millisecond
	// takeOver is how long after a fault its effects may last: the node's lease
	// expires, and its claims are reclaimed and retried.
	takeOver = 22 * time.Second
	// grain is how far two nodes' readings of the same clock may differ.
	grain = 100 * time.Millisecond
)

// Report is what the checker found.
type Report struct {
	Violations []string
	Jobs       int // records
	Accepted   int // creates acknowledged
	Requests   int
	Repeated   int             // requests beyond the first of a job
	Skipped    int             // slots made up by a later run
	Late       []time.Duration // of first requests, sorted
	// LateCalm is of those that were due far from every fault.
	LateCalm []time.Duration

	// Of a mix.
	Limited   int // requests under limits
	Awaited   int // jobs whose target completes them
	Completed int // outcomes taken
	Expired   int // jobs
	Messages  int // changes that alerts reported
}

// checker compares a history with the promises.
type checker struct {
	*History
	report Report
}

// Check compares a history with the promises: nothing acknowledged is lost,
// every due slot of a schedule has its run, nothing is early, only what was
// under way at a fault is repeated, schedules have one unfinished job, and what
// was cancelled is not sent.
func Check(h *History) *Report {
	c := &checker{History: h, report: Report{Jobs: len(h.Jobs), Accepted: len(h.Created)}}
	c.checkAccepted()
	for number := range h.Jobs {
		c.checkJob(number)
	}
	for number := range h.Hits {
		if _, known := h.Jobs[number]; !known {
			c.complain("a request came for job %d, of which there is no record", number)
		}
	}
	c.checkSchedules()
	c.checkMix()
	slices.Sort(c.report.Late)
	slices.Sort(c.report.LateCalm)
	slices.Sort(c.report.Violations)
	return &c.report
}

func (c *checker) complain(format string, args ...any) {
	c.report.Violations = append(c.report.Violations, fmt.Sprintf(format, args...))
}

// checkAccepted looks for acknowledged jobs that are missing.
func (c *checker) checkAccepted() {
	for number, created := range c.Created {
		job, there := c.Jobs[number]
		if !there {
			c.complain("job %d was acknowledged and is lost", number)
		} else if job.Key == nil || *job.Key != created.Key {
			c.complain("job %d was acknowledged for key %s and has another", number, created.Key)
		}
	}
	for number := range c.Cancelled {
		if job, there := c.Jobs[number]; there && job.Job.State != "cancelled" {
			c.complain("the cancel of job %d was acknowledged, and it is %s", number, job.Job.State)
		}
	}
}

// checkJob looks at one job, its requests and its logs.
func (c *checker) checkJob(number int64) {
	job, hits, interrupted := c.Jobs[number], c.Hits[number], 0
	for _, log := range c.Logs[number] {
		if log.Payload.Kind == "interrupted" || log.Payload.Kind == "answer" && log.Payload.RetryAt != nil {
			interrupted++
		}
	}
	c.report.Requests += len(hits)
	switch state := job.Job.State; {
	case job.Schedule == nil && (job.Key == nil || !c.Keys[*job.Key]):
		c.complain("job %d was not asked for", number)
	case state == "completed":
		if !c.succeeded(number, hits) {
			c.complain("job %d is completed, but no request of it was answered: %s", number, c.story(number))
		}
	case state == "cancelled":
		c.checkCancelled(number, &job, hits)
	case state == "discarded" && c.mayDiscard(number):
	default:
		c.complain("job %d is %s in the end; logs %s", number, state, c.story(number))
	}
	if len(hits) > interrupted+1 {
		c.complain("job %d made %d requests, of which its logs explain %d: %s", number, len(hits), interrupted+1, c.story(number))
	}
	c.checkHits(number, &job, hits)
}

// succeeded reports whether a target's response, or its report, can have completed a
// job. A report may come before the response, which a kill of the sender cuts off.
func (c *checker) succeeded(number int64, hits []Hit) bool {
	return slices.ContainsFunc(hits, func(h Hit) bool { return !h.End.IsZero() && !h.Aborted }) ||
		slices.ContainsFunc(c.Outcomes[number], func(r Outcome) bool { return r.Status == http.StatusOK })
}

// checkHits reports requests that were early, and repeated ones that were not
// under way at a fault.
func (c *checker) checkHits(number int64, job *Job, hits []Hit) {
	undisturbed := 0
	for i, hit := range hits {
		if hit.At.Before(job.Job.Scheduled) {
			c.complain("job %d came %s early", number, job.Job.Scheduled.Sub(hit.At))
		}
		if !c.underWayAtFault(hit) {
			undisturbed++
		}
		if i == 0 && !slices.Contains(limited, c.kindOf(number)) {
			c.noteLateness(number, job, hit.At)
		}
	}
	c.report.Repeated += max(0, len(hits)-1)
	if undisturbed > 1+c.retries(number) {
		c.complain("job %d was made %d times though no fault touched %d of these: %s", number, len(hits), undisturbed, c.story(number))
	}
}

// noteLateness counts from when a job was due and known to be stored.
func (c *checker) noteLateness(number int64, job *Job, at time.Time) {
	from := job.due()
	late := at.Sub(from)
	c.report.Late = append(c.report.Late, late)
	if !c.disturbed(from.Add(-time.Second)) {
		c.report.LateCalm = append(c.report.LateCalm, late)
		if late > takeOver+c.Slack {
			c.complain("job %d came %s late, far from every fault", number, late)
		}
	}
}

// underWayAtFault reports whether a fault may have kept a request's end from
// being recorded: it was under way, or just over, when the fault began; or it
// was begun by a node that woke up and had not noticed yet.
func (c *checker) underWayAtFault(hit Hit) bool {
	begun, end := hit.begun(), c.recorded(hit)
	for _, f := range c.Faults {
		began := f.From
		if f.Kind == Killed {
			began = f.To // by then it was dead for certain
		}
		if !begun.After(began.Add(noticeWithin+c.Slack)) && !end.Before(f.From) {
			return true
		}
		if f.Kind != Killed && !hit.At.Before(f.To.Add(-grain)) && !begun.After(f.To.Add(noticeWithin+c.Slack)) {
			return true
		}
	}
	return false
}

// recorded returns until when the end of a request may not have been recorded:
// while the database is away, nothing is.
func (c *checker) recorded(hit Hit) time.Time {
	if hit.End.IsZero() {
		return time.Now()
	}
	end := hit.End.Add(recordWithin + c.Slack)
	for moved := true; moved; {
		moved = false
		for _, f := range c.Faults {
			if until := f.To.Add(recordWithin + c.Slack); f.Kind == Database && !end.Before(f.From) && end.Before(until) {
				end, moved = until, true
			}
		}
	}
	return end
}

// disturbed reports whether a moment is in a fault or so soon after one that
// its effects may last.
func (c *checker) disturbed(at time.Time) bool {
	return slices.ContainsFunc(c.Faults, func(f Fault) bool {
		return !at.Before(f.From.Add(-recordWithin-c.Slack)) && !at.After(f.To.Add(takeOver+c.Slack))
	})
}

// checkCancelled reports requests after a cancel was acknowledged, unless one
// was under way and had to be aborted.
func (c *checker) checkCancelled(number int64, job *Job, hits []Hit) {
	if job.Schedule == nil && !c.Cancels[number] {
		c.complain("job %d is cancelled, and nobody asked for that", number)
	}
	acked, known := c.Cancelled[number]
	if !known {
		return
	}
	for _, hit := range hits {
		switch {
		case c.sentAfterPause(hit, acked):
			c.complain("job %d came after a node had stood still, %s after its cancel was acknowledged: %s", number, hit.At.Sub(acked),
				c.story(number))
		case hit.begun().Before(acked), c.underWayAtFault(hit):
		case hit.Aborted && hit.begun().Before(acked.Add(toldWithin+c.Slack)): // by another node
		case job.Job.Attempted == nil || hit.begun().After(acked.Add(noticeWithin+c.Slack)):
			c.complain("job %d came %s after its cancel was acknowledged: %s", number, hit.At.Sub(acked), c.story(number))
		}
	}
}

// sentAfterPause reports whether a request came right after a node had gone on that was
// stopped when the cancel of its job was acknowledged.
func (c *checker) sentAfterPause(hit Hit, acked time.Time) bool {
	return slices.ContainsFunc(c.Faults, func(f Fault) bool {
		return f.Kind == Paused && acked.After(f.From) && acked.Before(f.To.Add(-toldWithin)) && hit.At.After(f.To) &&
			hit.At.Before(f.To.Add(noticeWithin))
	})
}

// story describes a job, for error messages.
func (c *checker) story(number int64) string {
	job := c.Jobs[number]
	text := fmt.Sprintf("%s, due %s", job.Job.State, clock(job.Job.Scheduled))
	for _, hit := range c.Hits[number] {
		text += fmt.Sprintf("; request %s from %s to %s (sent %s, aborted %t)", hit.Attempt, clock(hit.At), clock(hit.End), clock(hit.Sent),
			hit.Aborted)
	}
	for _, log := range c.Logs[number] {
		text += fmt.Sprintf("; %s %s at %s", log.Event, log.Payload.Kind, clock(log.Inserted))
	}
	for _, f := range c.Faults {
		if f.To.After(job.Job.Scheduled.Add(-recordWithin)) && f.From.Before(job.Job.Scheduled.Add(2*takeOver)) {
			text += fmt.Sprintf("; %s %s from %s to %s", f.Where, f.Kind, clock(f.From), clock(f.To))
		}
	}
	return text
}

func clock(at time.Time) string { return at.UTC().Format("15:04:05.000") }
