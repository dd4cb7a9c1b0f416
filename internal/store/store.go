package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// Store is the complete interface of a node to its database.
type Store interface {
	Jobs
	Requests
	Schedules
	Definitions
	Logs
	Completions
	Versions
	Queue
	Nodes
	Accounts
	AccountIDs
	Quotas
	Blocking
	People
	Members
	Identities
	MailTokens
	Sessions
	Stats
	Months
	Summaries
	Audits
	Retention
	Counts
	Targets
	Limits
	Groups
	Runs
	WaitQueue
	Operations
	JobSearch
	Alerts
	Mutes
	Recipients
	HeaderSecrets
	SigningKeys
	// Subscribe sets the function that receives notices of stored items. Notices
	// are hints, sent after the commit, and may be lost. The function must not
	// block. There is one subscriber; it must be set before items are claimed.
	Subscribe(func(Notice))
	// Ping returns an error if the store can't be reached or written.
	Ping(ctx context.Context) error
	// Close waits for operations under way and closes the database.
	Close() error
}

// Notice informs an engine about changes of the queue.
type Notice struct {
	// Items are the items that this process stored.
	Items []QueueKey
	// EarliestElsewhere is the earliest due time of the items that other nodes
	// stored or released; zero if there are none.
	EarliestElsewhere time.Time
	// Limits are to be planned because of what this process stored.
	Limits []LimitWake
	// Cancelled are jobs that this process has claimed and others have ended.
	Cancelled []Cancelled
	// Alerts reports that another process has created, changed or deleted alerts.
	Alerts bool
	// Released reports that jobs have ended for which others wait.
	Released bool
}

// Cancelled is a job whose claim was ended by another node.
type Cancelled struct {
	Number int64
	// Revision is the revision of the job that the claim was for. A claim of a later
	// revision goes on.
	Revision int64
}

// Jobs reads and changes the records of jobs.
type Jobs interface {
	// JobInsertMany stores new jobs, each with its queue item and, if it recurs,
	// its schedule. It returns a result for each, in the order given. It does not
	// store a job whose idempotency key is taken or that would exceed its Caps; see
	// Inserted. It returns ErrUnstorable, and stores none, if the database refuses
	// one of them.
	JobInsertMany(ctx context.Context, jobs []NewJob) ([]Inserted, error)
	// JobInsertBatch is JobInsertMany for the jobs of one call: it stores them in the
	// order given and in one transaction. It calls accept with the results before
	// the commit. If accept returns an error, JobInsertBatch stores none and returns
	// that error. accept must not block, and may be called again. If it would read more
	// than MaxHeld of jobs that hold keys, it stores none and returns TooMuchHeld.
	JobInsertBatch(ctx context.Context, jobs []NewJob, accept func([]Inserted) error) ([]Inserted, error)
	// JobGet returns one of the owner's jobs, or a NotFound fault.
	JobGet(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error)
	// JobList returns the owner's jobs that match a query, within its limit and
	// byte budget.
	JobList(ctx context.Context, owner job.Owner, q job.Query) ([]*job.Job, error)
	// JobChange calls decide for one of the owner's jobs in a transaction, applies
	// the changes and returns the job afterwards, or a NotFound fault.
	JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide Decide) (*job.Job, error)
	// JobGetMany returns the given jobs of the owner in the order given, nil for
	// those that don't exist. Its result is not bounded: callers check the sizes
	// first, see Versions.
	JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error)
	// JobTally returns the number of the owner's jobs that match the filters of q, by
	// state as clients see it, each up to limit. With filters other than states it
	// counts the newest jobs that match, reading about limit positions of the filters'
	// indexes at most; cut reports that there may be more. It returns
	// job.ErrUnsupported if q has an order or an offset, and ignores the rest of its
	// ListQuery.
	JobTally(ctx context.Context, owner job.Owner, q job.Query, limit int) (counts map[job.State]int64, cut bool, err error)
	// JobMessages returns up to limit pending deliveries of one of the owner's
	// jobs, in order, without their bodies. DueAt is zero while a delivery waits
	// for the one before it.
	JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error)
	// JobHolding returns the job that holds a key: the owner's unfinished job with the
	// key, or the latest run of the schedule that has it; otherwise a NotFound fault.
	JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error)
	// JobTrail reads what is known of the attempts of one of the owner's jobs: its
	// latest limit attempts and reruns.
	JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error)
	// JobScan searches the owner's jobs, newest first, that match the filters of q
	// and come after its job After. It returns up to q.Limit jobs for which match
	// returns true; match gets only Name and Args, and nil matches all. It reads at
	// most look jobs and, unless match is nil, approximately ScanBytes of their args.
	// It stops before a job that would exceed the byte budget of q, unless that is
	// the first one found. Next is the job to continue after; zero at the end. It
	// returns job.ErrUnsupported if q has an order or an offset.
	JobScan(ctx context.Context, owner job.Owner, q job.Query, look int, match func(*job.Job) bool) (found []*job.Job, next int64,
		err error)
}

