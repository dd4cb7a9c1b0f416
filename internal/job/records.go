package job

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Owner identifies the account that a record belongs to: by the UUID that clients
// see as user_id, and by the small number that stores use as a key.
type Owner struct {
	ID     uuid.UUID
	Number int64
}

// Job is one HTTP request with a due time: a one-off, or a run of a schedule.
type Job struct {
	Number int64 // the integer id (job_id); assigned by the store
	ID     uuid.UUID
	Owner  Owner
	// ScheduleID is uuid.Nil for a one-off job.
	ScheduleID  uuid.UUID
	Key         *string // idempotency key
	Name        *string
	Description *string

	InsertedAt  time.Time
	ScheduledAt time.Time // the due time requested; may be before InsertedAt
	State       State
	// DueAt is when the next attempt fires: never before InsertedAt, and the
	// time of the retry while the job is retryable.
	DueAt       time.Time
	Attempt     int // attempts started so far
	AttemptedAt time.Time
	CompletedAt time.Time
	CancelledAt time.Time
	DiscardedAt time.Time

	// Follows is the number of the job with the same key that must end before this
	// one may start; 0 if there is none. A job that follows another is pending and
	// has no queue item. It stays set if the job is cancelled meanwhile.
	Follows int64
	// HeldUntil is how long the job holds its key even if it is final. It is zero
	// without a throttle.
	HeldUntil time.Time
	// RememberedUntil is how long the job holds its key for calls that send it in
	// the header Idempotency-Key. It is zero, or not before HeldUntil.
	RememberedUntil time.Time
	// KeyRequest is the digest of the call that sent the key in the header
	// Idempotency-Key; nil if the key was not sent so. See CreateRequest.
	KeyRequest []byte

	// Hops is the length of the chain of jobs that created one another up to
	// this one, from the HopsField of the call that created it. It is 0 unless a
	// job created this one.
	Hops int
	// Trace is the span of the call that created the job, as package tracing writes
	// it: 25 bytes, or nil if the call was not traced.
	Trace []byte
	// Revision counts the definitions of the job: 1 until it is edited. The store
	// sets it for a new job.
	Revision int64
	// RerunOf is the number of the job that this one repeats; 0 if none.
	RerunOf int64
	// Parent is the number of the run that became this job, because its schedule names a
	// group; 0 if none.
	Parent int64
	// Runs is how many runs of the schedule counted for max_runs before this one.
	Runs int64
	// Skipped is how many points of the schedule's grid passed before this run was
	// stored without a run of their own. It stands for them too.
	Skipped int64
	Args    rawjson.Value
	Hidden  Hidden // of Args
}

// Schedule creates recurring jobs, one at a time.
type Schedule struct {
	ID          uuid.UUID
	Owner       Owner
	Key         *string
	Name        *string
	Description *string
	InsertedAt  time.Time
	DisabledAt  time.Time // zero while enabled
	// FirstDue is when the grid begins, before the shift by jitter: the first time
	// that was asked for, or when the schedule got its frequency. The grid of an
	// interval runs through it, a cron's has its first tick then or later.
	FirstDue time.Time
	// Since is when the schedule was enabled again or got a new grid; zero if it
	// has been neither. Points before it are not missed.
	Since time.Time
	// Runs is how many runs counted for max_runs when the schedule was last
	// disabled. While it is enabled, its unfinished job has the current number.
	Runs int64
	// Ended is why the schedule has ended; "" if it has not, or was edited since.
	Ended End
	// Epoch counts how often the schedule was disabled. It shows whether the
	// schedule was disabled while a run was under way.
	Epoch int64
	// Failures is how many runs have failed since the last one that completed.
	// Cancelled runs don't count.
	Failures int64
	// FailingSince is when the first of these failures ended; zero without any.
	FailingSince time.Time
	// Failure is the Cause of the latest of these failures; "" without any.
	Failure string
	Hops    int // the Hops of its jobs
	// Revision counts the definitions of the schedule: 1 until it is edited. The
	// store sets it for a new schedule.
	Revision int64
	// Document is the owner of the document that the schedule comes from; "" if it
	// was created otherwise. See Document.
	Document string
	Args     rawjson.Value
	Hidden   Hidden // of Args
	// State is the $state object; nil if there is none.
	State rawjson.Value
	// Previous is the JSON response of the last successful run; nil if there is none.
	Previous rawjson.Value
	// HiddenPrevious is the token of a $previous that is hidden; Previous is
	// RedactedText then.
	HiddenPrevious string
}

