package job

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Action is what an operation does with each job.
type Action string

// The actions of operations.
const (
	CancelJobs     Action = "cancel"
	RerunJobs      Action = "rerun"
	RunJobs        Action = "run"
	RescheduleJobs Action = "reschedule"
)

var actions = []string{string(CancelJobs), string(RerunJobs), string(RunJobs), string(RescheduleJobs)}

// OperationState is the state of an operation.
type OperationState string

// The states of operations.
const (
	OperationRunning  OperationState = "running"
	OperationFinished OperationState = "finished"
	OperationStopped  OperationState = "stopped"
)

// Skip is the reason why an operation left a job as it is; "" if it did not.
type Skip string

// The reasons for skipping a job.
const (
	SkipFinal      Skip = "final"      // it is completed, cancelled or discarded
	SkipUnfinished Skip = "unfinished" // only a final job can be rerun
	SkipStarted    Skip = "started"    // its attempt has started, or is about to
	SkipRetrying   Skip = "retrying"   // it waits for a retry, whose time can't be changed
	SkipHasRerun   Skip = "has_rerun"  // it was rerun before
	SkipInvalid    Skip = "invalid"    // with the fields of set, the job would not be valid
	SkipOverLimit  Skip = "over_limit" // a limit of the account allows no further job
	SkipRemoved    Skip = "removed"    // retention has deleted it
	SkipFailed     Skip = "failed"     // the store can't change it
)

// Operation is a change of many jobs: what was asked for, and how far it is.
type Operation struct {
	ID     uuid.UUID
	Owner  Owner
	Action Action
	// Filter and Set are the objects as sent; Set is nil if there is none.
	Filter, Set rawjson.Value
	State       OperationState
	Matched     int64 // jobs found so far
	Done        int64 // jobs changed so far
	Skipped     map[Skip]int64
	InsertedAt  time.Time
	FinishedAt  time.Time // when it was finished or stopped; zero while it runs
	Hops        int       // of the jobs that it creates
	By          Actor     // who started it

	// ScanAfter is the job after which the search for jobs continues, newest first;
	// 0 when all have been found.
	ScanAfter int64
	// Position is the last job that was changed or skipped: an operation goes
	// through the jobs in the order of their numbers.
	Position int64
}

// MaxOperationSet bounds the set of an operation, in bytes of JSON.
const MaxOperationSet = 256 << 10

// OperationSize returns the size of an operation, for page budgets.
func OperationSize(o *Operation) int { return len(o.Filter) + len(o.Set) }

// OperationPosition returns where the page after an operation begins, newest first.
func OperationPosition(o *Operation) (number int64, id uuid.UUID) { return 0, o.ID }

// Seen returns how many jobs were changed or skipped so far.
func (o *Operation) Seen() int64 {
	n := o.Done
	for _, skipped := range o.Skipped {
		n += skipped
	}
	return n
}

// Skip counts a skipped job.
func (o *Operation) Skip(reason Skip) {
	if o.Skipped == nil {
		o.Skipped = map[Skip]int64{}
	}
	o.Skipped[reason]++
}

// AppendSkipped appends how many jobs were skipped for each reason, as an object
// in the order of the reasons' names.
func AppendSkipped(b []byte, skipped map[Skip]int64) []byte {
	reasons := make([]Skip, 0, len(skipped))
	for reason := range skipped {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	b = append(b, '{')
	for i, reason := range reasons {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendText(b, string(reason)), ':')
		b = strconv.AppendInt(b, skipped[reason], 10)
	}
	return append(b, '}')
}

// ReadSkipped reads what AppendSkipped wrote.
func ReadSkipped(text rawjson.Value) map[Skip]int64 {
	var skipped map[Skip]int64
	for _, m := range rawjson.Members(text) {
		n, err := strconv.ParseInt(string(m.Value), 10, 64)
		if err != nil {
			continue
		}
		if skipped == nil {
			skipped = map[Skip]int64{}
		}
		skipped[Skip(m.Name)] = n
	}
	return skipped
}

// AppendOperation appends the record of an operation as clients see it.
func AppendOperation(b []byte, o *Operation) []byte {
	b = append(append(b, `{"id":"`...), o.ID.String()...)
	b = append(append(b, `","action":"`...), o.Action...)
	b = append(append(b, `","filter":`...), o.Filter...)
	b = appendValue(append(b, `,"set":`...), o.Set)
	b = append(append(b, `,"state":"`...), o.State...)
	b = strconv.AppendInt(append(b, `","matched":`...), o.Matched, 10)
	b = strconv.AppendInt(append(b, `,"done":`...), o.Done, 10)
	b = AppendSkipped(append(b, `,"skipped":`...), o.Skipped)
	b = rawjson.AppendText(append(b, `,"inserted_at":`...), FormatTime(o.InsertedAt))
	b = append(b, `,"finished_at":`...)
	if o.FinishedAt.IsZero() {
		return append(b, `null}`...)
	}
	return append(rawjson.AppendText(b, FormatTime(o.FinishedAt)), '}')
}

// FailurePrefix is how many characters of a log's payload FailureKind needs.
const FailurePrefix = 64

// FailureKind returns the kind of a failed attempt from the event of its last log
// and the beginning of the log's payload; "" if it can't be read.
func FailureKind(event string, payload []byte) string {
	if event == EventResponse {
		return string(KindStatus)
	}
	rest, found := bytes.CutPrefix(payload, []byte(`{"kind":"`))
	kind, _, ends := bytes.Cut(rest, []byte(`"`))
	if !found || !ends {
		return ""
	}
	return string(kind)
}