// ScanBytes is approximately how many bytes of args JobScan reads.
const ScanBytes = 8 << 20

// Schedules reads and changes the records of schedules.
type Schedules interface {
	// ScheduleGet returns one of the owner's schedules, or a NotFound fault.
	ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error)
	// ScheduleList returns the owner's schedules that match a query, within its
	// limit and byte budget.
	ScheduleList(ctx context.Context, owner job.Owner, q job.ScheduleQuery) ([]*job.Schedule, error)
	// ScheduleChange calls decide for a schedule and its unfinished job, which is
	// nil in the Snapshot if there is none. It applies the changes and returns the
	// schedule afterwards (nil if it was deleted), or a NotFound fault.
	ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide Decide) (*job.Schedule, error)
}

// Definitions changes the definitions of schedules by their keys, and reads the
// history of records.
type Definitions interface {
	// ScheduleHolding returns the owner's schedule that has a key, or a NotFound
	// fault.
	ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error)
	// SchedulePut calls decide with what holds each key, in the order given, and
	// applies the changes that it returns for each: nil changes nothing, a Next with a
	// Schedule creates one. If decide returns an error, nothing is changed and
	// SchedulePut returns it. It is one transaction, and no other call takes or
	// changes the keys, or applies the document, meanwhile. decide may be called again
	// if the transaction is retried. If over is not QuotaNone, the new schedules would
	// exceed the account's limits and nothing was changed. If what holds the keys is
	// larger than MaxPut, SchedulePut changes nothing and returns TooMuchPut.
	SchedulePut(ctx context.Context, owner job.Owner, keys PutKeys, decide func(*Holders) ([]*Changes, error)) (over Quota, err error)
	// DocumentEntries returns the schedules of an owner of documents, ordered by the
	// bytes of their keys.
	DocumentEntries(ctx context.Context, owner job.Owner, document string) ([]job.DocumentEntry, error)
	// ScheduleKeyed returns up to limit of the owner's schedules whose keys come after
	// a key, ordered by the bytes of their keys, within the byte budget of a page; only
	// those of one owner of documents unless document is nil.
	ScheduleKeyed(ctx context.Context, owner job.Owner, document *string, after string, limit int) ([]*job.Schedule, error)
	// RunsEnded returns the latest final run of a schedule, nil if there is none, and
	// the states of up to look final runs, latest first.
	RunsEnded(ctx context.Context, owner job.Owner, schedule uuid.UUID, look int) (latest *job.Job, states []job.State, err error)
	// RunUnfinished returns the unfinished run of a schedule; nil if there is none.
	RunUnfinished(ctx context.Context, owner job.Owner, schedule uuid.UUID) (*job.Job, error)
	// Revisions returns the kept revisions of one of the owner's records, latest
	// first.
	Revisions(ctx context.Context, owner job.Owner, record uuid.UUID) ([]*job.Revision, error)
}

