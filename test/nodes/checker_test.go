package nodes

import (
	"strings"
	"testing"
	"time"
)

// planted is a history without violations: two jobs, one of them retried
// after a kill, one cancelled job and a schedule with three runs.
func planted() *History {
	h := NewHistory()
	t0 := time.Date(2031, 5, 6, 7, 8, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return t0.Add(time.Duration(seconds * float64(time.Second))) }
	ptr := func(seconds float64) *time.Time { v := at(seconds); return &v }
	add := func(number int64, schedule string, due, stored, ended float64, state string) {
		j := Job{Number: number}
		key := "key " + string(rune('0'+number))
		if j.Key = &key; schedule != "" {
			j.Schedule = &schedule
		}
		j.Job.State, j.Job.Scheduled, j.Job.Inserted = state, at(due), at(stored)
		if state == "completed" {
			j.Job.Attempted, j.Job.Completed = ptr(due), ptr(ended)
			h.Hits[number] = []Hit{{"1", at(due + 0.001), at(ended), false, at(due)}}
		} else {
			j.Job.Cancelled = ptr(ended)
		}
		h.Jobs[number], h.Keys[key] = j, true
		h.Created[number] = Created{key, at(stored)}
	}
	add(1, "", 1, 0, 1.1, "completed")
	add(2, "", 100, 0, 120, "completed")
	h.Hits[2] = []Hit{{"1", at(100.001), at(100.2), true, at(100)}, {"2", at(119), at(120), false, at(119)}}
	h.Logs[2] = []Log{{Event: "worker.http.error", Job: 2}}
	h.Logs[2][0].Payload.Kind = "interrupted"
	h.Faults = []Fault{{Killed, "node 1", at(100.1), at(100.1)}}
	add(3, "", 5, 0, 3, "cancelled")
	h.Cancels[3], h.Cancelled[3] = true, at(3)
	h.Schedules["s"] = &Schedule{First: at(10), Every: 2 * time.Second, Disabled: at(15.5)}
	add(4, "s", 10, 0, 10.1, "completed")
	add(5, "s", 12, 10.1, 12.1, "completed")
	add(6, "s", 14, 12.1, 14.1, "completed")
	return h
}

func TestChecker_AcceptsACorrectHistory(t *testing.T) {
	report := Check(planted())
	if len(report.Violations) > 0 {
		t.Errorf("violations in a history without any: %q", report.Violations)
	}
	if report.Accepted != 6 || report.Requests != 6 || report.Repeated != 1 {
		t.Errorf("report is %+v", report)
	}
}

// TestChecker_AcceptsARequestThatTheTargetReadLate has a request that was cut
// off by a kill but read, and even responded to, seconds after it.
func TestChecker_AcceptsARequestThatTheTargetReadLate(t *testing.T) {
	h := planted()
	killed := h.Faults[0].To
	late := &h.Hits[2][0]
	late.At, late.End, late.Aborted = killed.Add(4*time.Second), killed.Add(4050*time.Millisecond), false
	h.Hits[2][1].At, h.Hits[2][1].End = killed.Add(19*time.Second), killed.Add(19*time.Second)
	if violations := Check(h).Violations; len(violations) > 0 {
		t.Errorf("violations in a history without any: %q", violations)
	}
	late.Sent = late.At
	if violations := Check(h).Violations; len(violations) != 1 || !strings.Contains(violations[0], "though no fault") {
		t.Errorf("a repeat of what was sent after the kill is not found: %q", violations)
	}
}

// TestChecker_AcceptsARunDelayedByAFault has the last run of a schedule under
// way for longer than its interval, until the schedule is disabled.
func TestChecker_AcceptsARunDelayedByAFault(t *testing.T) {
	h := planted()
	due := h.Jobs[6].Job.Scheduled
	h.Faults = append(h.Faults, Fault{Killed, "node 2", due, due})
	h.Schedules["s"].Disabled = due.Add(15 * time.Second)
	if violations := Check(h).Violations; len(violations) != 1 || !strings.Contains(violations[0], "was not disabled before") {
		t.Errorf("a schedule that ends after a fault is not found: %q", violations)
	}
	ended := due.Add(16 * time.Second)
	j := h.Jobs[6]
	j.Job.Completed = &ended
	h.Jobs[6] = j
	if violations := Check(h).Violations; len(violations) > 0 {
		t.Errorf("violations in a history without any: %q", violations)
	}
}

// runAfterCancel returns a request of job 3 that began some time after its cancel.
func runAfterCancel(h *History, later time.Duration, aborted bool) []Hit {
	at := h.Cancelled[3].Add(later)
	return []Hit{{"1", at, at.Add(time.Millisecond), aborted, at}}
}