// End is the reason why a schedule has ended.
type End string

// The reasons why schedules end.
const (
	EndedAt      End = "ends_at"
	EndedMaxRuns End = "max_runs"
	EndedStop    End = "$stop"
	// EndedFailures is the end after disable_after failed runs in a row.
	EndedFailures End = "failures"
)

// Live reports whether the schedule exists and is enabled, so that it creates a
// next run.
func (s *Schedule) Live() bool { return s != nil && s.DisabledAt.IsZero() }

// Log is one event of a job.
type Log struct {
	ID         uuid.UUID
	Owner      Owner
	Job        int64 // the job's number
	Event      string
	InsertedAt time.Time
	Payload    rawjson.Value
}

// Succeeded reports whether the log is of a response with which its attempt
// succeeded. It reads what was decided when the attempt ended: the log of a
// failed attempt says when the attempt is retried, that of a success does not.
func (l *Log) Succeeded() bool {
	return l.Event == EventResponse && rawjson.Get(l.Payload, logRetryAt) == nil && !l.Awaiting() || l.Event == EventCompletion
}

// Awaiting reports whether the log is of a response after which the target was to
// report the outcome.
func (l *Log) Awaiting() bool {
	return l.Event == EventResponse && rawjson.Get(l.Payload, LogAwaiting) != nil
}

// LogAwaiting is the last member of the log of a response with which the attempt
// went on awaiting its completion.
const LogAwaiting = "awaiting"

// logRetryAt is the member of a failed attempt's log with the time of the retry.
const logRetryAt = "retry_at"

// The events of logs.
const (
	EventRequest        = "worker.http.request"
	EventResponse       = "worker.http.response"
	EventError          = "worker.http.error"
	EventCallbackFailed = "worker.callback.failed"
	EventWebhookFailed  = "worker.webhook.failed"
	EventStateRejected  = "worker.state.rejected"
	EventSkipped        = "worker.schedule.skipped"
	EventEnded          = "worker.schedule.ended"
	EventAlertFailed    = "worker.alert.failed"
	EventCompletion     = "worker.completion"
	// EventOrphaned is the end of a job that waited for another one, which was not
	// completed.
	EventOrphaned = "worker.job.orphaned"
)

// Channel is which receiver a delivery goes to: one of a job's two, or one of an
// alert's.
type Channel int

// The channels of deliveries.
const (
	Callback Channel = 1
	Webhook  Channel = 2

	AlertWebhook Channel = 3
	AlertSlack   Channel = 4
	AlertMail    Channel = 5 // the delivery's URL is mailto:ADDRESS
)

// Delivery is a message to a job's callback or webhook URL, or to a receiver of an
// alert. It is kept until it is delivered or given up.
type Delivery struct {
	Number    int64 // assigned by the store; increases within a job
	MessageID string
	Owner     Owner
	Job       int64 // the job's number
	// JobAttempt is the number of the job's attempt that the delivery reports.
	JobAttempt int
	Channel    Channel
	URL        string
	Event      string // the name of the webhook's or alert's event; empty for a callback
	Attempt    int    // attempts of this delivery so far
	DueAt      time.Time
	// Body is the text to deliver. If Parts is not empty, it still lacks pieces of
	// logs: see Whole.
	Body  rawjson.Value
	Parts []Part
	// Hops is the Hops of its job, or 0 if the job was removed. It is set when the
	// delivery is read for firing.
	Hops int
	// Trace is the Trace of its job, set together with Hops.
	Trace []byte
}