// PutKeys are the keys of schedules that are changed together.
type PutKeys struct {
	Keys []string // which must differ
	// Document is the owner of the document that is applied; "" if there is none.
	Document string
}

// MaxPut bounds the size of the schedules that SchedulePut reads, with their
// unfinished jobs. A document of a few kilobytes can name hundreds of megabytes. It
// leaves each schedule of the largest document 32 KiB, since a large response that a
// schedule keeps as $previous must not prevent that its document is applied.
const MaxPut = 32 << 20

// TooMuchPut returns the fault for schedules that are larger than MaxPut.
func TooMuchPut() error {
	return fault.Refuse([]fault.Problem{{Pointer: "#/schedules",
		Detail: "and those that prune removes have more than 32 MiB together as stored, " +
			"with their pending runs, $state and $previous; nothing was changed: apply fewer at a time, or delete some first"}})
}

// Size returns the size of a schedule and its unfinished job.
func (h *KeyHolder) Size() int {
	size := 0
	if h.Schedule != nil {
		size += job.ScheduleSize(h.Schedule)
	}
	if h.Job != nil {
		size += job.Size(h.Job)
	}
	return size
}

// Holders are what PutKeys name: what holds each key, and the schedules of the
// document's owner.
type Holders struct {
	Keys    []KeyHolder
	Entries []job.DocumentEntry
}

// KeyHolder is what holds an idempotency key: the schedule in the Snapshot, with
// its unfinished job, or OneOff, a one-off job that is unfinished or holds its key
// beyond its end, without its Args; nothing if both are nil.
type KeyHolder struct {
	Snapshot
	OneOff *job.Job
}

// Logs reads the records of logs.
type Logs interface {
	// LogGet returns one of the owner's visible logs, or a NotFound fault. The logs
	// of an attempt become visible when it starts.
	LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error)
	// LogList returns the owner's visible logs that match a query, within its
	// limit and byte budget.
	LogList(ctx context.Context, owner job.Owner, q job.LogQuery) ([]*job.Log, error)
	// LogWalk returns up to q.Limit logs of a schedule's runs, ordered by run and
	// then by time, newest first or, with q.Oldest, oldest first. It reads at most
	// look runs and starts after the position given by q.After (the run) and
	// q.AfterID. Of the other fields of q it uses Bytes, Event, Since and Until.
	LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q job.LogQuery, look int) (*job.LogWalk, error)
}

// NewJob is a job to store. The store sets the job's number.
type NewJob struct {
	Job      *job.Job
	Schedule *job.Schedule // nil for a one-off
	Lane     uint32        // see QueueKey
	// KeyInHeader: the key is also taken while a final job has it RememberedUntil.
	KeyInHeader bool
	// Resolve decides what happens if a pending job or a schedule holds the key.
	// Nil means that the new job is not stored; a final job may hold the key then
	// too: see job.Job.HeldUntil.
	Resolve Resolve
	// Brief: if the key is held, the Inserted's Job may lack its Args. It has no effect
	// with a Resolve.
	Brief bool
	// Logs are logs of the job. The store sets their job number.
	Logs []job.Log
	// Request is the create's request_id; nil if it has none.
	Request *NewRequest
	// Await is what the job waits for; nil for nothing.
	Await *Await
	// Names are the groups, limits and secrets that the job and its schedule name and that
	// must be there: else the job is not stored. Their deletion waits for the transaction.
	Names []Name
	// Caps are the account's limits. The transaction checks them, so they apply
	// across all nodes. They must be the same for all new jobs of an account in one
	// call.
	Caps Caps
}

// Size returns approximately how many bytes a job and its schedule store.
func (n *NewJob) Size() int {
	size := job.Size(n.Job)
	if n.Schedule != nil {
		size *= 2
	}
	if n.Await != nil {
		size += len(n.Await.Jobs) * waitSize
	}
	return size
}

// waitSize is approximately how many bytes a Wait stores, with its indexes.
const waitSize = 100

