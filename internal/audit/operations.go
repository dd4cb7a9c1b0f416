package audit

import "github.com/punctual-dev/punctual/internal/job"

// The events of operations on many jobs.
const (
	OperationStarted = "operation.started"
	OperationStopped = "operation.stopped"
)

// OperationDetail returns the detail of an entry about an operation on many jobs.
func OperationDetail(o *job.Operation) string {
	return string(o.Action) + " " + string(o.Filter) + ", operation " + o.ID.String()
}
