package attempt

import "github.com/punctual-dev/punctual/internal/job"

// refuse ends an attempt whose request must not be sent. It counts like any
// other that failed.
func (a *jobAttempt) refuse() job.Outcome {
	r := a.runner
	lateness := r.Queue.Now().Sub(a.Run.Due)
	outcome := job.Outcome{Failure: a.Refused}
	r.Metrics.Begun(kindJob, lateness)
	r.Metrics.Attempted(kindJob, outcomeName(&outcome), 0)
	if r.Stats != nil {
		r.Stats.Observe(a.Run.Job.Owner.Number, false, lateness, 0)
	}
	return outcome
}

// reportDefect logs the panic that the attempt ended in, if any.
func (a *jobAttempt) reportDefect() {
	if a.Defect != "" {
		a.runner.Log.Error("an attempt failed because of a defect", "job", a.Run.Job.Number, "attempt", a.Number, "panic", a.Defect)
	}
}