// Inserted is the result of storing a NewJob.
type Inserted struct {
	Job      *job.Job
	Conflict bool // the idempotency key is taken: Job is the existing job
	Changed  bool // Resolve has changed the existing job; else nothing was stored
	// Repeated: the request was answered before, with Job, and Digest is its digest.
	// Job is nil if that was removed since.
	Repeated bool
	Digest   []byte
	// Over is the limit that the job would exceed: Job is nil, nothing was stored.
	Over Quota
	// Gone: one of Names is not there, see ErrNameGone: Job is nil, nothing was stored.
	Gone bool
}

// Snapshot is the input of a decision: the records as the transaction sees them.
type Snapshot struct {
	Now      time.Time  // by the store's clock
	Job      *job.Job   // as stored: available or retryable even while claimed
	Claim    *ClaimInfo // the claim on the job's queue item; nil if there is none
	Schedule *job.Schedule
	// Completion is set by CompletionChange, and by QueueFinish if the Finish asks
	// for it and there is one.
	Completion *job.Completion
}

// ClaimInfo describes the claim on a queue item: its node, and when the attempt
// counts as started.
type ClaimInfo struct {
	Node    int64
	Attempt int
	StartAt time.Time
}

// ClaimAhead is more than any claim is made before its attempt starts.
const ClaimAhead = 250 * time.Millisecond

// Started reports whether the attempt may have started by a time. One that seems to
// start later than a claim can be made ahead was claimed before the store's clock was
// set back.
func (c *ClaimInfo) Started(by time.Time) bool {
	return c.Awaits() || !c.StartAt.After(by) || c.StartAt.After(by.Add(ClaimAhead))
}

// Decide is a decision. It must not block, and may be called again if the
// transaction is retried. Nil changes nothing; a decision that ends a queue item
// must not return nil.
type Decide func(*Snapshot) *Changes

// Changes is the result of a decision. The store applies all of it in one
// transaction.
type Changes struct {
	// Job has the job's new state and times. They determine its queue item: none
	// if the job is final, else unclaimed and due at DueAt. Nil leaves the job and
	// its item unchanged.
	Job *job.Job
	// RollbackClaim deletes what the claim stored for an attempt that will not
	// start: its request log and its unattempted deliveries.
	RollbackClaim bool
	Logs          []job.Log
	Deliveries    []job.Delivery
	// Outcomes are for the tracker of alerts. RunOutcome is too, if Job belongs to a
	// workflow run and its end turns out to be the run's.
	Outcomes   []AlertOutcome
	RunOutcome *RunOutcome
	// Next is the schedule's next job.
	Next *NewJob
	// Also are further jobs to store. Their keys must be free.
	Also []NewJob
	// Schedule has the schedule's new values.
	Schedule *job.Schedule
	// UpdateDefinition also stores the fields that seldom change: the name,
	// description, ScheduledAt, Args and Revision of Job, and the name, description,
	// FirstDue, Args and Revision of Schedule.
	UpdateDefinition bool
	// Names are as in NewJob, for what the changes add. If one is not there, nothing is
	// stored, and the call returns ErrNameGone. An operation skips the job instead.
	// QueueFinish does not look at them.
	Names []Name
	// Lane is the new lane of the queue item of Job; nil if it stays.
	Lane *uint32
	// Revisions are added to the history of their records, of which the latest
	// job.MaxRevisions are kept.
	Revisions []job.Revision
	// DropSchedule deletes the schedule given by Schedule.
	DropSchedule bool
	// Completion has the new values of the completion of an attempt.
	Completion *job.Completion
	// Await makes the queue item of Job claimed by AwaitingNode, for the attempt of
	// Completion.
	Await bool
	// EndCompletions ends all completions of Job that are not over.
	EndCompletions bool
}

// InStates removes the counts of other states; no states select all.
func InStates(counts map[job.State]int64, states []job.State) map[job.State]int64 {
	if len(states) > 0 {
		maps.DeleteFunc(counts, func(s job.State, _ int64) bool { return !slices.Contains(states, s) })
	}
	return counts
}
