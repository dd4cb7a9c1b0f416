package admission

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// OperationList implements Records.
func (s *Store) OperationList(ctx context.Context, owner job.Owner, q job.ListQuery) ([]*job.Operation, error) {
	return list(ctx, s, owner, false, &q,
		page[*job.Operation]{job.OperationSize, func() ([]*job.Operation, error) { return s.Records.OperationList(ctx, owner, q) }})
}

// OperationGet implements Records.
func (s *Store) OperationGet(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Operation, error) {
	return one(ctx, s, owner, job.OperationSize, func() (*job.Operation, error) { return s.Records.OperationGet(ctx, owner, id) })
}

// JobNumbers implements Records. It counts as heavy because it reads many index
// entries.
func (s *Store) JobNumbers(ctx context.Context, owner job.Owner, q job.Query, look int) (numbers []int64, next int64, err error) {
	numbers, err = fewOf(ctx, s, owner, true, nothing, func() (numbers []int64, err error) {
		numbers, next, err = s.Records.JobNumbers(ctx, owner, q, look)
		return numbers, err
	})
	return numbers, next, err
}

// JobErrorKinds implements Records.
func (s *Store) JobErrorKinds(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]string, error) {
	return fewOf(ctx, s, owner, true, nothing, func() (map[int64]string, error) { return s.Records.JobErrorKinds(ctx, owner, numbers) })
}
