package store

import (
	"context"
	"github.com/google/uuid"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Kind is what a queue item fires.
type Kind int

// The kinds of queue items.
const (
	KindJob      Kind = 0
	KindDelivery Kind = 1
)

// ItemID identifies a queue item for as long as it is in the queue.
type ItemID struct {
	Kind   Kind
	Number int64 // of the job or the delivery
}

// QueueKey is the part of a queue item that is needed to choose what to claim.
type QueueKey struct {
	ItemID
	Due     time.Time
	Account int64  // the owner's number
	Lane    uint32 // a hash of the target's or receiver's origin
	// Revision is the revision of the job. A claim with another one than the item's
	// fails, because its attempt was prepared with an older definition. Deliveries
	// have none.
	Revision int64
}

// QueueItem is a queue item read for firing.
type QueueItem struct {
	QueueKey
	Attempt  int           // attempts so far, the claimed one included
	Job      *job.Job      // for KindJob
	Schedule *job.Schedule // for KindJob of a schedule that still exists
	Delivery *job.Delivery // for KindDelivery
	// Claim is set if a node has claimed the item.
	Claim *ClaimInfo
	// Limits are the keys of the limits that the item needs, the Named ones that
	// its job names first. Granted reports that
	// it may start, from Due to StartBy; else it has to wait for them. OwnDue is
	// the due time that it has itself; zero if no limit applies.
	Limits  []string
	Named   int
	Granted bool
	StartBy time.Time
	OwnDue  time.Time
}

// Abandoned is a claim whose node is gone.
type Abandoned struct {
	QueueKey
	Node    int64
	Attempt int
}

// Claim asks for a run in a node's name.
type Claim struct {
	QueueKey
	Attempt int       // the number of the attempt it is claimed for
	StartAt time.Time // when the attempt counts as started
	// Wait makes the call wait a moment for items that other transactions have
	// locked. Otherwise it does not claim these.
	Wait bool
	// Log is the request log, Deliveries the start events. They are stored with
	// the claim and are visible from StartAt on.
	Log        *job.Log
	Deliveries []job.Delivery
	// Completion is set if the target can complete the attempt.
	Completion *job.Completion
	// Schedule is that of a run, as the attempt was prepared for it; zero for others.
	Schedule ScheduleVersion
}

// ScheduleVersion identifies what a schedule says, and how often it was disabled.
type ScheduleVersion struct {
	ID              uuid.UUID
	Revision, Epoch int64
}

// ClaimStatus is what a node has of a claim.
type ClaimStatus uint8

// The states of claims.
const (
	// NotHeld means that the claim has ended.
	NotHeld ClaimStatus = iota
	// Held means that the attempt may start.
	Held
	// HeldOutdated means that the schedule was edited, disabled or deleted since: the
	// attempt must not start, and its end decides what becomes of the run.
	HeldOutdated
)

// Size returns approximately how many bytes a claim stores.
func (c *Claim) Size() int {
	size := 0
	if c.Log != nil {
		size += len(c.Log.Payload)
	}
	for i := range c.Deliveries {
		size += len(c.Deliveries[i].Body)
	}
	return size
}

// Finish ends a claimed queue item, provided that the node still holds it for
// that attempt. Decide is for jobs; only Now, Schedule and Completion are set in
// its Snapshot.
type Finish struct {
	QueueKey
	Node     int64
	Attempt  int
	Job      *job.Job // as it was read; for KindJob
	Decide   Decide
	Delivery *DeliveryEnd // for KindDelivery
	// Completable asks for the attempt's completion in the Snapshot.
	Completable bool
	// Size is approximately how many bytes the end stores. It bounds how many are
	// committed together.
	Size int
}

// DeliveryEnd is the outcome of an attempt at a delivery.
type DeliveryEnd struct {
	Again   time.Time // when to retry; zero if delivered or given up, which deletes the delivery
	Attempt int       // attempts so far; interrupted ones don't count
	Log     *job.Log  // set if it was given up
	// Outcome is what became of an alert's message, for the tracker of alerts; nil for
	// other deliveries and while it is retried.
	Outcome *AlertOutcome
}

// ReleasesNext reports whether the next event of the job may be attempted after
// this end: after the first attempt at an event of a webhook, whatever its
// outcome. Before is how many attempts were counted before this one. An
// interrupted attempt is not counted, and releases nothing.
func (e *DeliveryEnd) ReleasesNext(channel job.Channel, before int) bool {
	return channel == job.Webhook && before == 0 && (e.Again.IsZero() || e.Attempt > 0)
}

// Queue is the engine's part of the store: it claims queue items and finishes
// them.
type Queue interface {
	Parking
	Suspects
	LimitQueue
	// Now is the store's clock, which decides what is due.
	Now() time.Time
	// QueuePeek returns up to limit unclaimed items in order of due time, kind and
	// number, after a given one; the zero QueueKey sorts before all. It stops after
	// the first item that is due after until; a zero until sets no bound.
	QueuePeek(ctx context.Context, after QueueKey, until time.Time, limit int) ([]QueueKey, error)
	// QueueLoad returns the items for firing, in the order given. An item that is
	// no longer in the queue is nil.
	QueueLoad(ctx context.Context, refs []QueueKey) ([]*QueueItem, error)
	// QueueClaim claims the items that are unclaimed and whose attempts so far are
	// one less than the claim's. It reports for each whether it was claimed; none
	// is for a node whose lease has expired, and those that another transaction has
	// locked need not be.
	QueueClaim(ctx context.Context, node int64, claims []Claim) ([]bool, error)
	// QueueFinish ends items. It reports for each whether the node still had claimed it;
	// nothing is stored for the others. It returns ErrUnstorable, and ends none, if
	// the database refuses the changes of one of them or a Decide panics.
	QueueFinish(ctx context.Context, runs []Finish) ([]bool, error)
	// QueueRelease undoes claims whose attempts have not started. It skips claims
	// that the node no longer holds.
	QueueRelease(ctx context.Context, node int64, claims []Claim) error
	// QueueHeld reports for each claim whether the node still holds it, and whether its
	// schedule is as it was.
	QueueHeld(ctx context.Context, node int64, claims []Claim) ([]ClaimStatus, error)
	// QueueAbandoned returns up to limit claims whose node is gone. It reads the
	// queue only, so that no record can keep it from doing so. On a store for many
	// nodes, those that have been silent for too long are gone from then on.
	QueueAbandoned(ctx context.Context, limit int) ([]Abandoned, error)
}

// Nodes registers the processes that run jobs, and keeps their leases.
type Nodes interface {
	// NodeStart registers this process as a node and returns its number. On a
	// store for one process it abandons all existing claims.
	NodeStart(ctx context.Context) (node int64, err error)
	// NodeHeartbeat renews a node's lease and returns the nodes that are alive. It
	// must be called every HeartbeatInterval.
	NodeHeartbeat(ctx context.Context, node int64) (Heartbeat, error)
	// NodeHoldsLease reports, without a query, whether the node certainly holds its
	// claims. It returns false when the last heartbeat was too long ago.
	NodeHoldsLease(node int64) bool
	// NodeStop ends a node's lease and abandons its claims.
	NodeStop(ctx context.Context, node int64) error
}

// HeartbeatInterval is the interval between a node's heartbeats.
const HeartbeatInterval = 2 * time.Second

// Heartbeat is the result of a heartbeat.
type Heartbeat struct {
	// LeaseExpired is set if the node's lease had expired: other nodes reclaim its
	// items, and it must register again.
	LeaseExpired bool
	// Nodes are the numbers of the nodes that are alive, the caller included, in
	// ascending order.
	Nodes []int64
	// NotificationsDown is set while notices of other nodes don't arrive. The
	// engine must then verify claims before firing and scan the queue more often.
	NotificationsDown bool
}

// Retention deletes old records in batches. A round of batches examines every old
// record once: each batch begins behind the last record of the one before. Some old
// records stay, so a batch may examine many and delete none. If deleting fails in a batch
// with a limit of 1, Next is nevertheless behind that record, unless that can't be read.
type Retention interface {
	// JobPrune examines up to limit jobs behind a position, fewer when they are large, of
	// those that became final before a time. It deletes all but the newest jobs of
	// existing schedules.
	JobPrune(ctx context.Context, before time.Time, after PruneCursor, limit int) (Pruned, error)
	// LogPrune examines up to limit logs behind a position, fewer when they are large, and
	// deletes those from before a time. Those stay that a message refers to, or that
	// belong to an attempt under way.
	LogPrune(ctx context.Context, before time.Time, after PruneCursor, limit int) (Pruned, error)
}

// PruneCursor is a position among old records. Each store sets the fields by which it
// orders them. The zero position is before the first.
type PruneCursor struct {
	At      time.Time // when the last job examined became final
	Account int64
	Number  int64     // of the last job or log
	ID      uuid.UUID // of the last log
}

// Pruned is the result of a batch of a Retention.
type Pruned struct {
	Removed  int
	Examined int         // records, and accounts of which no log is old
	Next     PruneCursor // where the next batch begins, also one that comes later because More is false
	More     bool        // whether old records may be behind Next
}

// Counts counts the records of all accounts, for the metrics.
type Counts interface {
	// JobCounts returns the number of jobs of all accounts by state.
	JobCounts(ctx context.Context) (map[job.State]int64, error)
	// QueueCounts returns the number of due queue items by kind.
	QueueCounts(ctx context.Context) (map[Kind]int64, error)
}
