package store

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// MaxOperations is how many operations of an account are kept; the oldest that
// have ended are deleted.
const MaxOperations = 100

// OperationChunk is the maximum number of jobs that OperationInsert and
// OperationMatch store at once.
const OperationChunk = 1000

// StopChunks is how many chunks of jobs OperationStop deletes; OperationPrune
// deletes the others.
const StopChunks = 64

// OperationLease is a process's right to carry out an operation until a time by
// the store's clock. Every change of the operation verifies the holder.
type OperationLease struct {
	Holder uuid.UUID
	Until  time.Time
}

// ErrNotHeld is returned for an operation that has ended or that another process
// has taken over. Nothing was changed.
var ErrNotHeld = errors.New("the operation has ended or is carried out elsewhere")

// OperationStep changes the next jobs of an operation.
type OperationStep struct {
	Operation *job.Operation
	Lease     OperationLease // extends the lease
	// Numbers are the jobs, in ascending order, as OperationNext returned them.
	Numbers []int64
	// Begin is called when the transaction begins, again for each retry.
	Begin func()
	// Decide decides about the job at index i. A reason means that the job is
	// skipped, and then the changes are ignored. It is not called for jobs that
	// don't exist. Like a Decide it must not block.
	Decide func(i int, m *Snapshot) (*Changes, job.Skip)
}

// Operations stores operations on many jobs, the jobs that each has found, and how
// far it is. The numbers of the jobs found are stored in chunks, and the change of
// a job in one transaction with the operation's new position: so each is changed
// once, also if the process ends at any moment.
type Operations interface {
	// OperationInsert stores a running operation with the first jobs that it has
	// found, in descending order. It returns a Conflict fault if another operation of
	// the account is running. It finishes an operation that has found no jobs and has
	// none to search.
	OperationInsert(ctx context.Context, o *job.Operation, found []int64) error
	// OperationGet returns one of the owner's operations, or a NotFound fault.
	OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error)
	// OperationList returns the owner's operations, newest first, after the
	// operation AfterID of q, within its limit and byte budget.
	OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) ([]*job.Operation, error)
	// OperationStop stops a running operation and returns it; stopped reports whether
	// this call did. When it returns, no further job will be changed.
	OperationStop(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error)
	// OperationsRunning counts the running operations, up to limit.
	OperationsRunning(ctx context.Context, limit int) (int, error)
	// OperationClaim leases up to limit running operations of accounts that are
	// neither deleted nor suspended: those that the holder has, those that nobody has,
	// and those whose lease has ended. The ones that have waited longest come first.
	OperationClaim(ctx context.Context, lease OperationLease, limit int) ([]*job.Operation, error)
	// OperationRelease ends a holder's leases.
	OperationRelease(ctx context.Context, holder uuid.UUID) error
	// OperationMatch adds further jobs that an operation has found, in descending
	// order, and sets where the search continues. It returns the operation afterwards,
	// or ErrNotHeld.
	OperationMatch(ctx context.Context, o *job.Operation, lease OperationLease, found []int64, scanAfter int64) (*job.Operation, error)
	// OperationNext returns up to limit jobs that an operation has to change next, in
	// ascending order.
	OperationNext(ctx context.Context, o *job.Operation, limit int) ([]int64, error)
	// OperationApply carries out a step in one transaction: it changes the jobs and
	// adds to the operation's counts and position. After the last job the operation is
	// finished. It returns the operation afterwards, or ErrNotHeld. It returns
	// ErrUnstorable, and changes nothing, if the database refuses the changes of one of
	// the jobs or Decide panics.
	OperationApply(ctx context.Context, step OperationStep) (*job.Operation, error)
	// OperationPrune deletes up to limit chunks of stopped operations, and up to limit
	// operations that ended before a time; the zero time keeps them. It returns how
	// many rows it deleted.
	OperationPrune(ctx context.Context, before time.Time, limit int) (int, error)
}

// JobSearch finds the jobs of an operation, and why they failed.
type JobSearch interface {
	// JobNumbers returns the numbers of up to q.Limit of the owner's jobs, newest
	// first, that match the filters of q and come after its job After. It reads at most
	// look positions. Next is the job to continue after; zero at the end. It returns
	// job.ErrUnsupported if q has an order or an offset.
	JobNumbers(ctx context.Context, owner job.Owner, q job.Query, look int) (numbers []int64, next int64, err error)
	// JobErrorKinds returns the kind of failure of those of the given jobs of the owner
	// whose latest ended attempt failed.
	JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]string, error)
}

// OperationConflict returns the fault for an operation that another one of the
// account excludes.
func OperationConflict(running uuid.UUID) error {
	return fault.New(fault.Conflict, "the operation "+running.String()+
		" is still running; wait until it is finished, or stop it with DELETE /api/operations/"+running.String())
}

// PackNumbers encodes numbers in ascending order: the first, then the differences.
func PackNumbers(numbers []int64) []byte {
	packed := make([]byte, 0, 2*len(numbers)+8)
	last := int64(0)
	for _, n := range numbers {
		packed = binary.AppendUvarint(packed, uint64(n-last))
		last = n
	}
	return packed
}

// UnpackNumbers decodes what PackNumbers encoded. It stops at the first byte that
// it can't read.
func UnpackNumbers(packed []byte) []int64 {
	var numbers []int64
	last := int64(0)
	for len(packed) > 0 {
		difference, n := binary.Uvarint(packed)
		if n <= 0 {
			break
		}
		last += int64(difference)
		numbers = append(numbers, last)
		packed = packed[n:]
	}
	return numbers
}

// OperationNumbers returns the chunk to store for jobs found in descending order:
// the highest number and all of them.
func OperationNumbers(found []int64) (last int64, packed []byte) {
	ascending := slices.Clone(found)
	slices.Sort(ascending)
	return ascending[len(ascending)-1], PackNumbers(ascending)
}

// NumbersAfter returns up to limit of a chunk's numbers after a position.
func NumbersAfter(packed []byte, position int64, limit int) []int64 {
	numbers := UnpackNumbers(packed)
	first, _ := slices.BinarySearch(numbers, position+1)
	numbers = numbers[first:]
	return numbers[:min(len(numbers), limit)]
}
