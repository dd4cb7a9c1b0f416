package store

import (
	"context"
	"math"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// AwaitingNode holds the claims of attempts that await their completion, in the
// place of a node. It has no lease, so it neither expires nor is it stopped.
const AwaitingNode int64 = math.MaxInt64

// Awaits reports whether the claim is of an attempt that awaits its completion.
func (c *ClaimInfo) Awaits() bool { return c != nil && c.Node == AwaitingNode }

// Completes reports whether the claim is of the attempt that a completion is of.
func (c *ClaimInfo) Completes(of *job.Completion) bool {
	return c != nil && c.Attempt == of.Attempt && c.Awaits() == (of.State == job.CompletionAwaiting)
}

// Completions keeps how attempts are completed by their targets.
type Completions interface {
	// CompletionGet returns the attempt that a token completes, or a NotFound fault.
	CompletionGet(ctx context.Context, token job.TokenHash) (*Awaited, error)
	// CompletionAccount returns the number of the account whose attempt a token
	// completes, or a NotFound fault.
	CompletionAccount(ctx context.Context, token job.TokenHash) (int64, error)
	// CompletionOf returns the completion of the latest attempt of a job that has
	// one, or nil.
	CompletionOf(ctx context.Context, owner job.Owner, number int64) (*job.Completion, error)
	// CompletionChange is JobChange for the job of a completion, with Completion set
	// in the Snapshot.
	CompletionChange(ctx context.Context, c *job.Completion, decide Decide) (*job.Job, error)
	// CompletionSeal stores with a completion what was sent with its attempt,
	// encrypted, in place of what is stored there. It is deleted when the completion is
	// over. It returns a NotFound fault if there is no such completion, or it is over.
	CompletionSeal(ctx context.Context, token job.TokenHash, sealed []byte) error
	// CompletionsOverdue returns up to limit tokens of attempts whose deadlines have
	// passed, the earliest first.
	CompletionsOverdue(ctx context.Context, limit int) ([]job.TokenHash, error)
	// CompletionDeadline returns the earliest deadline of an attempt that awaits its
	// completion, the zero time if none does.
	CompletionDeadline(ctx context.Context) (time.Time, error)
}

// Awaited is an attempt that its target completes, with its records as they were
// read together.
type Awaited struct {
	Completion *job.Completion
	Job        *job.Job      // as stored; its Attempt includes the one under way
	Schedule   *job.Schedule // nil for a one-off, and if the schedule was deleted
	// Request and Response are the payloads of the completion's logs; nil if there
	// is none.
	Request, Response []byte
	// Sealed is what CompletionSeal stored; nil if it stored nothing.
	Sealed []byte
}

// Lateness returns how late the attempt started; 0 for a retry, whose due time is
// not known any more.
func (a *Awaited) Lateness() time.Duration {
	due := a.Job.ScheduledAt
	if due.Before(a.Job.InsertedAt) {
		due = a.Job.InsertedAt
	}
	if a.Completion.Attempt > 1 {
		return 0
	}
	return max(0, a.Completion.StartedAt.Sub(due))
}
