package demo

import (
	"time"
)

// start is when the jobs of the tests' demo were created.
var start = time.Date(2026, 3, 1, 9, 0, 0, 120_000_000, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// promised returns the evidence of a demo where all went well: a fresh one on
// every call, for tests to spoil.
func promised() *evidence {
	const ms = time.Millisecond
	e := &evidence{}
	disabled := "2026-03-01T09:00:12Z"
	e.schedules = []scheduleRecord{{Name: "recurring", DisabledAt: &disabled}}
	add := func(r run) {
		r.began, r.fired, r.ended = r.due.Add(ms/2), r.due.Add(ms), r.due.Add(2*ms)
		if !r.retryAt.IsZero() {
			r.retryAt = r.ended.Add(10_400 * ms)
		}
		if r.attempt == 0 {
			r.attempt = 1
		}
		e.runs = append(e.runs, &r)
		e.hits = append(e.hits, hit{at: r.fired, job: r.job, attempt: r.attempt})
		e.logs = append(e.logs, logRecord{Event: eventRequest, Job: r.job}, logRecord{Event: eventResponse, Job: r.job})
		if r.state == "completed" {
			e.store(r.state)
		}
	}
	add(run{role: oneOff, job: 1, due: after(1500 * ms), status: 200, state: "completed"})
	add(run{role: failsOnce, job: 3, due: after(2500 * ms), status: 503, state: "retryable", retryAt: start})
	for n := range enough {
		job := int64(2)
		if n > 0 {
			job = int64(3 + n)
		}
		add(run{role: recurring, job: job, due: after(time.Duration(n+1) * interval), status: 200, state: "completed", count: n + 1})
	}
	add(run{role: failsOnce, job: 3, attempt: 2, due: e.runs[1].retryAt, status: 200, state: "completed"})
	e.store("cancelled")
	return e
}

// store adds a job in a state to what is stored.
func (e *evidence) store(state string) {
	var record jobRecord
	record.Job.State = state
	e.jobs = append(e.jobs, record)
}
