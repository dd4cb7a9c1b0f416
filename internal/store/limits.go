package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
)

// heldFor is how far ahead the due time of an item lies while limits hold it, so
// that no scan of the queue reads it. Nothing else is due so late: nothing is
// scheduled more than ten years ahead, and schedules end at schedule.LastDue.
const heldFor = 250 * 365 * 24 * time.Hour

// HeldDue returns the due time of a queue item that limits hold, given its own.
// It is in the same order as the item's own.
func HeldDue(due time.Time) time.Time { return due.Add(heldFor) }

// heldFrom is before every due time of a limited item and after every other one.
var heldFrom = time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC)

// OwnDue returns the due time that a job has itself, given that of its queue
// item, and whether limits hold the item.
func OwnDue(due time.Time) (own time.Time, held bool) {
	if due.Before(heldFrom) {
		return due, false
	}
	return due.Add(-heldFor), true
}

// LimitKey identifies a limit.
type LimitKey struct {
	Account int64
	Key     string
}

// LimitWake is when a limit is to be planned.
type LimitWake struct {
	LimitKey
	At time.Time
}

// Names for types of package limit.
type (
	Limit    = limit.Record
	LimitUse = limit.Use
)

// MaxLimitCount is where counts of jobs under a limit stop.
const MaxLimitCount = limit.MaxCount

// LimitedJobs is a limit with the due jobs that wait for it.
type LimitedJobs struct {
	Key     string
	Paused  bool
	Waiting int
	Since   time.Time // when the first of them was due
}

// LimitStart is the actual start of an attempt of a job that was granted until a time.
type LimitStart struct {
	Job       int64
	Until, At time.Time
}

// Limits stores the limits for receivers.
type Limits interface {
	// LimitPut stores an owner's limit. It returns a TooMany fault if the owner
	// would have more than limit.MaxPerAccount, and the fault of putIf.Check
	// if the condition does not hold.
	LimitPut(ctx context.Context, owner job.Owner, l Limit, putIf PutIf) (created bool, err error)
	// LimitReset forgets which attempts have started under one of the owner's limits, so
	// that its rate counts anew. It returns a NotFound fault if there is none.
	LimitReset(ctx context.Context, owner job.Owner, key string) error
	// LimitGet returns one of the owner's limits with its use, or a NotFound fault.
	LimitGet(ctx context.Context, owner job.Owner, key string) (*LimitUse, error)
	// LimitList returns up to limit of the owner's limits after a key, in order of
	// their keys.
	LimitList(ctx context.Context, owner job.Owner, after string, limit int) ([]Limit, error)
	// LimitDelete deletes one of the owner's limits, or returns a NotFound fault.
	// If unfinished jobs name it, followers included, it returns their number, up to
	// MaxLimitCount, and deletes nothing.
	LimitDelete(ctx context.Context, owner job.Owner, key string) (named int, err error)
	// LimitNamed returns one of the owner's limits, or a NotFound fault.
	LimitNamed(ctx context.Context, owner job.Owner, key string) (*Limit, error)
	// LimitJobs returns up to most of the owner's unfinished jobs that name a limit, after
	// a position, in the order of their positions.
	LimitJobs(ctx context.Context, owner job.Owner, key string, after limit.Position, most int) ([]limit.Position, error)
	// LimitsOf returns which of the keys the owner has defined.
	LimitsOf(ctx context.Context, owner job.Owner, keys []string) ([]string, error)
	// LimitsHolding returns the keys that hold back one of the owner's jobs now, in
	// the order in which the job needs them.
	LimitsHolding(ctx context.Context, owner job.Owner, j *job.Job) ([]string, error)
	// LimitsWaiting returns up to limit of the owner's limits for which due jobs
	// wait, that of the job that is due longest first, and counts the jobs of each up
	// to most.
	LimitsWaiting(ctx context.Context, owner job.Owner, limit, most int) ([]LimitedJobs, error)
	// LimitWaiting returns how many due jobs of all accounts wait for limits, up to
	// MaxLimitCount.
	LimitWaiting(ctx context.Context) (int, error)
}

