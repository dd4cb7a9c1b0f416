package harness

import (
	"time"

	"github.com/punctual-dev/punctual/test/pace"
)

// machine measures how late this machine is while the tests of a process run.
var machine *pace.Watch

// Allowed returns how long what began at a time may take, where limit is promised: a slow
// machine takes longer, and one that was busy meanwhile too.
func Allowed(limit time.Duration, began time.Time) time.Duration {
	return pace.Limit(limit) + Slack(began)
}

// Slack returns how much later than promised something may be that began at a time,
// because the machine was busy.
func Slack(began time.Time) time.Duration {
	if machine == nil {
		return 0 // Main does not run the tests
	}
	return machine.Slack(began)
}
