package attempt

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
)

// refuse returns the outcome of an attempt whose request must not be sent. It
// counts like any other failed attempt.
func (a *jobAttempt) refuse() job.Outcome {
	r := a.runner
	lateness := r.Queue.Now().Sub(a.Item.Due)
	outcome := job.Outcome{Failure: a.Refused}
	r.Metrics.Begun(kindJob, lateness)
	r.Metrics.Attempted(kindJob, outcomeName(&outcome, lifecycle.Failed), 0)
	if r.Stats != nil {
		r.Stats.Observe(a.Item.Job.Owner.Number, false, lateness, 0)
	}
	return outcome
}

// reportDefect logs the defect that kept the request from being prepared, if any.
func (a *jobAttempt) reportDefect() {
	if a.Defect != nil {
		a.runner.Log.Error("preparing a request failed because of a defect; the attempt fails", "job", a.Item.Job.Number, "attempt",
			a.Number, "error", a.Defect)
	}
}
