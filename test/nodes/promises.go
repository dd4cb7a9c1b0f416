package nodes

import (
	"fmt"
	"slices"
	"time"
)

// kindOf returns the kind that a job was created with.
func (c *checker) kindOf(number int64) Kind {
	if key := c.Jobs[number].Key; key != nil {
		return c.Kinds[*key]
	}
	return Plain
}

// lastError returns the kind of the last failure in a job's logs.
func (c *checker) lastError(number int64) (kind string) {
	var at time.Time
	for _, log := range c.Logs[number] {
		if log.Event == "worker.http.error" && !log.Inserted.Before(at) {
			at, kind = log.Inserted, log.Payload.Kind
		}
	}
	return kind
}

// mayDiscard reports whether a job's kind permits that it was discarded, for the
// reason that its logs give.
func (c *checker) mayDiscard(number int64) bool {
	switch kind := c.kindOf(number); kind {
	case Failing:
		return true
	case Refused:
		return c.lastError(number) == "answer"
	case Silent:
		return c.lastError(number) == "abandoned"
	case Expiring, Held:
		return c.lastError(number) == "expired"
	}
	return false
}

// retries returns how many requests of a job follow a failure that its target has
// reported.
func (c *checker) retries(number int64) (n int) {
	for _, log := range c.Logs[number] {
		if log.Payload.Kind == "answer" && log.Payload.RetryAt != nil {
			n++
		}
	}
	return n
}

// checkMix looks at what jobs of a mix have beside a request.
func (c *checker) checkMix() {
	for number := range c.Jobs {
		job := c.Jobs[number]
		switch kind := c.kindOf(number); {
		case kind.awaited():
			c.checkReports(number, &job, kind)
		case kind == Expiring || kind == Held:
			c.checkExpiry(number, &job, kind)
		}
	}
	c.checkRate()
	c.checkParallel()
	c.checkMessages()
}

// checkReports looks at an attempt's outcomes: one that was acknowledged ends the
// job, and nothing is sent after it.
func (c *checker) checkReports(number int64, job *Job, kind Kind) {
	c.report.Awaited++
	want := map[Kind]string{Reported: "completed", Again: "completed", Refused: "discarded", Silent: "discarded"}[kind]
	if job.Job.State != want {
		c.complain("job %d of the kind %s is %s, want %s: %s", number, kind, job.Job.State, want, c.story(number))
	}
	taken, ends := map[string]bool{}, 0
	for _, r := range c.Outcomes[number] {
		switch {
		case r.Status == 200:
			taken[r.Path] = true
			if retried := kind == Again && r.Body == outcomeOf(Again, "1"); !retried {
				ends++
				c.wantSilence(number, r)
			}
		case r.Status != 409 && r.Status != 410:
			c.complain("a report for job %d was answered with %d: %s", number, r.Status, c.story(number))
		}
	}
	switch final, _ := job.final(); {
	case kind == Silent:
		if started := c.lastStart(number); final.Before(started.Add(c.Terms.Within)) {
			c.complain("job %d was given up before its target had %s: %s", number, c.Terms.Within, c.story(number))
		}
	case ends != 1:
		c.complain("%d outcomes of job %d were acknowledged, want 1: %s", ends, number, c.story(number))
	}
	c.report.Completed += len(taken)
}

// lastStart returns when the last attempt of a job started.
func (c *checker) lastStart(number int64) (at time.Time) {
	for _, log := range c.Logs[number] {
		if log.Event == "worker.http.request" && log.Inserted.After(at) {
			at = log.Inserted
		}
	}
	return at
}

// wantSilence reports requests that were sent after the outcome was acknowledged.
func (c *checker) wantSilence(number int64, r Outcome) {
	for _, hit := range c.Hits[number] {
		if hit.Sent.After(r.Acked.Add(noticeWithin + c.Slack)) {
			c.complain("job %d was sent again after its outcome was acknowledged at %s: %s", number, clock(r.Acked), c.story(number))
		}
	}
}

// checkExpiry reports starts that were too late, and jobs that were given up too
// early. The log has the start; the request follows when it is connected.
func (c *checker) checkExpiry(number int64, job *Job, kind Kind) {
	deadline := job.due().Add(c.Terms.ExpiresIn[kind])
	for _, hit := range c.Hits[number] {
		if hit.Sent.After(deadline.Add(noticeWithin+c.Slack)) || kind == Held {
			c.complain("job %d, which expired at %s, was sent: %s", number, clock(deadline), c.story(number))
		}
	}
	for _, log := range c.Logs[number] {
		if log.Event == "worker.http.request" && log.Inserted.After(deadline) {
			c.complain("job %d, which expired at %s, was started: %s", number, clock(deadline), c.story(number))
		}
	}
	if final, _ := job.final(); job.Job.State != "completed" {
		c.report.Expired++
		if final.Before(deadline.Add(-grain)) {
			c.complain("job %d, which expires at %s, was given up: %s", number, clock(deadline), c.story(number))
		}
	} else if kind == Held {
		c.complain("job %d is completed, though its limit is paused: %s", number, c.story(number))
	}
}

// span is when a request was sent, or when it was under way.
type span struct {
	from, to time.Time
	number   int64
}

