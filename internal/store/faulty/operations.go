package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// OperationInsert implements store.Store.
func (s *Store) OperationInsert(ctx context.Context, o *job.Operation, found []int64) error {
	return do(ctx, s, "OperationInsert", func() error { return s.Store.OperationInsert(ctx, o, found) })
}

// OperationGet implements store.Store.
func (s *Store) OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	return get(ctx, s, "OperationGet", func() (*job.Operation, error) { return s.Store.OperationGet(ctx, owner, id) })
}

// OperationList implements store.Store.
func (s *Store) OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) ([]*job.Operation, error) {
	return get(ctx, s, "OperationList", func() ([]*job.Operation, error) { return s.Store.OperationList(ctx, owner, q) })
}

// OperationsRunning implements store.Store.
func (s *Store) OperationsRunning(ctx context.Context, limit int) (int, error) {
	return get(ctx, s, "OperationsRunning", func() (int, error) { return s.Store.OperationsRunning(ctx, limit) })
}

// OperationClaim implements store.Store.
func (s *Store) OperationClaim(ctx context.Context, lease store.OperationLease, limit int) ([]*job.Operation, error) {
	return get(ctx, s, "OperationClaim", func() ([]*job.Operation, error) { return s.Store.OperationClaim(ctx, lease, limit) })
}

// OperationRelease implements store.Store.
func (s *Store) OperationRelease(ctx context.Context, holder uuid.UUID) error {
	return do(ctx, s, "OperationRelease", func() error { return s.Store.OperationRelease(ctx, holder) })
}

// OperationMatch implements store.Store.
func (s *Store) OperationMatch(ctx context.Context, o *job.Operation, lease store.OperationLease, found []int64, scanAfter int64) (*job.Operation, error) {
	return get(ctx, s, "OperationMatch", func() (*job.Operation, error) { return s.Store.OperationMatch(ctx, o, lease, found, scanAfter) })
}

// OperationNext implements store.Store.
func (s *Store) OperationNext(ctx context.Context, o *job.Operation, limit int) ([]int64, error) {
	return get(ctx, s, "OperationNext", func() ([]int64, error) { return s.Store.OperationNext(ctx, o, limit) })
}

// OperationApply implements store.Store.
func (s *Store) OperationApply(ctx context.Context, step store.OperationStep) (*job.Operation, error) {
	return get(ctx, s, "OperationApply", func() (*job.Operation, error) { return s.Store.OperationApply(ctx, step) })
}

// OperationPrune implements store.Store.
func (s *Store) OperationPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, s, "OperationPrune", func() (int, error) { return s.Store.OperationPrune(ctx, before, limit) })
}

// JobErrorKinds implements store.Store.
func (s *Store) JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]string, error) {
	return get(ctx, s, "JobErrorKinds", func() (map[int64]string, error) { return s.Store.JobErrorKinds(ctx, owner, numbers) })
}

// OperationStop implements store.Store.
func (s *Store) OperationStop(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error) {
	o, err = get(ctx, s, "OperationStop", func() (o *job.Operation, err error) {
		o, stopped, err = s.Store.OperationStop(ctx, owner, id)
		return o, err
	})
	return o, stopped, err
}

// JobNumbers implements store.Store.
func (s *Store) JobNumbers(ctx context.Context, owner job.Owner, q job.Query, look int) (numbers []int64, next int64, err error) {
	numbers, err = get(ctx, s, "JobNumbers", func() (numbers []int64, err error) {
		numbers, next, err = s.Store.JobNumbers(ctx, owner, q, look)
		return numbers, err
	})
	return numbers, next, err
}
