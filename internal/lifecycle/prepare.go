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
	err := fault.Guard(func() (err error) {
		a.Spec = job.ReadSpec(a.Item.Job.Args)
		a.Outgoing, err = render(&a.Spec, job.NewDynamic(a.Item.Job.Number, a.Item.Schedule))
		return err
	})
	switch {
	case errors.As(err, new(*fault.PanicError)):
		a.defect(err)
	case err != nil:
		a.Refused = &job.Failure{Kind: job.KindTooLarge, Message: err.Error() + "; nothing was sent"}
	}
}

// defect refuses the attempt because of a fault of the service.
func (a *Attempt) defect(err error) {
	a.Defect, a.Outgoing = err, job.Unrendered(&a.Spec)
	a.Refused = &job.Failure{
		Kind: job.KindInternal, Message: "a defect of the service prevented the request from being prepared; nothing was sent; see the service's log",
	}
}
