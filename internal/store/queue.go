package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Kind says what a run fires.
type Kind int

// The kinds of runs.
const (
	KindJob      Kind = 0
	KindDelivery Kind = 1
)

// RunID names a run for as long as it is in the queue.
type RunID struct {
	Kind   Kind
	Number int64 // of the job or the delivery
}

// Ref is a line of the queue: all that is needed to choose what to claim.
type Ref struct {
	RunID
	Due     time.Time
	Account int64  // the owner's number
	Lane    uint32 // a hash of the receiver's origin
}

// Run is a run read for firing.
type Run struct {
	Ref
	Attempt  int           // attempts begun so far, the claimed one included
	Job      *job.Job      // for KindJob
	Schedule *job.Schedule // for KindJob of a schedule that still exists
	Delivery *job.Delivery // for KindDelivery
	// Claim is set for runs that a node has claimed.
	Claim *Held
}

// Abandoned is a claim whose node is gone.
type Abandoned struct {
	Ref
	Node    int64
	Attempt int
}

// Claim asks for a run in a node's name.
type Claim struct {
	Ref
	Attempt int       // the number of the attempt it is claimed for
	BeginAt time.Time // from when on the attempt counts as begun
	// Log is the request log, Deliveries the events of the begin; stored with
	// the claim and not shown before BeginAt.
	Log        *job.Log
	Deliveries []job.Delivery
}

// Size returns about how many bytes a claim stores.
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

// Finish ends a claimed run, provided that the node still holds it for that
// attempt. Decide is for jobs; its Moment has only Now and Schedule set.
type Finish struct {
	Ref
	Node     int64
	Attempt  int
	Job      *job.Job // as it was read; for KindJob
	Decide   Decide
	Delivery *DeliveryEnd // for KindDelivery
	// Size is about how many bytes the end stores; commits are bounded by it.
	Size int
}

// DeliveryEnd is what a try of a delivery comes to: done, or due again.
type DeliveryEnd struct {
	Again   time.Time // zero: delivered or given up; the delivery goes
	Attempt int       // tries to count so far; one that was interrupted does not count
	Log     *job.Log  // when it was given up
}

// Queue is what the engine needs: it claims runs and finishes them.
type Queue interface {
	Parking
	Suspects
	// Now is the store's clock, which decides what is due.
	Now() time.Time
	// RunPeek reads up to limit unclaimed runs in order of due time, kind and
	// number, behind a given one; the zero Ref stands before all. The first that
	// is due after until is the last to be read; a zero until sets no bound.
	RunPeek(ctx context.Context, after Ref, until time.Time, limit int) ([]Ref, error)
	// RunLoad reads the runs for firing. A run that is gone is nil. Results
	// stand in the order given.
	RunLoad(ctx context.Context, refs []Ref) ([]*Run, error)
	// RunClaim claims runs that are unclaimed and stand at the attempt before.
	// Results tell which were; none for a node that was taken for gone.
	RunClaim(ctx context.Context, node int64, claims []Claim) ([]bool, error)
	// RunFinish ends runs. Results tell which were still held; nothing is
	// stored for the others. An ErrUnstorable when the database refuses what one
	// of them comes to, or a Decide panics: none is ended then.
	RunFinish(ctx context.Context, runs []Finish) ([]bool, error)
	// RunRelease gives back claims whose attempts have not begun, as if they
	// had never been made.
	RunRelease(ctx context.Context, node int64, claims []Claim) error
	// RunHeld tells which claims a node still holds.
	RunHeld(ctx context.Context, node int64, claims []Claim) ([]bool, error)
	// RunAbandoned returns up to limit claims whose node is gone. It reads the
	// queue only, so that no record can keep it from doing so. On a store for many
	// nodes, those that have been silent for too long are gone from then on.
	RunAbandoned(ctx context.Context, limit int) ([]Abandoned, error)
	// RunCounts counts the runs of a kind that are due.
	RunCounts(ctx context.Context) (map[Kind]int64, error)
	// NodeStart names this process; on a store for one process every claim
	// found at that time is abandoned.
	NodeStart(ctx context.Context) (node int64, err error)
	// NodeBeat says that a node lives, and tells of the others. It is called
	// every BeatPause.
	NodeBeat(ctx context.Context, node int64) (Beat, error)
	// NodeHolds reports, without asking the database, whether a node's claims
	// are certain to be its own: not when its last beat was too long ago.
	NodeHolds(node int64) bool
	// NodeStop ends a node; what it holds is abandoned from then on.
	NodeStop(ctx context.Context, node int64) error
}

// BeatPause is how often a node says that it lives.
const BeatPause = 2 * time.Second

// Beat is what a node learns by saying that it lives.
type Beat struct {
	// Gone: the node had been silent for too long, and its claims are others'
	// now. It has to start anew.
	Gone bool
	// Nodes are the nodes that live, by number, the asking one among them.
	Nodes []int64
	// Deaf: notices of other nodes don't arrive for now, so that a claim must
	// be looked up before it is fired, and the queue be read more often.
	Deaf bool
}

// Retention removes what is old, a batch at a time.
type Retention interface {
	// JobPrune deletes up to limit jobs that became final before a time; fewer when
	// they are large, and none only when there are none.
	JobPrune(ctx context.Context, before time.Time, limit int) (int, error)
	// LogPrune deletes up to limit logs from before a time, counted alike. Those stay that a
	// message refers to, or that belong to an attempt under way.
	LogPrune(ctx context.Context, before time.Time, limit int) (int, error)
}
