package client

import (
	"encoding/json"
	"time"
)

// JobRequest says what to send and when. URL is required. A field with its zero value
// is not sent, so the service's default holds. With RepeatEvery or Cron it is a
// schedule.
type JobRequest struct {
	// URL is an absolute https URL of at most 8 KiB.
	URL string `json:"url,omitempty"`
	// Group is the name of a group of targets in place of URL; see CreateGroupJobs.
	Group string `json:"group,omitempty"`
	// Method is get, post, put, patch or delete, also as in http.MethodPost; get if empty.
	Method string `json:"method,omitempty"`
	// Query is an object to append to the URL's query, or a string.
	Query any `json:"query,omitempty"`
	// Headers has strings, numbers, booleans, or lists of them.
	Headers map[string]any `json:"headers,omitempty"`
	// Body is any value that encodes as JSON; json.RawMessage("null") sends null.
	Body any `json:"body,omitempty"`
	// BodyBase64 is sent as it is, byte for byte; its JSON is base64. Not with Body.
	BodyBase64 []byte `json:"body_base64,omitzero"`

	// ScheduleIn counts from the call, at most 3,652 days. Not with ScheduledAt.
	ScheduleIn Duration `json:"schedule_in,omitzero"`
	// ScheduledAt in the past means now.
	ScheduledAt time.Time `json:"scheduled_at,omitzero"`
	// After has the jobs that this one waits for.
	After *After `json:"after,omitempty"`
	// RepeatEvery is at least a second. Not with Cron.
	RepeatEvery Duration `json:"repeat_every,omitzero"`
	// Cron is an expression of five fields, read in Timezone, else in UTC.
	Cron     string `json:"cron,omitempty"`
	Timezone string `json:"timezone,omitempty"`
	// CatchUp says what follows missed runs: CatchUpOne, CatchUpNone or CatchUpAll.
	CatchUp string `json:"catch_up,omitempty"`
	// EndsAt, MaxRuns, Jitter and Except are for schedules. Except has dates and
	// ranges, such as "2026-12-24/2027-01-02".
	EndsAt  time.Time `json:"ends_at,omitzero"`
	MaxRuns int64     `json:"max_runs,omitempty"`
	// DisableAfter is after how many failed runs in a row the schedule ends.
	DisableAfter int64    `json:"disable_after,omitempty"`
	Jitter       Duration `json:"jitter,omitzero"`
	// Offset is how much later than the points of its grid the schedule's runs are due.
	Offset Duration `json:"offset,omitzero"`
	Except []string `json:"except,omitempty"`

	// RequestID identifies this request, of 1 to 255 characters: repeated within 7 days,
	// it returns the same job. The client makes one for each call without it.
	RequestID string `json:"request_id,omitempty"`
	// IdempotencyKey has 1 to 255 characters.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// OnConflict is ConflictReturn, ConflictRefuse, ConflictReplace or ConflictDebounce.
	OnConflict string   `json:"on_conflict,omitempty"`
	MaxWait    Duration `json:"max_wait,omitzero"`
	// Throttle is how long the job holds its key at least.
	Throttle Duration `json:"throttle,omitzero"`

	CallbackURL string `json:"callback_url,omitempty"`
	// CallbackOn is which ends CallbackURL gets a callback for: OnFinal, OnFailure or
	// OnSuccess.
	CallbackOn  string   `json:"callback_on,omitempty"`
	WebhookURL  string   `json:"webhook_url,omitempty"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`

	// Retries is 0 to 20; 3 if nil.
	Retries *int `json:"retries,omitempty"`
	// Timeout of one attempt, 1 second to 15 minutes; 30 seconds if zero.
	Timeout Duration `json:"timeout,omitzero"`
	// Success has statuses and classes: 200, "3xx". NoRetry has error kinds as well.
	Success []any `json:"success,omitempty"`
	NoRetry []any `json:"no_retry,omitempty"`
	// Backoff has 1 to 20 waits; the last repeats.
	Backoff []Duration `json:"backoff,omitempty"`
	// RetryDelay is an expression in milliseconds in place of Backoff, such as
	// "pow(2, retried) * 1000".
	RetryDelay string `json:"retry_delay,omitempty"`
	// Dialect says how the requests look, if another API created the job.
	Dialect    map[string]any `json:"dialect,omitempty"`
	Limits     []string       `json:"limits,omitempty"`
	Completion *Completion    `json:"completion,omitempty"`
	Auth       *Auth          `json:"auth,omitempty"`
	// ExpiresIn counts from the due time; no attempt starts later.
	ExpiresIn Duration `json:"expires_in,omitzero"`
	// Redact has what is sent but never shown: body, response, headers, header:NAME.
	Redact []string `json:"redact,omitempty"`
	// Metadata false leaves $job, $state and $previous out of the body.
	Metadata *bool `json:"metadata,omitempty"`
}

