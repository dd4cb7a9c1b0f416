package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Store is everything a node needs of its database.
type Store interface {
	Jobs
	Schedules
	Logs
	Marks
	Queue
	Accounts
	Quotas
	Blocking
	People
	Stats
	Glances
	Audits
	Retention
	Targets
	// Subscribe names the function that hears of what was stored: hints, which
	// may be lost, given after the commit. It must not block. There is one
	// subscriber; it is named before runs are claimed.
	Subscribe(func(Notice))
	// Ping reports whether the store can be reached and written.
	Ping(ctx context.Context) error
	// Close waits for what is under way and closes the database.
	Close() error
}

// Notice tells an engine of what was stored.
type Notice struct {
	// Runs were stored by this process.
	Runs []Ref
	// Elsewhere is when the earliest is due of the runs that other nodes have
	// stored or given back; zero when the notice is not about that.
	Elsewhere time.Time
	// Cancelled are the numbers of jobs whose runs this process had claimed and
	// others have ended.
	Cancelled []int64
}

// Jobs reads and changes the records of jobs.
type Jobs interface {
	// JobInsertMany stores new jobs, each with its run and, when it recurs,
	// its schedule. A job whose idempotency key is held is not stored; the
	// result carries the job that holds it. A job that would exceed the limits in
	// its Caps is not stored either. Results stand in the order given. An
	// ErrUnstorable when the database refuses one of them: none is stored then.
	JobInsertMany(ctx context.Context, jobs []NewJob) ([]Inserted, error)
	// JobGet reads one of the owner's jobs; a NotFound fault when there is none.
	JobGet(ctx context.Context, owner job.Owner, id JobID) (*job.Job, error)
	// JobList reads some of the owner's jobs.
	JobList(ctx context.Context, owner job.Owner, q JobQuery) ([]*job.Job, error)
	// JobChange decides about one of the owner's jobs in a transaction and
	// gives the job as it is afterwards.
	JobChange(ctx context.Context, owner job.Owner, id JobID, decide Decide) (*job.Job, error)
	// JobCounts counts the stored jobs by state.
	JobCounts(ctx context.Context) (map[job.State]int64, error)
	// JobGetMany reads some of the owner's jobs; results stand in the order
	// given, nil for those that there are not. Callers see to it that they are not
	// too large: see Marks.
	JobGetMany(ctx context.Context, owner job.Owner, ids []JobID) ([]*job.Job, error)
	// JobTally counts the owner's jobs by state as clients see them, each state
	// up to limit, which bounds what is read.
	JobTally(ctx context.Context, owner job.Owner, limit int) (map[job.State]int64, error)
	// JobMessages reads up to limit of the messages of one of the owner's jobs
	// that are still to be delivered, in order, without their bodies. DueAt is
	// zero while a message waits for the one before it.
	JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error)
	// JobScan looks at the owner's newest jobs, in the states and behind the job
	// that q says, and gives up to q.Limit of those that match. Match is called
	// with Name and Args set only. It looks at no more than look jobs and at
	// about ScanBytes of their args, and stops before what would go beyond the
	// budget of q, but for the first one found. Next is the job to go on behind; zero when there are no
	// more.
	JobScan(ctx context.Context, owner job.Owner, q JobQuery, look int, match func(*job.Job) bool) (found []*job.Job, next int64, err error)
}

// ScanBytes is about how much of jobs' args JobScan looks at.
const ScanBytes = 8 << 20

// Schedules reads and changes the records of schedules.
type Schedules interface {
	ScheduleGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error)
	ScheduleList(ctx context.Context, owner job.Owner, q ListQuery) ([]*job.Schedule, error)
	// ScheduleChange decides about a schedule and its unfinished job, which is
	// nil in the Moment when there is none, and gives the schedule as it is
	// afterwards.
	ScheduleChange(ctx context.Context, owner job.Owner, id uuid.UUID, decide Decide) (*job.Schedule, error)
}

// Logs reads the records of logs.
type Logs interface {
	LogGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error)
	LogList(ctx context.Context, owner job.Owner, q LogQuery) ([]*job.Log, error)
	// LogWalk reads the logs of a schedule's runs, of the newest run first and of
	// a run the newest first, or the other way round: up to q.Limit, and of no
	// more than look runs. It goes on behind the place that After (the run) and
	// AfterID name. Of q it heeds these, the event and the times.
	LogWalk(ctx context.Context, owner job.Owner, schedule uuid.UUID, q LogQuery, look int) (*LogWalk, error)
}

