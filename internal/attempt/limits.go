package attempt

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/execute"
)

// limited lets a request leave only if leave allows it, and in the time that its
// limits have granted. It reports when it left. done is to be called when the attempt
// is over.
func (a *jobAttempt) limited(request execute.Request, leave func() bool) (limited execute.Request, done func()) {
	item, r := a.Item, a.runner
	allowed := leave
	leave = func() bool {
		if !allowed() {
			return false
		}
		if a.restarted.Load() != nil {
			a.sayPoints(request.Own)
		}
		return true
	}
	request.Leave = leave
	if item.StartBy.IsZero() || r.LimitStarted == nil {
		return request, func() {}
	}
	r.Metrics.LimitWaited(item.Due.Sub(item.OwnDue))
	left := false
	report := func() bool {
		if left { // the request is repeated with another token
			return true
		}
		now := r.Queue.Now()
		if now.After(item.StartBy) {
			return false
		}
		left = true
		r.LimitStarted(item.Account, item.Number, item.Limits, item.StartBy, now)
		return true
	}
	request.Leave = func() bool { return leave() && report() }
	return request, func() {
		if !left {
			report() // it never left, which counts as if it had
		}
	}
}

// pointsField has how many points of its schedule's grid a run stands for.
const pointsField = "X-Punctual-Points"

// sayPoints sets pointsField among the fields of a request, if it is there.
func (a *jobAttempt) sayPoints(own []execute.Field) {
	for i := range own {
		if own[i].Name == pointsField {
			own[i].Value = strconv.FormatInt(a.Points, 10)
		}
	}
}
