package job

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Owner names the account a record belongs to: by the UUID clients see as
// user_id, and by the small number stores key their tables with.
type Owner struct {
	ID     uuid.UUID
	Number int64
}

// Job is one request to be made at one time: a one-off, or one run of a schedule.
type Job struct {
	Number int64 // the integer id (job_id); given by the store
	ID     uuid.UUID
	Owner  Owner
	// ScheduleID is uuid.Nil for a one-off job.
	ScheduleID  uuid.UUID
	Key         *string // idempotency key
	Name        *string
	Description *string

	InsertedAt  time.Time
	ScheduledAt time.Time // the due time asked for; may lie before InsertedAt
	State       State
	// DueAt is when the next attempt fires: never before InsertedAt, and the
	// time of the retry while the job is retryable.
	DueAt       time.Time
	Attempt     int // attempts begun so far
	AttemptedAt time.Time
	CompletedAt time.Time
	CancelledAt time.Time
	DiscardedAt time.Time

	// Hops is how many jobs made one another up to this one: what the
	// call that created it had in HopsField. 0 unless a job created it.
	Hops int
	Args rawjson.Value
}

// Schedule makes jobs recur.
type Schedule struct {
	ID          uuid.UUID
	Owner       Owner
	Key         *string
	Name        *string
	Description *string
	InsertedAt  time.Time
	DisabledAt  time.Time // zero while enabled
	// FirstDue is the due time of the first run; the grid of an interval starts there.
	FirstDue time.Time
	// Epoch counts how often the schedule was disabled, so that a run that was
	// under way meanwhile is told from one that was not.
	Epoch int64
	Hops  int // as of its jobs
	Args  rawjson.Value
	// State is the $state object; nil when there is none.
	State rawjson.Value
	// Previous is the JSON answer of the last successful run; nil when there is none.
	Previous rawjson.Value
}

// Live reports whether the schedule is to have a next run.
func (s *Schedule) Live() bool { return s != nil && s.DisabledAt.IsZero() }

// Log is one event in the life of a job.
type Log struct {
	ID         uuid.UUID
	Owner      Owner
	Job        int64 // the job's number
	Event      string
	InsertedAt time.Time
	Payload    rawjson.Value
}

// The events of logs.
const (
	EventRequest        = "worker.http.request"
	EventResponse       = "worker.http.response"
	EventError          = "worker.http.error"
	EventCallbackFailed = "worker.callback.failed"
	EventWebhookFailed  = "worker.webhook.failed"
	EventStateRejected  = "worker.state.rejected"
)

// Channel says which of a job's two addresses a delivery goes to.
type Channel int

// The channels of deliveries.
const (
	Callback Channel = 1
	Webhook  Channel = 2
)

// Delivery is a message to a job's callback or webhook address, kept until it
// has been delivered or given up.
type Delivery struct {
	Number    int64 // given by the store; grows within a job
	MessageID string
	Owner     Owner
	Job       int64 // the job's number
	// JobAttempt is the job's attempt that the message tells of.
	JobAttempt int
	Channel    Channel
	URL        string
	Event      string // the webhook event's name; empty for a callback
	Attempt    int    // tries made so far
	DueAt      time.Time
	// Body is the message's text. Where Parts is not empty, pieces of logs are
	// still to be put in: see Whole.
	Body  rawjson.Value
	Parts []Part
	// Hops is that of its job, 0 when that is gone; set when it is read for firing.
	Hops int
}