// JobID names a job by its number or, when that is zero, by its UUID.
type JobID struct {
	Number int64
	UUID   uuid.UUID
}

// NewJob is a job to be stored. The store gives the job its number.
type NewJob struct {
	Job      *job.Job
	Schedule *job.Schedule // nil for a one-off
	Lane     uint32        // see Ref
	// Caps limit the account. They are checked in the transaction, over all
	// nodes, and are the same for all new jobs of an account in one call.
	Caps Caps
}

// Size returns about how many bytes a job and its schedule have as records.
func (n *NewJob) Size() int {
	size := len(n.Job.Args)
	if n.Schedule != nil {
		size *= 2
	}
	return size
}

// Inserted is what became of a NewJob.
type Inserted struct {
	Job      *job.Job
	Conflict bool // the key was held: Job is the one that holds it
	// Over is the limit that the job would exceed: nothing was stored, and Job is
	// nil.
	Over Quota
}

// Moment is what a decision rests on: the records as they are in the transaction.
type Moment struct {
	Now      time.Time // by the store's clock
	Job      *job.Job  // as stored: available or retryable also while claimed
	Claim    *Held     // the claim on the job's run; nil when there is none
	Schedule *job.Schedule
}

// Held tells who has claimed a run, and from when on the attempt counts as begun.
type Held struct {
	Node    int64
	Attempt int
	BeginAt time.Time
}

// Decide is a decision; it must not block, and may be called again when a
// transaction has to be repeated. Nil changes nothing; the end of a run always
// changes something.
type Decide func(*Moment) *Changes

// Stop ends a walk at its last log when it has as many as were asked for, or as
// fit on a page.
func (w *LogWalk) Stop(q ListQuery) {
	var cut bool
	w.Logs, cut = Fit(w.Logs, q.Limit, q.Budget(), LogSize)
	if n := len(w.Logs); n > 0 && (cut || n == q.Limit) {
		w.Next = &LogPlace{Run: w.Logs[n-1].Job, ID: w.Logs[n-1].ID}
	}
}

// Changes is what a decision does, all of it in one transaction.
type Changes struct {
	// Job has the job's new state and times. Its run follows from it: gone
	// when final, else unclaimed and due at DueAt. Nil leaves both alone.
	Job *job.Job
	// Unbegun takes back what the claim had prepared for an attempt that will
	// not be made: its request log and its untried deliveries.
	Unbegun    bool
	Logs       []job.Log
	Deliveries []job.Delivery
	// Next is the schedule's next job.
	Next *NewJob
	// Schedule has the schedule's new values.
	Schedule *job.Schedule
	// Anew tells that there are new values also for what seldom changes: Job's
	// name, description, ScheduledAt and Args, Schedule's name, description,
	// FirstDue and Args.
	Anew bool
	// DropSchedule deletes the schedule, which Schedule names.
	DropSchedule bool
}

// Order is a field to sort by.
type Order struct {
	Field string // "" for the default: most recently created first
	Desc  bool
}

// ListQuery selects part of a list. Nulls sort last and ties newest first.
type ListQuery struct {
	Limit  int
	Offset int
	Order  Order
	// After is the last record of the page before, in the default order: a
	// number for jobs, an ID for schedules and logs. Zero for the first page.
	After   int64
	AfterID uuid.UUID
	// Bytes is the page's budget in bytes; 0, or more than PageBytes, is
	// PageBytes. The record that goes beyond it is the last one read; see Fit.
	Bytes int
}

// JobQuery selects jobs.
type JobQuery struct {
	ListQuery
	States   []job.State // none: any
	Schedule uuid.UUID   // uuid.Nil: any
	Key      *string
}

// LogQuery selects logs.
type LogQuery struct {
	ListQuery
	Job   *JobID // nil: any
	Event string // "": any
	// Since and Until bound InsertedAt: from Since on, before Until. Zero: any.
	Since, Until time.Time
	// Oldest turns the default order round, and After and AfterID with it.
	Oldest bool
}

// LogPlace is a place among the logs of a schedule's runs: behind the log ID of
// the run, or behind all of its logs when ID is uuid.Nil.
type LogPlace struct {
	Run int64 // the job's number
	ID  uuid.UUID
}

// LogWalk is a part of the logs of a schedule's runs.
type LogWalk struct {
	Logs []*job.Log
	// Next is where to go on; nil when all runs have been looked at.
	Next *LogPlace
	// Reached is when the last run looked at was stored.
	Reached time.Time
}