// spans returns what reached the target of jobs of some kinds.
func (c *checker) spans(of func(number int64, hit Hit) span, kinds ...Kind) (all []span) {
	for number, hits := range c.Hits {
		if slices.Contains(kinds, c.kindOf(number)) {
			for _, hit := range hits {
				all = append(all, of(number, hit))
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.to.Compare(b.to) })
	return all
}

// checkRate reports windows in which more attempts started than the limit permits.
// The target knows of each that it was sent between the second in its signature and
// its arrival, so a window counts what certainly started in it. The service's own
// start times are exact; no request arrived before the one that it logged.
func (c *checker) checkRate() {
	if c.Terms.Calls == 0 {
		return
	}
	sent := c.spans(func(number int64, hit Hit) span { return span{hit.Sent, hit.At, number} }, Rated, Both)
	c.report.Limited += len(sent)
	for i := range sent {
		until, n := sent[i].to, 0
		for _, s := range sent[:i+1] {
			if until.Sub(s.from) < c.Terms.Per {
				n++
			}
		}
		if n > c.Terms.Calls {
			c.complain("%d requests reached the target within %s before %s, the limit is %d", n, c.Terms.Per, clock(until), c.Terms.Calls)
		}
	}
	c.checkStarts()
}

// checkStarts is checkRate by the start times in the logs.
func (c *checker) checkStarts() {
	var starts []time.Time
	for number, logs := range c.Logs {
		if kind := c.kindOf(number); kind != Rated && kind != Both {
			continue
		}
		var first time.Time
		for _, log := range logs {
			if log.Event != "worker.http.request" {
				continue
			}
			starts = append(starts, log.Inserted)
			if first.IsZero() || log.Inserted.Before(first) {
				first = log.Inserted
			}
		}
		for _, hit := range c.Hits[number] {
			if hit.At.Before(first) {
				c.complain("job %d came before its start at %s: %s", number, clock(first), c.story(number))
			}
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	for i := c.Terms.Calls; i < len(starts); i++ {
		if between := starts[i].Sub(starts[i-c.Terms.Calls]); between < c.Terms.Per {
			c.complain("%d attempts started within %s at %s, the limit is %d in %s", c.Terms.Calls+1, between, clock(starts[i]),
				c.Terms.Calls, c.Terms.Per)
		}
	}
}

// checkParallel reports moments at which more attempts were under way than the
// limit permits: from the arrival of a request until its response was written, or,
// of an awaited one, until the target reported an outcome that was taken.
func (c *checker) checkParallel() {
	if c.Terms.Parallel == 0 {
		return
	}
	open := c.spans(func(number int64, hit Hit) span {
		s := span{hit.At, hit.End, number}
		for _, r := range c.Outcomes[number] {
			if r.Status == 200 && r.Asked.After(s.to) && !hit.Aborted && c.lastHit(number) == hit {
				s.to = r.Asked
			}
		}
		return s
	}, Slotted, Both, Reported)
	c.report.Limited += len(open)
	for _, s := range open {
		var others []int64
		for _, o := range open {
			if !o.from.After(s.from) && o.to.After(s.from) {
				others = append(others, o.number)
			}
		}
		if len(others) > c.Terms.Parallel {
			c.complain("%d attempts were under way at %s, the limit is %d: jobs %v; %s", len(others), clock(s.from), c.Terms.Parallel,
				others, c.story(s.number))
		}
	}
}

func (c *checker) lastHit(number int64) Hit {
	return slices.MaxFunc(c.Hits[number], func(a, b Hit) int { return a.At.Compare(b.At) })
}

// checkMessages wants one message for each change: it has an id of its own, and is
// repeated only where a fault kept its delivery from being recorded.
func (c *checker) checkMessages() {
	ids := map[string]map[string]bool{} // by change
	calm := map[string]int{}            // deliveries that no fault touched, by id
	for _, m := range c.Messages {
		key := ""
		if job := c.Jobs[m.Job]; job.Key != nil {
			key = *job.Key
		}
		change, known := c.Changes[key]
		if want := map[Kind]string{Failing: "failed", Passing: "recovered"}[change.Kind]; !known || m.Type != want ||
			m.Alert != change.Alert {
			c.complain("an alert sent %s %s of job %d, want %q of %q", m.Alert, m.Type, m.Job, want, change.Alert)
			continue
		}
		if ids[key] == nil {
			ids[key] = map[string]bool{}
		}
		ids[key][m.ID] = true
		if !c.underWayAtFault(m.Hit) {
			calm[m.ID]++
		}
	}
	for key, change := range c.Changes {
		if n := len(ids[key]); n != 1 {
			c.complain("%s sent %d messages of a change to %s, want 1", change.Alert, n, change.Kind)
		}
	}
	for id, n := range calm {
		if n > 1 {
			c.complain("message %s was delivered %d times though no fault touched these", id, n)
		}
	}
	c.report.Messages = len(ids)
}

// mixed describes what the mix contained.
func (r *Report) mixed() string {
	return fmt.Sprintf("%d requests under limits, %d awaited jobs with %d reports taken, %d jobs expired, %d changes told by alerts",
		r.Limited, r.Awaited, r.Completed, r.Expired, r.Messages)
}
