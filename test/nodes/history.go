package nodes

import (
	"strconv"
	"sync"
	"time"
)

// History is what was done, what was acknowledged and what the outcome was.
type History struct {
	mu sync.Mutex

	Created   map[int64]Created // by job number
	Keys      map[string]bool   // sent with creates, acknowledged or not
	Cancelled map[int64]time.Time
	Cancels   map[int64]bool // asked for, acknowledged or not
	Schedules map[string]*Schedule
	Faults    []Fault
	Looks     int      // samples of schedules' unfinished jobs
	Several   []string // samples that showed not exactly one

	// Of a mix.
	Terms    Terms
	Kinds    map[string]Kind     // by the key of creates
	Outcomes map[int64][]Outcome // acknowledged, or refused
	Changes  map[string]Change   // that an alert must report, by the key of the job
	Messages []Message

	// Slack is how much later than promised things may be, because the machine was slow
	// or busy.
	Slack time.Duration

	// Read in the end.
	Hits map[int64][]Hit
	Jobs map[int64]Job
	Logs map[int64][]Log
}

// Created is a create that was acknowledged.
type Created struct {
	Key   string
	Acked time.Time
}

// Schedule is a schedule that was acknowledged.
type Schedule struct {
	First    time.Time
	Every    time.Duration
	Disabled time.Time // when it was asked to be
}

// Outcome is the outcome of an attempt that its target has reported.
type Outcome struct {
	Path, Body   string
	Asked, Acked time.Time
	Status       int
}

// Change is the end of a job that an alert must report.
type Change struct {
	Alert string
	Kind  Kind // Failing or Passing
}

// Message is a request that the receiver of the alerts got.
type Message struct {
	ID, Type, Alert string
	Job             int64
	Hit
}

// Fault is something that was broken on purpose, from its beginning to its end.
type Fault struct {
	Kind     FaultKind
	Where    string
	From, To time.Time
}

// FaultKind says what a fault takes away.
type FaultKind string

// The kinds of faults.
const (
	Killed   FaultKind = "killed"   // a node, at From; back at To
	Paused   FaultKind = "paused"   // a node
	Cut      FaultKind = "cut"      // a node from its database
	Database FaultKind = "database" // the database is not there
)

// Hit is a request that the target received.
type Hit struct {
	Attempt string
	At, End time.Time // End is zero while under way
	Aborted bool
	Sent    time.Time // when it was signed, in whole seconds
}

// Job is a job's record, as far as it matters here.
type Job struct {
	Number   int64   `json:"job_id"`
	Key      *string `json:"idempotency_key"`
	Schedule *string `json:"schedule_id"`
	Job      struct {
		State     string     `json:"state"`
		Inserted  time.Time  `json:"inserted_at"`
		Scheduled time.Time  `json:"scheduled_at"`
		Attempted *time.Time `json:"attempted_at"`
		Completed *time.Time `json:"completed_at"`
		Cancelled *time.Time `json:"cancelled_at"`
		Discarded *time.Time `json:"discarded_at"`
	} `json:"job"`
}

// id returns the job's number as requests carry it.
func (j *Job) id() string { return strconv.FormatInt(j.Number, 10) }

// due returns when the job was due and known to be stored.
func (j *Job) due() time.Time {
	if j.Job.Scheduled.Before(j.Job.Inserted) {
		return j.Job.Inserted
	}
	return j.Job.Scheduled
}

// final returns when the job became final; false when it has not.
func (j *Job) final() (time.Time, bool) {
	for _, at := range []*time.Time{j.Job.Completed, j.Job.Cancelled, j.Job.Discarded} {
		if at != nil {
			return *at, true
		}
	}
	return time.Time{}, false
}

// Log is a log record, as far as it matters here.
type Log struct {
	Event    string    `json:"event"`
	Job      int64     `json:"job_id"`
	Inserted time.Time `json:"inserted_at"`
	Payload  struct {
		Kind    string  `json:"kind"`
		RetryAt *string `json:"retry_at"`
	} `json:"payload"`
}

// begun returns by when a request was certainly sent: a busy target may read it
// much later.
func (h *Hit) begun() time.Time {
	if sent := h.Sent.Add(time.Second); sent.Before(h.At) {
		return sent
	}
	return h.At
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{
		Created: map[int64]Created{}, Keys: map[string]bool{}, Cancelled: map[int64]time.Time{}, Cancels: map[int64]bool{},
		Schedules: map[string]*Schedule{}, Hits: map[int64][]Hit{}, Jobs: map[int64]Job{}, Logs: map[int64][]Log{},
		Kinds: map[string]Kind{}, Outcomes: map[int64][]Outcome{}, Changes: map[string]Change{},
	}
}

// note changes the history; several goroutines write it at once.
func (h *History) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// fault notes a fault around what makes it.
func (h *History) fault(kind FaultKind, where string, make func()) {
	from := time.Now()
	make()
	h.note(func() { h.Faults = append(h.Faults, Fault{kind, where, from, time.Now()}) })
}