// The values of JobRequest.CatchUp.
const (
	CatchUpOne  = "one" // the default
	CatchUpNone = "none"
	CatchUpAll  = "all"
)

// The values of JobRequest.OnConflict.
const (
	ConflictReturn   = "return" // the default
	ConflictRefuse   = "refuse"
	ConflictReplace  = "replace"
	ConflictDebounce = "debounce"
)

// The values of JobRequest.CallbackOn and After.On.
const (
	OnFinal     = "final"     // the default of CallbackOn
	OnFailure   = "failure"   // CallbackOn only
	OnSuccess   = "success"   // CallbackOn only
	OnCompleted = "completed" // the default of After.On, which has it only
)

// After has jobs to wait for.
type After struct {
	// Jobs has 1 to 100 ids, and "key:KEY" for the job that holds a key.
	Jobs []any `json:"jobs"`
	// On is OnCompleted, the default, or OnFinal.
	On string `json:"on,omitempty"`
}

// BatchThen is the result of CreateJobsThen.
type BatchThen struct {
	Jobs []JobRecord // in the order of the requests
	Then JobRecord   // waits for them
}

// Completion is for work that takes longer than a request.
type Completion struct {
	Within    Duration `json:"within"`
	Heartbeat Duration `json:"heartbeat,omitzero"`
}

// The states of jobs.
const (
	Available = "available"
	Executing = "executing"
	Retryable = "retryable"
	Completed = "completed"
	Cancelled = "cancelled"
	Discarded = "discarded"
	// Scheduled selects jobs that are available or retryable.
	Scheduled = "scheduled"
)

// JobRecord is a job as it is stored.
type JobRecord struct {
	ID             string  `json:"id"`
	IdempotencyKey *string `json:"idempotency_key"`
	InsertedAt     Time    `json:"inserted_at"`
	Name           *string `json:"name"`
	Description    *string `json:"description"`
	UserID         string  `json:"user_id"`
	// ScheduleID is nil for a one-off job.
	ScheduleID *string `json:"schedule_id"`
	JobID      int64   `json:"job_id"`
	Job        Job     `json:"job"`
	// Args is the request as it was submitted, text for text.
	Args json.RawMessage `json:"args"`
	// ETag is for IfMatch. Only GetJob and EditJob set it.
	ETag string `json:"-"`
}

// Job is the state of a job.
type Job struct {
	AttemptedAt *Time `json:"attempted_at"`
	CancelledAt *Time `json:"cancelled_at"`
	CompletedAt *Time `json:"completed_at"`
	DiscardedAt *Time `json:"discarded_at"`
	// HasConflict is true if the call found this job by its idempotency key.
	HasConflict bool   `json:"has_confict"` // the API spells it so
	ID          int64  `json:"id"`
	InsertedAt  Time   `json:"inserted_at"`
	ScheduledAt Time   `json:"scheduled_at"`
	State       string `json:"state"`
}

// Final reports whether the job is completed, cancelled or discarded.
func (j Job) Final() bool {
	return j.State == Completed || j.State == Cancelled || j.State == Discarded
}

// MinimalJob has the ids of a job.
type MinimalJob struct {
	ID          string `json:"id"`
	JobID       int64  `json:"job_id"`
	HasConflict bool   `json:"has_confict"`
}