// LimitPass plans a limit.
type LimitPass struct {
	LimitKey
	Starts []LimitStart
	Ahead  time.Duration // see limit.Window
	Grace  time.Duration
	Limit  int           // how many items are considered at most
	Defer  time.Duration // if set, only plan again after this time
}

// LimitPassed is the result of a LimitPass.
type LimitPassed struct {
	Granted int
	Decided int        // items that were granted or have moved
	Blocked bool       // it waits for the end of an attempt
	Serial  bool       // it is ordered and waits for the start of an attempt
	Moved   []LimitKey // limits that items wait for from now on
	Next    time.Time  // when to plan again; zero if nothing waits
}

// HeldItem is a queue item that limits hold.
type HeldItem struct {
	QueueKey
	Keys  []string // all that it needs; at least one
	Named int      // how many of them, the first ones, the job names
	// Expires is the latest time at which it may start; zero for none.
	Expires time.Time
}

// LimitQueue is the engine's part of Limits.
type LimitQueue interface {
	// LimitWakes returns up to limit limits to be planned until a time, the earliest
	// first.
	LimitWakes(ctx context.Context, until time.Time, limit int) ([]LimitWake, error)
	// LimitPass plans a limit: it grants start times to items, in order of their due
	// times, and makes these items due then.
	LimitPass(ctx context.Context, p LimitPass) (LimitPassed, error)
	// LimitHold makes unclaimed items wait for their limits. It skips items that
	// are claimed or gone.
	LimitHold(ctx context.Context, items []HeldItem) error
	// LimitExpire makes up to limit limited items due whose jobs may have expired, see
	// HeldExpiry and HeldItem. They no longer wait for their limits, and no start is
	// granted to them. It returns when the next one may expire; zero for none.
	LimitExpire(ctx context.Context, limit int) (next time.Time, err error)
}

// LimitRecheck is how long after a pass a limit is planned again that waits for
// the end of an attempt, in case the notice of it was lost.
const LimitRecheck = time.Second

// LimitLocked is how long after a pass an ordered limit is planned again if another
// transaction has locked its first item.
const LimitLocked = 20 * time.Millisecond

// LimitGone is how often a deleted limit is planned that unfinished jobs need
// still, until its row can go.
const LimitGone = time.Minute

// Hold prepares a pending job to be stored: if it names limits, its due time
// becomes that of a limited item, else its own. It returns the keys. A job that
// follows another names them, but waits for none: it has no item yet, and its item
// is limited when it is read for firing.
func Hold(j *job.Job) []string {
	keys := job.LimitsNamed(j.Args)
	if j.Follows != 0 {
		return keys
	}
	own, held := OwnDue(j.DueAt)
	switch {
	case len(keys) > 0 && !held:
		j.DueAt = HeldDue(own)
	case len(keys) == 0 && held:
		j.DueAt = own
	}
	return keys
}

// LimitsNeeded returns the keys of the limits that a job may need, of which it
// names the first ones: also that of its host, whether there is one or not.
func LimitsNeeded(j *job.Job) (keys []string, named int) {
	keys = job.LimitsNamed(j.Args)
	named = len(keys)
	if host := job.LabelsOf(j.Args).Host; host != "" {
		keys = append(slices.Clone(keys), limit.HostPrefix+host)
	}
	return keys, named
}

// IsHostLimit reports whether a key is that of a limit for a host.
func IsHostLimit(key string) bool { return strings.HasPrefix(key, limit.HostPrefix) }

// HeldBack reports whether limits delayed an item that is read for firing past its
// own due time.
func (q *QueueItem) HeldBack() bool { return !q.OwnDue.IsZero() && q.Due.After(q.OwnDue) }

// Needs sets what limits mean for a job's item that was read for firing. hostKey
// is the key of the limit for its host, if there is one, and covered reports
// whether the item waited for that one too.
func (q *QueueItem) Needs(hostKey string, covered bool) {
	q.Limits = job.LimitsNamed(q.Job.Args)
	q.Named = len(q.Limits)
	if hostKey != "" && !slices.Contains(q.Limits, hostKey) {
		q.Limits = append(slices.Clone(q.Limits), hostKey)
	}
	q.Granted = !q.StartBy.IsZero() && (hostKey == "" || covered)
}
