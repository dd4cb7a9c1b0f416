package lifecycle

import (
	"errors"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// prepare renders the request. If the job's state permits no attempt, the
// request is too large, or rendering panics, the attempt is refused; nothing
// else is affected.
func (a *Attempt) prepare(render func(*job.Spec, job.Dynamic) (*job.Outgoing, error)) {
	if err := a.Item.Job.Permits(job.Executing); err != nil {
		a.defect(err)
		return
	}
	var unread error
	err := fault.Guard(func() (err error) {
		dynamic := job.NewDynamic(a.Item.Job.Number, a.Item.Schedule)
		if a.Spec, unread = a.readSpec(&dynamic); unread != nil {
			return unread
		}
		if a.FansOut() {
			a.Outgoing = job.Unrendered(&a.Spec)
			return nil
		}
		a.Outgoing, err = render(&a.Spec, dynamic)
		return err
	})
	switch {
	case errors.As(err, new(*fault.PanicError)):
		a.defect(err)
	case unread != nil:
		a.Outgoing = job.Unrendered(&a.Spec)
		a.Refused = &job.Failure{Kind: job.KindSecret, Message: "what the job's redact hides can't be read: " + unread.Error() +
			"; nothing was sent"}
	case err != nil:
		a.Refused = &job.Failure{Kind: job.KindTooLarge, Message: err.Error() + "; nothing was sent"}
	}
}

// readSpec reads what the request consists of: what is hidden too, if it may be sent.
func (a *Attempt) readSpec(d *job.Dynamic) (job.Spec, error) {
	j := a.Item.Job
	if !a.sends {
		return job.ReadSpec(j.Args), nil
	}
	spec, err := job.ReadSentSpec(j.Args, &j.Hidden, a.sealer, j.Owner)
	if err != nil || !d.Conceals {
		return spec, err
	}
	d.Previous, err = job.OpenPrevious(a.sealer, a.Item.Schedule)
	return spec, err
}

// defect refuses the attempt because of a fault of the service.
func (a *Attempt) defect(err error) {
	a.Defect, a.Outgoing = err, job.Unrendered(&a.Spec)
	a.Refused = &job.Failure{
		Kind: job.KindInternal, Message: "a defect of the service prevented the request from being prepared; nothing was sent; see the service's log",
	}
}
