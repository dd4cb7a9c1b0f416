package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// MaxAwaited is how many jobs those of one JobInsertBatch may wait for together, each
// counted for every job that waits for it.
const MaxAwaited = 1000

// Await is what a new job waits for: its due time is job.WaitingDue until then.
type Await struct {
	// Jobs are jobs of the same account, each once. One that is removed before the
	// transaction has ended as its State says.
	Jobs []job.AwaitedJob
	// Batch: the job also waits for all others of its JobInsertBatch, and gets their
	// summary.
	Batch bool
}

// Waits reports whether a pending job waits for others.
func Waits(j *job.Job) bool {
	if j.ScheduleID != uuid.Nil || j.State != job.Available {
		return false
	}
	own, _ := OwnDue(j.DueAt)
	return own.Equal(job.WaitingDue)
}

// Wait is a job that one waits for, as stored.
type Wait struct {
	Account  int64
	Job      int64 // which waits
	WaitsFor int64
	Batch    bool
	State    job.State // 0 until the end of WaitsFor is noted
	EndedAt  time.Time
}

// Released is what a job has waited for, once a part of it has ended.
type Released struct {
	Job  int64
	Open bool // other jobs have not ended yet
	// Unfinished is a job that has ended otherwise than completed; 0 if none has.
	Unfinished int64
	State      job.State // of Unfinished
	LastAt     time.Time // when the last one has ended; only valid unless Open
	Batch      bool
	Summary    job.BatchSummary // of a batch; only valid unless Open
}

// WaitStep is a step of releasing the jobs of an account.
type WaitStep struct {
	Account int64
	Limit   int // how many ends of awaited jobs are noted at most
	// Begin is called when the transaction begins, again for each retry.
	Begin func()
	// Decide decides about a job that waits, some of whose awaited jobs have ended.
	// Like a Decide it must not block.
	Decide func(r *Released, m *Snapshot) *Changes
	// Postpone is how long to leave what the step would note, instead of noting it; 0
	// notes it.
	Postpone time.Duration
}

// Bounds of a step: how many awaited jobs it considers, and how much the end of one
// counts for the then of a batch, which waits for up to a thousand.
const (
	WaitEnds     = 16
	WaitOfBatch  = 10
	MaxWaitLimit = 100
)

// WaitCursor is a position among the jobs that others wait for.
type WaitCursor struct{ Account, WaitsFor, Job int64 }

// WaitQueue keeps which jobs wait for which. The transaction that makes an awaited job
// final also stores its end, for a WaitStep to find: so an end is noted once, whatever
// crashes.
type WaitQueue interface {
	// WaitsOf returns up to limit jobs that one of the owner's jobs waits for and that
	// have not ended, in ascending order.
	WaitsOf(ctx context.Context, owner job.Owner, number int64, limit int) ([]int64, error)
	// WaitTurn returns the first account with a number above after of which awaited jobs
	// have ended; 0 if there is none.
	WaitTurn(ctx context.Context, after int64) (account int64, err error)
	// WaitApply carries out a step in one transaction and returns how many awaited jobs it
	// has considered: none if other nodes are at all of them. It returns ErrUnstorable, and changes nothing, if the database refuses the
	// changes of one of the jobs or Decide panics.
	WaitApply(ctx context.Context, step WaitStep) (considered int, err error)
	// WaitSweep stores the ends that are missing among up to limit awaited jobs behind a
	// cursor: those that a node of an older version has not stored. It returns the cursor to
	// continue behind; the zero cursor after the last.
	WaitSweep(ctx context.Context, after WaitCursor, limit int) (next WaitCursor, stored int, err error)
	// WaitPage returns up to limit of an account's rows behind a job and one that it waits
	// for, in order of both.
	WaitPage(ctx context.Context, account, job, waitsFor int64, limit int) ([]*Wait, error)
}

// AwaitedBy returns what the i-th of the jobs of a call waits for, given their results;
// nil if it waits for nothing or was not stored.
func AwaitedBy(i int, jobs []NewJob, results []Inserted) []job.AwaitedJob {
	await := jobs[i].Await
	if await == nil || results[i].Job == nil || results[i].Conflict || results[i].Repeated {
		return nil
	}
	all := slices.Clone(await.Jobs)
	if !await.Batch {
		return all
	}
	seen := map[int64]bool{results[i].Job.Number: true}
	for _, a := range all {
		seen[a.Number] = true
	}
	for k := range results {
		j := results[k].Job
		if j == nil || seen[j.Number] {
			continue
		}
		seen[j.Number] = true
		all = append(all, job.AwaitedJob{Number: j.Number, State: j.State})
	}
	return all
}

// EndedAt returns when a final job has ended.
func EndedAt(j *job.Job) time.Time {
	switch j.State {
	case job.Completed:
		return j.CompletedAt
	case job.Cancelled:
		return j.CancelledAt
	}
	return j.DiscardedAt
}
