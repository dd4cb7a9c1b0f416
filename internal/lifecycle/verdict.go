package lifecycle

import (
	"net/http"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/retry"
)

// Verdict is what an outcome means for its job.
type Verdict int

// The verdicts on outcomes.
const (
	Failed      Verdict = iota // the attempt counts and may be retried
	Succeeded                  // the job is completed
	Interrupted                // the attempt does not count and is made again
	Awaiting                   // the attempt goes on until the target reports its outcome
)

// Judge returns what an outcome of a job's attempt means. It is the only rule
// for the success of jobs: logs, messages, statistics and metrics follow it.
//
// If the response would be a success but reports a failure with $fail, Judge adds
// that failure to the outcome.
func Judge(spec *job.Spec, o *job.Outcome) Verdict {
	switch f := o.Failure; {
	case f == nil && o.Response != nil && o.Response.Status == http.StatusAccepted && spec.Completion.Within > 0:
		return Awaiting
	case f == nil && o.Response != nil && spec.Success.Contains(o.Response.Status):
		if o.Failure = failedItself(o.Response); o.Failure != nil {
			if spec.Redact.Response {
				o.Failure.Message = job.RedactedText
			}
			return Failed
		}
		return Succeeded
	case f == nil || f.Kind != job.KindInterrupted:
		return Failed
	case f.Local || f.Unsent || !spec.NoRetry.Contains(o):
		return Interrupted
	default:
		return Failed // the job must not be sent twice
	}
}

// Delivered reports whether the receiver of a callback or webhook has accepted
// it. A job's own rule does not apply to its messages.
func Delivered(o *job.Outcome) bool {
	return o.Failure == nil && o.Response != nil && job.DefaultSuccess.Contains(o.Response.Status)
}

// firstAttempt is the attempt whose retry is made at once if its request was dropped on
// a kept connection. Later ones use a connection that is new or was used lately.
const firstAttempt = 1

// droppedFirst reports whether an attempt that failed is retried at once: its target
// had probably closed the connection before the request was there.
func droppedFirst(number int, o *job.Outcome) bool {
	return number == firstAttempt && o.Failure != nil && o.Failure.Dropped
}

// RetriedAtOnce reports whether an attempt of a job is retried at once if its request
// is dropped on a kept connection.
func RetriedAtOnce(spec *job.Spec, number int) bool {
	return number == firstAttempt && spec.Retries > 0 && !slices.Contains(spec.NoRetry.Kinds, job.KindClosed)
}

// DeliveryRetriedAtOnce is RetriedAtOnce for an attempt of a delivery.
func DeliveryRetriedAtOnce(number int) bool { return number == firstAttempt }

// retryWait returns how long to wait before a failed attempt is retried, and
// false if the job's options exclude a retry. random in [0, 1) lengthens the
// wait. age is the time since the first attempt began.
func retryWait(spec *job.Spec, number int, age time.Duration, o *job.Outcome, at time.Time, random float64) (time.Duration, bool) {
	if exhausted(spec, number, age) || o.Failure != nil && o.Failure.Kind.Permanent() || spec.NoRetry.Contains(o) {
		return 0, false
	}
	if droppedFirst(number, o) {
		return 0, true
	}
	var asked time.Duration
	if o.Response != nil && (o.Response.Status == 429 || o.Response.Status == 503) {
		asked = retry.RetryAfter(o.Response.Header.Get("Retry-After"), at)
	}
	return retry.After(waitsOf(spec, number), number, asked, random), true
}

// exhausted reports whether a job has used up its retries.
func exhausted(spec *job.Spec, number int, age time.Duration) bool {
	return number > spec.Retries && (spec.Dialect == nil || age >= spec.Dialect.RetryFor)
}

// waitsOf returns the job's own waits before retries, of which that after an attempt is
// the one at its place; nil for the service's.
func waitsOf(spec *job.Spec, number int) []time.Duration {
	if spec.RetryDelay == "" {
		return spec.Backoff
	}
	e, err := retry.ParseExpression(spec.RetryDelay)
	if err != nil {
		return nil // it was refused
	}
	if wait, ok := e.Delay(number); ok {
		return []time.Duration{wait}
	}
	return nil
}
