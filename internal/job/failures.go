package job

import (
	"bytes"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Cause returns why an attempt failed, in a word: the kind of its failure, or the
// status of its response.
func (o *Outcome) Cause() string {
	switch {
	case o == nil:
		return ""
	case o.Failure != nil:
		return string(o.Failure.Kind)
	case o.Response != nil:
		return strconv.Itoa(o.Response.Status)
	}
	return ""
}

// FailureCause returns the Cause of a failed attempt from the event of its last log
// and the beginning of the log's payload, of which it needs FailurePrefix characters;
// "" if it can't be read. The status of a success means that the target reported the
// failure itself.
func FailureCause(event string, payload []byte) string {
	if event != EventResponse {
		return FailureKind(event, payload)
	}
	rest, _ := bytes.CutPrefix(payload, []byte(`{"status":`))
	digits := rest[:min(3, len(rest))]
	status, err := strconv.Atoi(string(digits))
	switch {
	case err != nil:
		return string(KindStatus)
	case status >= 200 && status < 300:
		return string(KindAnswer)
	}
	return strconv.Itoa(status)
}

// FailingSchedule is a schedule whose latest run failed, without its definition.
type FailingSchedule struct {
	ID       uuid.UUID
	Name     *string
	Failures int64 // in a row
	Since    time.Time
	Cause    string // of the latest
}

// FailedJob is a discarded job, without its definition.
type FailedJob struct {
	Number      int64
	Name        *string
	ScheduleID  uuid.UUID // uuid.Nil for a one-off job
	Host        string
	RerunOf     int64 // the job that it repeats; 0 for none
	InsertedAt  time.Time
	DiscardedAt time.Time
}

// LastFailure is the latest failed attempt of a job: its Cause, why it failed in a
// sentence, and its number. What can't be read is "" or 0.
type LastFailure struct {
	Cause, Message string
	Attempt        int
}

// How many of the first and of the last characters of a log's payload ReadLastFailure
// needs.
const (
	FailureHead   = 600
	FailureSuffix = 2400 // an error at the end may have MaxReason characters, each escaped
)

// ReadLastFailure reads a failed attempt from the event of its log and from the
// beginning and the end of the log's payload.
func ReadLastFailure(event string, prefix, suffix []byte) LastFailure {
	var a AttemptSummary
	(&AttemptLog{Event: event, Head: string(prefix), Tail: string(suffix)}).end(&a)
	f := LastFailure{Cause: FailureCause(event, prefix), Attempt: a.Number}
	if a.Failure != nil {
		f.Message = a.Failure.Message
	}
	return f
}
