package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Transfer is a store whose records can be copied to another one as they are:
// with their numbers and ids, their times and their places in the queue. No
// node runs on either store meanwhile.
type Transfer interface {
	Store
	// TransferBegin prepares a store to take over what the one named source
	// holds, and gives the mark to go on behind: "" at the beginning. An
	// Invalid fault when the store holds anything but an unfinished copy of the
	// same source.
	TransferBegin(ctx context.Context, source string) (mark string, err error)
	// TransferWrite stores records together with the mark, which must not be
	// "", in one transaction. What is there stays. Runs of pending jobs and of
	// deliveries are stored unclaimed with the attempts begun. An Invalid fault
	// when no copy of the source has begun, or it is whole.
	TransferWrite(ctx context.Context, source, mark string, records *Records) error
	// TransferEnd marks a copy as whole. What is stored from then on gets
	// numbers above all copied ones, and jobs above lastJob, which is at least
	// that of every copied job.
	TransferEnd(ctx context.Context, source string, lastJob int64) error
	// TransferUnfinished reports whether the store holds a copy that is not whole.
	TransferUnfinished(ctx context.Context) (bool, error)

	// RunsClaimed counts the runs that nodes have claimed, whether they live or not.
	RunsClaimed(ctx context.Context) (int64, error)
	// JobLast gives the highest number that a job has ever had; 0 before the
	// first. The job itself may be gone.
	JobLast(ctx context.Context) (int64, error)
	// LogPage reads an account's logs as stored, also those of times ahead, in
	// order of their ids, behind a given one.
	LogPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) ([]*job.Log, error)
	// DeliveryPage reads pending deliveries in order of their numbers, behind a
	// given one.
	DeliveryPage(ctx context.Context, after int64, limit int) ([]*PendingDelivery, error)
	// AuditPage reads entries of the audit log in order of their accounts' numbers
	// and their IDs, behind a given one.
	AuditPage(ctx context.Context, account int64, after uuid.UUID, limit int) ([]*Audit, error)
}

// Records are records on their way from one store to another.
type Records struct {
	Accounts   []*Account // with their secrets
	Keys       []*Key
	Schedules  []*job.Schedule
	Jobs       []StoredJob
	Logs       []*job.Log
	Deliveries []*PendingDelivery
	Audits     []*Audit
}

// StoredJob is a job with what its run needs beside it.
type StoredJob struct {
	*job.Job
	Lane uint32 // see Ref; 0 for a final job
}

// PendingDelivery is a delivery as stored.
type PendingDelivery struct {
	job.Delivery
	// Waits: an earlier event of the job has not been tried, so there is no run
	// yet. DueAt is the time of the event then.
	Waits bool
}
