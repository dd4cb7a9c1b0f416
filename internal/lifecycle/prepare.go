package lifecycle

import (
	"fmt"
	"runtime/debug"

	"github.com/punctual-dev/punctual/internal/job"
)

// prepare renders the request. If it is too large, or rendering panics, the
// attempt is refused; nothing else is affected.
func (a *Attempt) prepare(render func(*job.Spec, job.Dynamic) (*job.Outgoing, error)) {
	defer func() {
		if p := recover(); p != nil {
			a.Defect = fmt.Sprintf("%v\n%s", p, debug.Stack())
			a.Outgoing = job.Unrendered(&a.Spec)
			a.Refused = &job.Failure{
				Kind: job.KindInternal, Message: "a defect of the service prevented the request from being prepared; nothing was sent; see the service's log",
			}
		}
	}()
	a.Spec = job.ReadSpec(a.Item.Job.Args)
	outgoing, err := render(&a.Spec, job.NewDynamic(a.Item.Job.Number, a.Item.Schedule))
	a.Outgoing = outgoing
	if err != nil {
		a.Refused = &job.Failure{Kind: job.KindTooLarge, Message: err.Error() + "; nothing was sent"}
	}
}