// BatchOutcome is what became of one job of a batch that is not atomic: it has a Job
// or a Problem.
type BatchOutcome struct {
	Status  int        `json:"status"`
	Job     *JobRecord `json:"job"`
	Problem *Problem   `json:"problem"`
}

// JobDetails has what the record of a job leaves out.
type JobDetails struct {
	Job           JobRecord        `json:"job"`
	Revision      int64            `json:"revision"`
	Attempts      []AttemptSummary `json:"attempts"`
	NextAttemptAt *Time            `json:"next_attempt_at"`
	WaitingFor    []string         `json:"waiting_for"`
	RerunOf       *int64           `json:"rerun_of"`
	Reruns        []int64          `json:"reruns"`
	Completion    *CompletionState `json:"completion"`
	Points        *Points          `json:"points"`
	Deliveries    Deliveries       `json:"deliveries"`
	// Children are the jobs that a run with a group became, Parent the run that became
	// this job.
	Children []int64 `json:"children"`
	Parent   *int64  `json:"parent"`
}

// AttemptSummary is one attempt of a job.
type AttemptSummary struct {
	Attempt   int   `json:"attempt"`
	StartedAt *Time `json:"started_at"`
	// DurationMS is nil while the attempt is under way.
	DurationMS *float64 `json:"duration_ms"`
	Status     *int     `json:"status"`
	Error      *Failure `json:"error"`
	RetryAt    *Time    `json:"retry_at"`
}

// Failure says why an attempt failed.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// CompletionState is how far a job with a completion is.
type CompletionState struct {
	Awaiting bool      `json:"awaiting"`
	Deadline *Time     `json:"deadline"`
	Progress *Progress `json:"progress"`
}

// Progress is the latest report of a job's target, 0 to 100.
type Progress struct {
	Progress   float64 `json:"progress"`
	Message    *string `json:"message"`
	ReportedAt Time    `json:"reported_at"`
}

// Points are the due times of a schedule that one run stands for.
type Points struct {
	Count int64 `json:"count"`
	From  Time  `json:"from"`
	To    Time  `json:"to"`
}

// Deliveries counts callbacks and webhooks of a job.
type Deliveries struct {
	Pending int `json:"pending"`
	Failed  int `json:"failed"`
}

// Revision is one edit of a job or a schedule.
type Revision struct {
	Revision  int64    `json:"revision"`
	ChangedAt Time     `json:"changed_at"`
	By        Editor   `json:"by"`
	Changes   []Change `json:"changes"`
}

// Editor is who made an edit.
type Editor struct {
	Kind string  `json:"kind"`
	ID   *string `json:"id"`
	Name *string `json:"name"`
}

// Change is a field that changed. Path is a JSON pointer.
type Change struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Preview says when a job would run.
type Preview struct {
	// Words is for people and may change.
	Words string `json:"words"`
	Next  []Time `json:"next"`
}

// JobCounts has the number of jobs in each state, counted up to Limit.
type JobCounts struct {
	Available int64 `json:"available"`
	Executing int64 `json:"executing"`
	Retryable int64 `json:"retryable"`
	Completed int64 `json:"completed"`
	Cancelled int64 `json:"cancelled"`
	Discarded int64 `json:"discarded"`
	// Limit is up to which number each state is counted. Partial says that counting
	// ended early.
	Limit   int64 `json:"-"`
	Partial bool  `json:"-"`
}

// Auth is how each request of a job proves who sends it. Set one member.
type Auth struct {
	OIDC *OIDCAuth `json:"oidc,omitempty"`
	MTLS string    `json:"mtls,omitempty"` // the name of a secret with a certificate
	AWS  *AWSAuth  `json:"aws,omitempty"`
}

// OIDCAuth sends a token that the service issues; see TokenVerifier. An empty Audience
// is the origin of the job's URL.
type OIDCAuth struct {
	Audience string `json:"audience,omitempty"`
	Email    string `json:"email,omitempty"`
}

// AWSAuth signs as AWS defines it (SigV4), with a secret that has an access key.
type AWSAuth struct {
	Secret  string `json:"secret"`
	Service string `json:"service"`
	Region  string `json:"region"`
}