// TestChecker_AcceptsACancelToldLate has a request that another node sent before it
// was told of the cancel, and aborted then.
func TestChecker_AcceptsACancelToldLate(t *testing.T) {
	h := planted()
	job := h.Jobs[3]
	job.Job.Scheduled = h.Cancelled[3]
	h.Jobs[3] = job
	h.Hits[3] = runAfterCancel(h, 100*time.Millisecond, true)
	if violations := Check(h).Violations; len(violations) > 0 {
		t.Errorf("violations in a history without any: %q", violations)
	}
}

func TestChecker_FindsEveryViolation(t *testing.T) {
	change := func(number int64, f func(*Job)) func(*History) {
		return func(h *History) {
			j := h.Jobs[number]
			f(&j)
			h.Jobs[number] = j
		}
	}
	for what, c := range map[string]struct {
		plant func(*History)
		want  string
	}{
		"a lost job":             {func(h *History) { delete(h.Jobs, 1); delete(h.Hits, 1) }, "is lost"},
		"a job not run":          {func(h *History) { delete(h.Hits, 1) }, "no request of it was answered"},
		"a job not final":        {change(1, func(j *Job) { j.Job.State = "executing" }), "is executing in the end"},
		"a job given up":         {change(1, func(j *Job) { j.Job.State = "discarded" }), "is discarded in the end"},
		"a job out of nowhere":   {func(h *History) { delete(h.Keys, "key 1") }, "was not asked for"},
		"a request of nobody":    {func(h *History) { h.Hits[9] = h.Hits[1] }, "no record"},
		"an early request":       {func(h *History) { h.Hits[1][0].At = h.Jobs[1].Job.Scheduled.Add(-time.Millisecond) }, "early"},
		"a repeat of no fault":   {func(h *History) { h.Hits[1] = append(h.Hits[1], h.Hits[1][0]) }, "though no fault"},
		"a repeat not explained": {func(h *History) { delete(h.Logs, 2) }, "its logs explain"},
		"a repeat after a fault": {func(h *History) {
			h.Faults[0].From = h.Faults[0].From.Add(-5 * time.Second)
			h.Faults[0].To = h.Faults[0].From
		}, "though no fault"},
		"a cancelled job run": {func(h *History) { h.Hits[3] = runAfterCancel(h, time.Second, false) }, "after its cancel"},
		"a cancelled job run soon": {func(h *History) { h.Hits[3] = runAfterCancel(h, 100*time.Millisecond, false) },
			"after its cancel"},
		"a cancelled job stopped too late": {func(h *History) { h.Hits[3] = runAfterCancel(h, time.Second, true) }, "after its cancel"},
		"a cancelled job run by a node that stood still": {func(h *History) {
			acked := h.Cancelled[3]
			h.Faults = append(h.Faults, Fault{Paused, "node 2", acked.Add(-time.Second), acked.Add(time.Second)})
			h.Hits[3] = runAfterCancel(h, time.Second+5*time.Millisecond, false)
		}, "stood still"},
		"a cancel undone":    {change(3, func(j *Job) { j.Job.State = "completed" }), "and it is completed"},
		"a cancel of nobody": {func(h *History) { delete(h.Cancels, 3) }, "nobody asked"},
		"a schedule not run": {func(h *History) { h.Schedules["x"] = h.Schedules["s"] }, "has no run"},
		"a slot twice": {change(6, func(j *Job) { j.Job.Scheduled = j.Job.Scheduled.Add(-2 * time.Second) }),
			"for the same slot"},
		"a slot off the grid": {change(6, func(j *Job) { j.Job.Scheduled = j.Job.Scheduled.Add(time.Second) }),
			"off its schedule's grid"},
		"a slot passed over": {change(6, func(j *Job) { j.Job.Scheduled = j.Job.Scheduled.Add(2 * time.Second) }), "not the next slot"},
		"a schedule that ends": {func(h *History) { h.Schedules["s"].Disabled = h.Schedules["s"].First.Add(time.Minute) },
			"was not disabled before"},
		"two unfinished at once": {change(6, func(j *Job) { j.Job.Inserted = j.Job.Inserted.Add(-time.Second) }), "before job 5 was final"},
		"a sample of two":        {func(h *History) { h.Several = []string{"had 2 unfinished jobs"} }, "had 2 unfinished"},
		"a slot skipped in calm": {func(h *History) {
			change(5, func(j *Job) {
				end := j.Job.Scheduled.Add(slowest + 3*time.Second)
				j.Job.Completed = &end
			})(h)
			change(6, func(j *Job) {
				j.Job.Scheduled = j.Job.Scheduled.Add(slowest)
				j.Job.Inserted = *h.Jobs[5].Job.Completed
			})(h)
		}, "passed over without a fault"},
	} {
		h := planted()
		c.plant(h)
		if found := strings.Join(Check(h).Violations, "\n"); !strings.Contains(found, c.want) {
			t.Errorf("%s: want a violation that says %q, got %q", what, c.want, found)
		}
	}
}
