package lifecycle

import (
	"fmt"
	"runtime/debug"

	"github.com/punctual-dev/punctual/internal/job"
)

// prepare makes the attempt's request. One that is too large is refused, and so
// is one that ends in a panic: neither ends anything but the attempt.
func (a *Attempt) prepare(render func(*job.Spec, job.Dynamic) (*job.Outgoing, error)) {
	defer func() {
		if p := recover(); p != nil {
			a.Defect = fmt.Sprintf("%v\n%s", p, debug.Stack())
			a.Outgoing = job.Unrendered(&a.Spec)
			a.Refused = &job.Failure{
				Kind: job.KindInternal, Message: "a defect of the service, which is in its log, kept the request from being prepared; nothing was sent",
			}
		}
	}()
	a.Spec = job.ReadSpec(a.Run.Job.Args)
	outgoing, err := render(&a.Spec, job.NewDynamic(a.Run.Job.Number, a.Run.Schedule))
	a.Outgoing = outgoing
	if err != nil {
		a.Refused = &job.Failure{Kind: job.KindTooLarge, Message: err.Error() + "; nothing was sent"}
	}
}
