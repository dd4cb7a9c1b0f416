package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// Copyable is a Store whose records can be copied.
type Copyable interface {
	Store
	Copies
}

// Copies copies records to another store unchanged: with their numbers and IDs,
// their times and their positions in the queue. No node may run on either store
// meanwhile.
type Copies interface {
	// CopyBegin begins or resumes a copy from the store named source. It returns
	// the position to continue after: "" for a new copy. It returns an Invalid fault
	// if the store contains anything except an unfinished copy of the same source.
	CopyBegin(ctx context.Context, source string) (mark string, err error)
	// CopyWrite stores records and the position, which must not be "", in one
	// transaction. Records that exist already are left unchanged. The queue items
	// of pending jobs and of deliveries are stored unclaimed, with their attempts
	// so far. It returns an Invalid fault if no copy of the source is under way.
	CopyWrite(ctx context.Context, source, mark string, records *Records) error
	// CopyEnd marks a copy as complete. Records stored later get numbers above all
	// copied ones, and jobs get numbers above lastJob, which must not be less than
	// any copied job's number.
	CopyEnd(ctx context.Context, source string, lastJob int64) error
	// CopyUnfinished reports whether the store contains an incomplete copy.
	CopyUnfinished(ctx context.Context) (bool, error)

	// QueueClaimed returns the number of queue items that nodes have claimed,
	// whether these are alive or not, and of those that await their completion.
	QueueClaimed(ctx context.Context) (claimed, awaiting int64, err error)
	// JobLast returns the highest number that a job has ever had; 0 before the
	// first. The job itself may have been deleted.
	JobLast(ctx context.Context) (int64, error)
	// JobPage returns up to limit of an account's jobs with numbers below one, the
	// highest first; 0 means from the newest. It ends with the job whose size (job.Size)
	// makes the page exceed a budget in bytes.
	JobPage(ctx context.Context, owner job.Owner, below int64, limit, budget int) ([]*job.Job, error)
	// LogPage returns up to limit of an account's logs after an ID, in order of
	// their IDs, including those with a time in the future.
	LogPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) ([]*job.Log, error)
	// RequestPage returns up to limit remembered requests of an account after an ID, in
	// order of their IDs, including expired ones.
	RequestPage(ctx context.Context, owner job.Owner, after uuid.UUID, limit int) ([]*Request, error)
	// DeliveryPage returns up to limit pending deliveries after a number, in order
	// of their numbers.
	DeliveryPage(ctx context.Context, after int64, limit int) ([]*PendingDelivery, error)
	// AuditPage returns up to limit entries of the audit log after an account's
	// number and an ID, in order of both.
	AuditPage(ctx context.Context, account int64, after uuid.UUID, limit int) ([]*identity.AuditEntry, error)
}

// Records are records to be copied from one store to another.
type Records struct {
	Accounts      []*identity.Account // with their secrets
	People        []*identity.Person  // with their second factors
	Members       []*identity.Member
	Keys          []*identity.Key
	HeaderSecrets []*identity.HeaderSecret
	Alerts        []*Alert // not what they have counted
	Recipients    []*Recipient
	Schedules     []*job.Schedule
	Jobs          []StoredJob
	Logs          []*job.Log
	Requests      []*Request
	Waits         []*Wait
	Deliveries    []*PendingDelivery
	Audits        []*identity.AuditEntry
}

// StoredJob is a job with the lane of its queue item.
type StoredJob struct {
	*job.Job
	Lane uint32 // see QueueKey; 0 for a final job
}

// PendingDelivery is a delivery as stored.
type PendingDelivery struct {
	job.Delivery
	// Waits is set while an earlier event of the job has not been attempted: the
	// delivery has no queue item yet, and DueAt is the time of the event.
	Waits bool
}
